// Ada's device with Apollo Client: the default cache, except for pagination of connections.

import { createHash } from 'node:crypto';

import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { getMainDefinition, relayStylePagination } from '@apollo/client/utilities';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';

import { CAPPED, MUTATIONS, PAGES, SUBSCRIPTIONS, VISIBLE } from './operations.mjs';

const sha256 = (text) => createHash('sha256').update(text).digest('hex');

/** Automatic persisted queries, sent with GET. */
export const automatic = () => new PersistedQueryLink({ sha256, useGETForHashedQueries: true });

const viewerFields = {
  inbox: relayStylePagination(['filter']),
  subscriptions: relayStylePagination(),
  following: relayStylePagination(),
};

export class Device {
  /** The requests except subscriptions: method, address and body. */
  sent = [];
  /** The subscriptions that have received something. */
  heard = new Set();
  following = [];

  /** `persisted` is a link that sends ids or hashes instead of documents. */
  constructor(world, persisted) {
    Object.assign(this, { world, persisted });
    const authorization = `Bearer ${world.own}`;
    this.socket = createClient({
      url: world.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { authorization },
      retryAttempts: 0,
    });
    const http = new HttpLink({
      uri: world.url,
      headers: { authorization },
      fetch: (url, init) => {
        this.sent.push({ method: init.method, url, body: init.body && JSON.parse(init.body) });
        return fetch(url, init);
      },
    });
    const isHeard = ({ query }) => getMainDefinition(query).operation === 'subscription';
    const asked = persisted ? ApolloLink.from([persisted, http]) : http;
    this.cache = new InMemoryCache({ typePolicies: { Viewer: { fields: viewerFields } } });
    this.client = new ApolloClient({
      cache: this.cache,
      link: ApolloLink.split(isHeard, new GraphQLWsLink(this.socket), asked),
    });
  }

  get requests() {
    return this.sent.length;
  }

  /** Loads everything visible from the network. */
  async load() {
    const { data } = await this.client.query({ query: VISIBLE, fetchPolicy: 'network-only' });
    this.viewer = this.cache.identify(data.viewer);
  }

  /** Loads an overview with capped counts. */
  async loadCapped() {
    await this.client.query({ query: CAPPED, fetchPolicy: 'network-only' });
  }

  /** Everything visible, from the cache; throws if something is missing. */
  look() {
    const data = this.cache.readQuery({ query: VISIBLE });
    if (!data) throw new Error('the cache misses something');
    return data.viewer;
  }

  /** The cache's record of an object. */
  record(type, id) {
    return this.cache.extract()[`${type}:${id}`] ?? this.cache.extract()[this.cache.identify({ __typename: type, id })];
  }

  /** The unread count of a view in the cache. */
  unread(id) {
    return this.record('InboxView', id)?.unread?.count;
  }

  /** Changes the edges of one of the viewer's connections in the cache. */
  edges(cache, field, change) {
    cache.modify({
      id: this.viewer,
      fields: { [field]: (own, { readField }) => ({ ...own, edges: change(own.edges, (edge) => readField('id', edge.node)) }) },
    });
  }

  /** Appends nodes that are not in the list yet. */
  append(cache, field, type, nodes) {
    this.edges(cache, field, (edges, idOf) => {
      const known = new Set(edges.map(idOf));
      const more = nodes.filter(({ id }) => !known.has(id));
      return [...edges, ...more.map((node) => ({ __typename: type, cursor: '', node: { __ref: cache.identify(node) } }))];
    });
  }

  /** Cache updates after mutations, for changes that the cache cannot derive from the response. */
  updates = {
    deleteItems: (cache, { deletedIds }) => this.forget(cache, 'InboxItem', deletedIds),
    unsubscribeTopic: (cache, { deletedIds }) => this.forget(cache, 'TopicSubscription', deletedIds),
    subscribeTopic: (cache, { subscriptions }) => this.append(cache, 'subscriptions', 'TopicSubscriptionEdge', subscriptions),
    followUser: (cache, { user }) => this.append(cache, 'following', 'FollowedUserEdge', [user]),
    unfollowUser: (cache, { user }) =>
      this.edges(cache, 'following', (edges, idOf) => edges.filter((edge) => idOf(edge) !== user.id)),
  };

  forget(cache, type, ids) {
    for (const id of ids) cache.evict({ id: cache.identify({ __typename: type, id }) });
  }

  /** Runs a mutation and returns the value of its field. */
  async mutate(name, variables = {}) {
    const update = (cache, { data }) => this.updates[name]?.(cache, data[name]);
    const { data } = await this.client.mutate({ mutation: MUTATIONS[name], variables, update });
    return data[name];
  }

  /** Subscribes; events go into the cache. */
  hear(name, variables = {}) {
    const heard = this.client.subscribe({ query: SUBSCRIPTIONS[name], variables }).subscribe({
      next: ({ data, error }) => {
        if (error) return console.error(`${name} has failed: ${error.message}`);
        this.heard.add(name);
        if (name === 'itemReceived') this.prepend(data.itemReceived);
      },
      error: (error) => console.error(`${name} has failed: ${error.message}`),
    });
    this.following.push(heard);
  }

  prepend({ __typename, cursor, node }) {
    const edge = { __typename, cursor, node: { __ref: this.cache.identify(node) } };
    this.edges(this.cache, 'inbox', (edges, idOf) => [edge, ...edges.filter((own) => idOf(own) !== node.id)]);
  }

  /** The first page of one of the viewer's connections. */
  pages(field, variables = {}) {
    return Pages.of(this, field, variables);
  }

  /** Another device of the same user, with its own cache. */
  another() {
    return new Device(this.world, this.persisted);
  }

  async close() {
    this.following.forEach((heard) => heard.unsubscribe());
    await this.socket.dispose();
    this.client.stop();
  }
}

/** Pages of one of the viewer's connections, as a watched list. */
class Pages {
  static async of(device, field, variables) {
    const pages = new Pages();
    pages.field = field;
    pages.watched = device.client.watchQuery({ query: PAGES[field], variables: { first: 4, ...variables } });
    await pages.next(() => pages.watch());
    return pages;
  }

  watch() {
    this.watched.subscribe((result) => {
      if (result.loading) return;
      this.result = result;
      this.came(result);
    });
  }

  /** Runs `begin` and waits for the next update of the list. */
  async next(begin) {
    const coming = new Promise((resolve) => (this.came = resolve));
    await begin();
    const { error } = await coming;
    if (error) throw error;
  }

  get data() {
    return this.result.data.viewer[this.field];
  }

  get pageInfo() {
    return this.data.pageInfo;
  }

  get nodes() {
    return this.data.edges.map(({ node }) => node);
  }

  /** Loads `count` more at one end. The nulls override the arguments of the first page. */
  async more(direction, count) {
    const { startCursor, endCursor } = this.pageInfo;
    const variables =
      direction === 'forward'
        ? { first: count, after: endCursor, last: null, before: null }
        : { first: null, after: null, last: count, before: startCursor };
    await this.next(() => this.watched.fetchMore({ variables }));
    return variables;
  }
}
