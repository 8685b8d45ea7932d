// The clients, each set up as its documentation has it and with the one thing that resuming takes.
//
// A client that has lost its connection sends the same request again. So the request is changed whenever an item
// arrives: it then asks for what comes after that item.

import { cacheExchange, createClient as createUrql, fetchExchange, subscriptionExchange } from '@urql/core';
import { createClient as createSse } from 'graphql-sse';
import { createClient as createWs } from 'graphql-ws';
import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';

/** How long clients wait before they connect again, in milliseconds: their own habits are seconds. */
const RETRY = 50;

const retries = (attempts) => ({ retryAttempts: attempts, retryWait: () => sleep(RETRY), shouldRetry: () => true });

/** Makes a sink that moves its request on to the cursor of each item. */
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

/** Makes a sink of what is told of results, and of failures: an event stream tells those as a result. */
function telling(next, failed) {
  return { next: (result) => (result.errors ? failed(result.errors) : next(result)), error: failed, complete() {} };
}

/** Opens a socket's client; `ended` gets the code of each of its ends. */
function socket(url, token, attempts, ended) {
  return createWs({
    url: url.replace('http', 'ws'),
    webSocketImpl: WebSocket,
    connectionParams: async () => ({ authorization: `Bearer ${await token()}` }),
    // The server's answers show that the line is alive.
    keepAlive: 1000,
    on: { closed: (event) => ended(event.code) },
    ...retries(attempts),
  });
}

/**
 * Each client has a name and `open(url, token, attempts, ended)`: it connects with `token()`, again as often as
 * `attempts` says, and tells `ended` how each connection ended, where it knows. What is opened has
 * `subscribe(query, variables, next, failed)`, which returns how to unsubscribe, and `close()`.
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
              // The variables are a copy: by its own, urql tells operations apart.
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
