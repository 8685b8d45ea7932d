// Ada's device with Relay: the real runtime without React, and what its hooks do with it.

import { createClient } from 'graphql-ws';
import relay from 'relay-runtime';
import WebSocket from 'ws';

const { ConnectionHandler, Environment, Network, Observable, RecordSource, Store } = relay;

/** The connections that mutations change, by the variables that name them. */
const CONNECTIONS = { inbox: 'store_inbox', subscriptions: 'store_subscriptions', following: 'store_following' };

export class Device {
  /** How many requests were sent, but for subscriptions. */
  requests = 0;
  /** The subscriptions of which something came. */
  heard = new Set();

  /** In a world, with what was compiled for it. */
  constructor(world, compiled) {
    this.world = world;
    this.compiled = compiled;
    const authorization = `Bearer ${world.own}`;
    this.socket = createClient({
      url: world.url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      connectionParams: { authorization },
      retryAttempts: 0,
    });
    const ask = async (params, variables) => {
      this.requests += 1;
      const body = params.id ? { id: params.id, variables } : { query: params.text, variables };
      const headers = { authorization, 'content-type': 'application/json' };
      const answer = await fetch(world.url, { method: 'POST', headers, body: JSON.stringify(body) });
      const result = await answer.json();
      if (result.errors) throw Object.assign(new Error(JSON.stringify(result.errors)), { errors: result.errors });
      return result;
    };
    // The socket's client needs a text, also where there is none.
    const hear = (params, variables) =>
      Observable.create((sink) => {
        const named = params.id && { extensions: { documentId: params.id } };
        return this.socket.subscribe({ query: params.text ?? '', variables, ...named }, sink);
      });
    this.environment = new Environment({ network: Network.create(ask, hear), store: new Store(new RecordSource()) });
  }

  artifact(name) {
    return this.compiled.artifact(`store${name}`);
  }

  /** Asks over the network, past what the store has. */
  async query(request, variables = {}) {
    const operation = relay.createOperationDescriptor(request, variables, { force: true });
    await relay.fetchQuery(this.environment, request, variables, { networkCacheConfig: { force: true } }).toPromise();
    this.environment.retain(operation);
    return operation;
  }

  /** Refetches a node by its id, as `useRefetchableFragment` does; gives what its fragment then reads. */
  async node(name, id) {
    const fragment = this.compiled.artifact(`store_${name}Node`);
    const { refetchableRequest, fragmentRefPathInResponse, identifierInfo } = relay.getRefetchMetadata(fragment, 'node');
    const operation = await this.query(refetchableRequest, { [identifierInfo?.identifierQueryVariableName ?? 'id']: id });
    const { data } = this.environment.lookup(operation.fragment);
    const node = relay.getValueAtPath(data, fragmentRefPathInResponse);
    const { data: read, isMissingData } = this.environment.lookup(relay.getSelector(fragment, node));
    if (isMissingData) throw new Error(`the store misses something of ${id}`);
    return read;
  }

  /** Everything visible, from the network. */
  async load() {
    this.visible = await this.query(this.artifact('VisibleQuery'));
    this.viewer = this.look().id;
  }

  /** Asks for an overview whose counts stop early. */
  async loadCapped() {
    await this.query(this.artifact('CappedQuery'));
  }

  /** Everything visible, from the store, which must have all of it. */
  look() {
    const { data, isMissingData } = this.environment.lookup(this.visible.fragment);
    if (isMissingData) throw new Error('the store misses something');
    return data.viewer;
  }

  /** What the store has of a thing. */
  record(type, id) {
    const record = this.environment.getStore().getSource().get(id);
    return record?.__typename === type ? record : undefined;
  }

  connection(variable) {
    return ConnectionHandler.getConnectionID(this.viewer, CONNECTIONS[variable], null);
  }

  /** The ids of those connections that an operation has as variables. */
  connections(request) {
    const names = request.operation.argumentDefinitions.map(({ name }) => name);
    const own = names.filter((name) => name in CONNECTIONS);
    return Object.fromEntries(own.map((name) => [name, [this.connection(name)]]));
  }

  /** Does a mutation; gives what its field was answered. */
  mutate(name, variables = {}) {
    const mutation = this.artifact(`${name[0].toUpperCase()}${name.slice(1)}Mutation`);
    return new Promise((resolve, reject) => {
      relay.commitMutation(this.environment, {
        mutation,
        variables: { ...variables, ...this.connections(mutation) },
        onCompleted: (data) => resolve(data[name]),
        onError: reject,
      });
    });
  }

  /** Begins to hear; what comes goes into the store. */
  hear(name, given = {}) {
    const subscription = this.artifact(`${name[0].toUpperCase()}${name.slice(1)}Subscription`);
    const variables = { ...given, ...this.connections(subscription) };
    const onNext = () => this.heard.add(name);
    const onError = (error) => console.error(`${name} has failed: ${error.message ?? JSON.stringify(error)}`);
    relay.requestSubscription(this.environment, { subscription, variables, onNext, onError });
  }

  /** The first page of one of the viewer's connections. */
  pages(field, variables = {}) {
    return Pages.of(this, field, variables);
  }

  /** Another device of the same user, with a store of its own. */
  another() {
    return new Device(this.world, this.compiled);
  }

  /** What the store has as the unread of a view. */
  unread(id) {
    const unread = this.record('InboxView', id)?.unread;
    return unread && this.environment.getStore().getSource().get(unread.__ref).count;
  }

  async close() {
    await this.socket.dispose();
  }
}

/** The query that shows a connection's first page, the fragment that has its pages, and what the query is given. */
const PAGES = {
  inbox: ['InboxQuery', 'inboxPages', { first: 4 }],
  subscriptions: ['SubscriptionsQuery', 'subscriptionPages', { first: 4 }],
  following: ['FollowingQuery', 'followingPages', { first: 4 }],
  defaults: ['DefaultQuery', 'defaultPages', {}],
};

/** Pages of a connection as `usePaginationFragment` has them. */
class Pages {
  static async of(device, field, variables) {
    const pages = new Pages();
    const [query, fragment, given] = PAGES[field];
    pages.device = device;
    pages.fragment = device.compiled.artifact(`store_${fragment}`);
    pages.operation = await device.query(device.artifact(query), { ...given, ...variables });
    return pages;
  }

  get selector() {
    const { data } = this.device.environment.lookup(this.operation.fragment);
    return relay.getSelector(this.fragment, data.viewer);
  }

  get data() {
    return this.device.environment.lookup(this.selector).data.pages;
  }

  get nodes() {
    return this.data.edges.map(({ node }) => node);
  }

  get pageInfo() {
    return this.data.pageInfo;
  }

  /** `loadNext` (forward) and `loadPrevious` (backward) of so many. */
  async more(direction, count) {
    const { startCursor, endCursor } = this.pageInfo;
    const { paginationRequest, paginationMetadata } = relay.getPaginationMetadata(this.fragment, 'Pages');
    const cursor = direction === 'forward' ? endCursor : startCursor;
    const own = { ...this.selector.owner.variables, ...this.selector.variables };
    const variables = relay.getPaginationVariables(direction, count, cursor, own, {}, paginationMetadata);
    await this.device.query(paginationRequest, variables);
    return variables;
  }
}
