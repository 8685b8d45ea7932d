// Audits GraphQL over HTTP with npm `graphql-http`: every MUST, SHOULD and MAY, against a demo server. `TIDINGS_BIN`
// names the binary to start, or `TIDINGS_URL` and `TIDINGS_TOKEN` a running server.

import { serverAudits } from 'graphql-http';

import { start } from './server.mjs';

const server = await start();
const fetchFn = (url, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${server.token}`);
  return fetch(url, { ...init, headers });
};

const results = [];
try {
  for (const audit of serverAudits({ url: server.url, fetchFn })) {
    results.push(await audit.fn());
  }
} finally {
  server.stop();
}

const failures = results.filter((result) => result.status !== 'ok');
for (const failure of failures) {
  console.error(`${failure.id} ${failure.name}: ${failure.reason}`);
}
console.log(`GraphQL over HTTP: ${results.length - failures.length} of ${results.length} audits pass`);
process.exitCode = failures.length === 0 && results.length > 0 ? 0 : 1;
