// The two ways to the server, over HTTP and over a socket, both with the same token.

import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { parse } from 'graphql';
import { createClient } from 'graphql-ws';

const ENDPOINT = new URL('/graphql', location).href;

/** Close codes of a socket whose token was refused, or has expired. */
const REFUSED = [4401, 4403];

/** The longest wait before a lost socket is opened again. */
const WAIT_MS = 10_000;

/**
 * A connection with `token`, or with none. `judge` is told `{ accepted: true }` or `{ refused: why }` whenever the server
 * lets the token pass or does not.
 */
export function connect(token, judge) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};

  const ask = async (url, request) => {
    // The token says who is calling; a cookie of the same origin must not.
    const answer = await fetch(url, { ...request, credentials: 'omit', cache: 'no-store', redirect: 'error' });
    if (answer.status === 401) judge({ refused: await reason(answer.clone()) });
    else if (token) judge({ accepted: true });
    return answer;
  };

  const socket = createClient({
    url: ENDPOINT.replace(/^http/, 'ws'),
    connectionParams: headers,
    retryAttempts: Infinity,
    retryWait: (tries) => new Promise((done) => setTimeout(done, Math.min(WAIT_MS, 500 * 2 ** tries))),
    shouldRetry: (problem) => !REFUSED.includes(problem?.code),
    on: {
      connected: () => judge({ accepted: true }),
      closed: ({ code, reason }) => REFUSED.includes(code) && judge({ refused: reason }),
    },
  });

  const fetcher = createGraphiQLFetcher({
    url: ENDPOINT, headers, fetch: ask, wsClient: socket, enableIncrementalDelivery: false,
  });
  return { fetcher: (request, options) => fetcher(...asItStands(request, options)), socket };
}

/**
 * A request with what its document says. GraphiQL reads the document a moment late: a person who changes the tab and runs it at
 * once would run the operation of the tab before.
 */
function asItStands(request, options) {
  let documentAST;
  try {
    documentAST = parse(request.query);
  } catch {
    return [request, options];
  }
  const operations = documentAST.definitions.filter(({ kind }) => kind === 'OperationDefinition');
  const operation = operations.find(({ name }) => name?.value === request.operationName) ?? operations[0];
  return [{ ...request, operationName: operation?.name?.value }, { ...options, documentAST }];
}

async function reason(answer) {
  try {
    return (await answer.json()).errors[0].message;
  } catch {
    return `HTTP ${answer.status}`;
  }
}
