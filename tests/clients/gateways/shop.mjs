// The subgraph of a shop with types of its own that could clash: users, groups, notifications, templates.

import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled';
import { startStandaloneServer } from '@apollo/server/standalone';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { parse } from 'graphql';

export const SDL = `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable"])

  type Query {
    user(id: ID!): User
    users(first: Int): UserConnection!
    groups: [Group!]!
    notifications: [Notification!]!
    reasons: [String!]!
    overview: Overview!
    view(id: ID!): View
    template: Template
  }

  type Mutation {
    archive(order: ID!): Count!
    subscribe(newsletter: ID!): Preference!
    follow(brand: ID!): User!
  }

  scalar DateTime
  scalar JSON

  interface Node { id: ID! }

  type User @key(fields: "id") {
    id: ID!
    name: String @shareable
    points: Int!
    group: Group!
    since: DateTime
    notes: JSON
  }

  type Group implements Node { id: ID! discount: Int! }
  type Notification { id: ID! text: String! to: User! about: Target! }
  type Count { value: Int! }
  type Template { html: String! }
  type Target { sku: ID! }
  type View { pixels: Int! }
  type Overview { orders: Count! }
  type Preference { newsletter: ID! }
  type UserConnection { edges: [UserEdge!]! nodes: [User!]! pageInfo: PageInfo! }
  type UserEdge { cursor: String! node: User! }

  type PageInfo @shareable {
    hasPreviousPage: Boolean!
    hasNextPage: Boolean!
    startCursor: String
    endCursor: String
  }
`;

/** Cannot be a user of Tidings, where ids have at most 128 characters. */
export const STRANGE = 'x'.repeat(200);

const NAMES = { ada: 'Ada of the shop', [STRANGE]: 'Strange of the shop', bob: 'Bob of the shop' };

const GROUP = { __typename: 'Group', id: 'gold', discount: 5 };

const user = (id) => ({ id, name: NAMES[id] ?? null, points: id.length, group: GROUP, since: null, notes: {} });

const users = () => {
  const nodes = Object.keys(NAMES).map(user);
  const edges = nodes.map((node) => ({ cursor: node.id, node }));
  const pageInfo = { hasPreviousPage: false, hasNextPage: false };
  return { edges, nodes, pageInfo };
};

const resolvers = {
  Query: {
    user: (_, { id }) => user(id),
    users,
    groups: () => [GROUP],
    notifications: () => [{ id: '1', text: 'Sent', to: user('bob'), about: { sku: 'tea' } }],
    reasons: () => ['none'],
    overview: () => ({ orders: { value: 3 } }),
    view: () => ({ pixels: 7 }),
    template: () => ({ html: '<p>' }),
  },
  Mutation: {
    archive: () => ({ value: 1 }),
    subscribe: (_, { newsletter }) => ({ newsletter }),
    follow: () => user('ada'),
  },
  User: { __resolveReference: ({ id }) => user(id) },
};

/** Starts the shop, which accepts any caller with a token; returns its address and a function that stops it. */
export async function startShop() {
  const server = new ApolloServer({
    schema: buildSubgraphSchema({ typeDefs: parse(SDL), resolvers }),
    plugins: [ApolloServerPluginInlineTraceDisabled()],
  });
  const context = async ({ req }) => {
    if (!req.headers.authorization) throw new Error('the gateway passes no `Authorization` on');
  };
  const { url } = await startStandaloneServer(server, { context, listen: { host: '127.0.0.1', port: 0 } });
  return { url, stop: () => server.stop() };
}
