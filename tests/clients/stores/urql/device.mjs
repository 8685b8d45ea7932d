// Ada's device with urql's normalized cache, Graphcache; it asks the same operations as Apollo Client.

import { Client, fetchExchange, subscriptionExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';

import { CAPPED, MUTATIONS, SUBSCRIPTIONS, VISIBLE } from '../apollo/operations.mjs';

/** What has no id is part of what it is in. */
const PARTS = [
  'CappedCount', 'InboxOverview', 'MessageTypeOverview', 'NotificationPreferences', 'NotificationPreference',
  'InboxItemConnection', 'InboxItemEdge', 'TopicSubscriptionConnection', 'TopicSubscriptionEdge',
  'FollowedUserConnection', 'FollowedUserEdge', 'PageInfo',
];

const keys = Object.fromEntries(PARTS.map((type) => [type, () => null]));

/** Changes the edges of a connection wherever everything visible shows them. */
const edges = (cache, field, change) =>
  cache.updateQuery({ query: VISIBLE }, (data) => {
    if (!data) return data;
    const own = data.viewer[field];
    return { viewer: { ...data.viewer, [field]: { ...own, edges: change(own.edges) } } };
  });

const without = (cache, field, ids) => edges(cache, field, (own) => own.filter(({ node }) => !ids.includes(node.id)));

/** Appends nodes that are not there yet. */
const append = (cache, field, __typename, nodes) =>
  edges(cache, field, (own) => {
    const known = new Set(own.map(({ node }) => node.id));
    return [...own, ...nodes.filter(({ id }) => !known.has(id)).map((node) => ({ __typename, cursor: node.id, node }))];
  });

/** What an answer says that the cache cannot know by itself. */
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

/** Something with an id below a value; what the cache gives has no types. */
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
  /** How many requests were sent, but for subscriptions. */
  requests = 0;
  /** The subscriptions of which something came. */
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

  /** Everything visible, from the network. */
  load() {
    return this.query(VISIBLE);
  }

  /** Asks for an overview whose counts stop early. */
  loadCapped() {
    return this.query(CAPPED);
  }

  /** Everything visible, from the cache, which must have all of it. */
  look() {
    const { data, error, stale } = this.client.readQuery(VISIBLE, {}, { requestPolicy: 'cache-only' }) ?? {};
    if (error) throw error;
    if (!data || stale) throw new Error('the cache misses something');
    return data.viewer;
  }

  /** What the cache has of a thing, as far as it is visible. */
  record(_type, id) {
    return find(this.look(), id);
  }

  /** Does a mutation; gives what its field was answered. */
  async mutate(name, variables = {}) {
    const { data, error } = await this.client.mutation(MUTATIONS[name], variables).toPromise();
    if (error) throw error;
    return data[name];
  }

  /** Begins to hear; what comes goes into the cache. */
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
