// Ada's device with urql's normalized cache, Graphcache; uses the same operations as Apollo Client.

import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';

import { CAPPED, MUTATIONS, SUBSCRIPTIONS, VISIBLE } from '../apollo/operations.mjs';

/** Types without an id, which are stored inside their parent. */
const PARTS = [
  'CappedCount', 'InboxOverview', 'MessageTypeOverview', 'NotificationPreferences', 'NotificationPreference',
  'InboxItemConnection', 'InboxItemEdge', 'TopicSubscriptionConnection', 'TopicSubscriptionEdge',
  'FollowedUserConnection', 'FollowedUserEdge', 'PageInfo',
];

const keys = Object.fromEntries(PARTS.map((type) => [type, () => null]));

/** Changes the edges of a connection in the query that shows everything visible. */
const edges = (cache, field, change) =>
  cache.updateQuery({ query: VISIBLE }, (data) => {
    if (!data) return data;
    const own = data.viewer[field];
    return { viewer: { ...data.viewer, [field]: { ...own, edges: change(own.edges) } } };
  });

const without = (cache, field, ids) => edges(cache, field, (own) => own.filter(({ node }) => !ids.includes(node.id)));

/** Appends nodes that are not in the list yet. */
const append = (cache, field, __typename, nodes) =>
  edges(cache, field, (own) => {
    const known = new Set(own.map(({ node }) => node.id));
    return [...own, ...nodes.filter(({ id }) => !known.has(id)).map((node) => ({ __typename, cursor: node.id, node }))];
  });

/** Cache updates after mutations, for changes that the cache cannot derive from the response. */
const updates = {
  Mutation: {
    deleteItems({ deleteItems: { deletedIds } }, _, cache) {
      without(cache, 'inbox', deletedIds);
      for (const id of deletedIds) cache.invalidate({ __typename: 'InboxItem', id });
    },
    unsubscribeTopic: ({ unsubscribeTopic }, _, cache) => without(cache, 'subscriptions', unsubscribeTopic.deletedIds),
    subscribeTopic: ({ subscribeTopic }, _, cache) =>
      append(cache, 'subscriptions', 'TopicSubscriptionEdge', subscribeTopic.subscriptions),
    followUser: ({ followUser }, _, cache) => append(cache, 'following', 'FollowedUserEdge', [followUser.user]),
    unfollowUser: ({ unfollowUser }, _, cache) => without(cache, 'following', [unfollowUser.user.id]),
  },
  Subscription: {
    itemReceived: ({ itemReceived }, _, cache) =>
      edges(cache, 'inbox', (own) => [itemReceived, ...own.filter(({ node }) => node.id !== itemReceived.node.id)]),
  },
};

/** The object with this id inside a value. The cache's data have no type names. */
function find(value, id) {
  if (value === null || typeof value !== 'object') return undefined;
  if (value.id === id) return value;
  for (const part of Object.values(value)) {
    const found = find(part, id);
    if (found) return found;
  }
  return undefined;
}

export class Device {
  /** The number of requests except subscriptions. */
  requests = 0;
  /** The subscriptions that have received something. */
  heard = new Set();
  hearing = [];

  constructor(world) {
    this.world = world;
    const authorization = `Bearer ${world.own}`;
    this.socket = createClient({
      url: world.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { authorization },
      retryAttempts: 0,
    });
    this.client = new Client({
      url: world.url,
      preferGetMethod: false,
      fetchOptions: { headers: { authorization } },
      fetch: (...request) => {
        this.requests += 1;
        return fetch(...request);
      },
      exchanges: [
        cacheExchange({ keys, updates }),
        fetchExchange,
        subscriptionExchange({
          forwardSubscription: ({ query, variables }) => ({
            subscribe: (sink) => ({ unsubscribe: this.socket.subscribe({ query, variables }, sink) }),
          }),
        }),
      ],
    });
  }

  async query(query) {
    const { error } = await this.client.query(query, {}, { requestPolicy: 'network-only' }).toPromise();
    if (error) throw error;
  }

  /** Loads everything visible from the network. */
  load() {
    return this.query(VISIBLE);
  }

  /** Loads an overview with capped counts. */
  loadCapped() {
    return this.query(CAPPED);
  }

  /** Everything visible, from the cache; throws if something is missing. */
  look() {
    const { data, error, stale } = this.client.readQuery(VISIBLE, {}, { requestPolicy: 'cache-only' }) ?? {};
    if (error) throw error;
    if (!data || stale) throw new Error('the cache misses something');
    return data.viewer;
  }

  /** The cache's record of an object, if it is visible. */
  record(_type, id) {
    return find(this.look(), id);
  }

  /** Runs a mutation and returns the value of its field. */
  async mutate(name, variables = {}) {
    const { data, error } = await this.client.mutation(MUTATIONS[name], variables).toPromise();
    if (error) throw error;
    return data[name];
  }

  /** Subscribes; events go into the cache. */
  hear(name, variables = {}) {
    const heard = this.client.subscription(SUBSCRIPTIONS[name], variables).subscribe(({ error }) => {
      if (error) console.error(`${name} has failed: ${error.message}`);
      else this.heard.add(name);
    });
    this.hearing.push(heard);
  }

  async close() {
    this.hearing.forEach((heard) => heard.unsubscribe());
    await this.socket.dispose();
  }
}
