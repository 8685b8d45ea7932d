// The clients, each set up as in its documentation, plus what resuming needs.
//
// After a lost connection, a client sends the same request again. So the request is updated whenever an item arrives:
// it then asks for the items after that one.

import { cacheExchange, createClient as createUrql, fetchExchange, subscriptionExchange } from '@urql/core';
import { createClient as createSse } from 'graphql-sse';
import { createClient as createWs } from 'graphql-ws';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';

/** How long clients wait before they reconnect, in milliseconds; their defaults are seconds. */
const RETRY = 50;

const retries = (attempts) => ({ retryAttempts: attempts, retryWait: () => sleep(RETRY), shouldRetry: () => true });

/** Makes a sink that updates the cursor of its request with each item. */
function resuming(request, sink) {
  return {
    ...sink,
    next(result) {
      const cursor = result.data?.itemReceived?.cursor;
      if (cursor) request.variables.after = cursor;
      sink.next(result);
    },
  };
}

/** Makes a sink that separates results from failures: an event stream reports failures as results. */
function telling(next, failed) {
  return { next: (result) => (result.errors ? failed(result.errors) : next(result)), error: failed, complete() {} };
}

/** Opens a WebSocket client; calls `ended` with the close code of each connection. */
function socket(url, token, attempts, ended) {
  return createWs({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: async () => ({ authorization: `Bearer ${await token()}` }),
    // The server's pongs show that the connection is alive.
    keepAlive: 1000,
    on: { closed: (event) => ended(event.code) },
    ...retries(attempts),
  });
}

/**
 * Each client has a name and `open(url, token, attempts, ended)`, which connects with `token()`, reconnects up to
 * `attempts` times, and calls `ended` with the reason whenever a connection ends, if it knows. The result has
 * `subscribe(query, variables, next, failed)`, which returns a function to unsubscribe, and `close()`.
 */
export const CLIENTS = [
  {
    name: 'graphql-ws',
    open(url, token, attempts, ended) {
      const client = socket(url, token, attempts, ended);
      return {
        subscribe(query, variables, next, failed) {
          const request = { query, variables: { ...variables } };
          return client.subscribe(request, resuming(request, telling(next, failed)));
        },
        close: () => client.dispose(),
      };
    },
  },
  {
    name: 'graphql-sse',
    open(url, token, attempts) {
      const client = createSse({
        url,
        headers: async () => ({ authorization: `Bearer ${await token()}` }),
        retryAttempts: attempts,
        retry: () => sleep(RETRY),
      });
      return {
        subscribe(query, variables, next, failed) {
          const request = { query, variables: { ...variables } };
          return client.subscribe(request, resuming(request, telling(next, failed)));
        },
        close: () => client.dispose(),
      };
    },
  },
  {
    name: '@urql/core',
    open(url, token, attempts, ended) {
      const ws = socket(url, token, attempts, ended);
      const client = createUrql({
        url,
        preferGetMethod: false,
        exchanges: [
          cacheExchange,
          fetchExchange,
          subscriptionExchange({
            forwardSubscription(operation) {
              // Copy the variables: urql identifies operations by its own.
              const request = { ...operation, query: operation.query ?? '', variables: { ...operation.variables } };
              return { subscribe: (sink) => ({ unsubscribe: ws.subscribe(request, resuming(request, sink)) }) };
            },
          }),
        ],
      });
      return {
        subscribe(query, variables, next, failed) {
          const show = ({ data, error }) => (error ? failed(error.networkError ?? error.graphQLErrors) : next({ data }));
          return client.subscription(query, variables).subscribe(show).unsubscribe;
        },
        close: () => ws.dispose(),
      };
    },
  },
];
