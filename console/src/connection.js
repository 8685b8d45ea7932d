// The connections to the server over HTTP and WebSocket, both with the same token.

import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { parse } from 'graphql';
import { createClient } from 'graphql-ws';

const ENDPOINT = new URL('/graphql', location).href;

/** WebSocket close codes for a refused or expired token. */
const REFUSED = [4401, 4403];

/** The longest wait before a reconnect. */
const WAIT_MS = 10_000;

/**
 * Connects with `token`, or without one if it is empty. Calls `judge` with `{ accepted: true }` or `{ refused: reason
 * }` whenever the server accepts or refuses the token.
 */
export function connect(token, judge) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};

  const ask = async (url, request) => {
    // Authenticate by token only: a session cookie of the same origin must not count.
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
 * Sets operation name and document from the request's own text. GraphiQL parses the document a moment later, so a user
 * who switches the tab and runs it at once would run the operation of the previous tab.
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
