// Gateways over a supergraph that forward the caller's `Authorization` header.

import { once } from 'node:events';
import { createServer } from 'node:http';

import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime';

class Passing extends RemoteGraphQLDataSource {
  willSendRequest({ request, context }) {
    if (context.authorization) request.http.headers.set('authorization', context.authorization);
  }
}

/** Apollo Gateway in Apollo Server; it does not support subscriptions. */
export async function startApollo(supergraphSdl) {
  const buildService = ({ url }) => new Passing({ url });
  const server = new ApolloServer({ gateway: new ApolloGateway({ supergraphSdl, buildService }) });
  const context = async ({ req }) => ({ authorization: req.headers.authorization });
  const { url } = await startStandaloneServer(server, { context, listen: { host: '127.0.0.1', port: 0 } });
  return { url, stop: () => server.stop() };
}

/** How Hive Gateway subscribes to Tidings: with SSE at the address of queries, or with graphql-ws. */
export const HIVE_LINES = {
  SSE: undefined,
  'graphql-ws': {
    subscriptions: {
      kind: 'ws',
      options: { connectionParams: { authorization: '{context.headers.authorization}' } },
    },
  },
};

/** Hive Gateway, which serves subscriptions with SSE. */
export async function startHive(supergraph, options) {
  const gateway = createGatewayRuntime({
    supergraph,
    ...(options && { transportEntries: { tidings: { options } } }),
    propagateHeaders: {
      fromClientToSubgraphs: ({ request }) => ({ authorization: request.headers.get('authorization') ?? undefined }),
    },
    maskedErrors: false,
    logging: false,
    pollingInterval: 0,
  });
  const server = createServer(gateway).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.close();
    server.closeAllConnections();
    await gateway[Symbol.asyncDispose]();
  };
  return { url: `http://127.0.0.1:${server.address().port}/graphql`, stop };
}
