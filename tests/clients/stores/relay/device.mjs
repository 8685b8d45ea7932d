// Ada's device with Relay: the real runtime without React, and what React Relay's hooks do with it.

import { createClient } from 'graphql-ws';
import relay from 'relay-runtime';
import WebSocket from 'ws';

const { ConnectionHandler, Environment, Network, Observable, RecordSource, Store } = relay;

/** The connections that mutations update, by the variables that name them. */
const CONNECTIONS = { inbox: 'store_inbox', subscriptions: 'store_subscriptions', following: 'store_following' };

export class Device {
  /** The number of requests except subscriptions. */
  requests = 0;
  /** The subscriptions that have received something. */
  heard = new Set();

  /** `compiled` has the artifacts of relay-compiler. */
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
    // graphql-ws needs a text, even for a persisted operation.
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

  /** Runs a query over the network, ignoring the store's data. */
  async query(request, variables = {}) {
    const operation = relay.createOperationDescriptor(request, variables, { force: true });
    await relay.fetchQuery(this.environment, request, variables, { networkCacheConfig: { force: true } }).toPromise();
    this.environment.retain(operation);
    return operation;
  }

  /** Refetches a node by its id, like `useRefetchableFragment`; returns the fragment's new data. */
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

  /** Loads everything visible from the network. */
  async load() {
    this.visible = await this.query(this.artifact('VisibleQuery'));
    this.viewer = this.look().id;
  }

  /** Loads an overview with capped counts. */
  async loadCapped() {
    await this.query(this.artifact('CappedQuery'));
  }

  /** Everything visible, from the store; throws if something is missing. */
  look() {
    const { data, isMissingData } = this.environment.lookup(this.visible.fragment);
    if (isMissingData) throw new Error('the store misses something');
    return data.viewer;
  }

  /** The store's record of an object. */
  record(type, id) {
    const record = this.environment.getStore().getSource().get(id);
    return record?.__typename === type ? record : undefined;
  }

  connection(variable) {
    return ConnectionHandler.getConnectionID(this.viewer, CONNECTIONS[variable], null);
  }

  /** The connection ids that an operation takes as variables. */
  connections(request) {
    const names = request.operation.argumentDefinitions.map(({ name }) => name);
    const own = names.filter((name) => name in CONNECTIONS);
    return Object.fromEntries(own.map((name) => [name, [this.connection(name)]]));
  }

  /** Runs a mutation and returns the value of its field. */
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

  /** Subscribes; events go into the store. */
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

  /** Another device of the same user, with its own store. */
  another() {
    return new Device(this.world, this.compiled);
  }

  /** The unread count of a view in the store. */
  unread(id) {
    const unread = this.record('InboxView', id)?.unread;
    return unread && this.environment.getStore().getSource().get(unread.__ref).count;
  }

  async close() {
    await this.socket.dispose();
  }
}

/** For each connection: the query of the first page, the fragment with the pages, and the query's variables. */
const PAGES = {
  inbox: ['InboxQuery', 'inboxPages', { first: 4 }],
  subscriptions: ['SubscriptionsQuery', 'subscriptionPages', { first: 4 }],
  following: ['FollowingQuery', 'followingPages', { first: 4 }],
  defaults: ['DefaultQuery', 'defaultPages', {}],
};

/** Pages of a connection, like `usePaginationFragment`. */
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

  /** `loadNext` (forward) or `loadPrevious` (backward) of `count`. */
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
