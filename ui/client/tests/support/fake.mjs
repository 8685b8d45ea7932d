// A mock Tidings in this process, as far as the store uses it: one user's inbox, with adjustable delays of responses
// and events, and sockets that can be closed with any code.

import { setTimeout as sleep } from 'node:timers/promises';

const page = (items, { first, after }, cursor) => {
  const from = after === undefined || after === null ? 0 : items.findIndex((item) => cursor(item) < after);
  const rest = from === -1 ? [] : items.slice(from);
  return { nodes: rest.slice(0, first), hasNextPage: rest.length > first };
};

/** A token that the store can read. The mock accepts every token unless `takes` says otherwise. */
export function token(sub, { seconds = 3600, mark = '' } = {}) {
  const claims = { tenant: 'acme', sub, exp: Date.now() / 1000 + seconds, mark };
  return `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
}

export class FakeTidings {
  /** One-way delay in milliseconds. */
  delay = () => 0;
  /** The least time between overview events, in milliseconds. */
  mergeMillis = 2;
  /** Whether a token is accepted. */
  takes = () => true;
  /** Replaces a response: `(name, variables) => Response | Error | undefined`. */
  instead = () => undefined;
  isAway = false;
  /** Close every socket with this code instead of accepting its token. */
  closesWith = undefined;
  types = ['a', 'b'];
  /** Newest first. */
  items = [];
  wanted = new Map();
  requests = [];
  sockets = new Set();
  connections = [];
  renewals = [];
  after = [];
  #seq = 0;

  fetch = async (url, { body, headers }) => {
    const { query, variables = {} } = JSON.parse(body);
    const name = query.match(/^\w+ (\w+)/)[1];
    this.requests.push(name);
    await sleep(this.delay());
    if (this.isAway) throw new TypeError('fetch failed');
    const instead = this.instead(name, variables);
    if (instead instanceof Error) throw instead;
    if (instead) return instead;
    if (!this.takes(headers.authorization.replace('Bearer ', ''))) return Response.json({ errors: [] }, { status: 401 });
    const data = this.#answer(name, variables);
    await sleep(this.delay());
    // The network may fail before the response arrives.
    if (this.losesAnswer?.(name)) throw new TypeError('fetch failed');
    return Response.json(structuredClone(data));
  };

  count(name) {
    return this.requests.filter((one) => one === name).length;
  }

  get WebSocket() {
    const server = this;
    return class extends FakeSocket {
      constructor() {
        super(server);
      }
    };
  }

  send(type = 'a', title = undefined) {
    if (this.wanted.get(type) === false) return undefined;
    const seq = ++this.#seq;
    const item = { id: `i${seq}`, seq, type, title: title ?? `title ${seq}`, isRead: false, isArchived: false };
    this.items.unshift(item);
    for (const socket of this.sockets) socket.receive(item);
    this.changed();
    return item.id;
  }

  mark(change, ids) {
    const about = (item) => ids.includes(item.id);
    if (change === 'remove') this.items = this.items.filter((item) => !about(item));
    const to = { read: { isRead: true }, unread: { isRead: false }, archive: { isArchived: true }, unarchive: { isArchived: false } }[change];
    for (const item of this.items) if (about(item)) Object.assign(item, to);
    this.changed();
  }

  changed() {
    for (const socket of this.sockets) socket.change();
  }

  overview(types) {
    const of = this.types.filter((type) => !types || types.includes(type));
    const inbox = (type) => this.items.filter((item) => item.type === type && !item.isArchived);
    const unread = (type) => inbox(type).filter((item) => !item.isRead).length;
    return {
      cursor: cursor(this.#seq),
      unread: { count: of.reduce((sum, type) => sum + unread(type), 0), exact: true },
      types: of.map((type) => {
        const [latest] = inbox(type);
        return {
          type: { code: type, title: type.toUpperCase() },
          unread: { count: unread(type), exact: true },
          latest: latest ? { title: latest.title, createdAt: instant(latest.seq) } : null,
        };
      }),
    };
  }

  list({ types, read, state = 'INBOX' } = {}) {
    const fits = (item) =>
      (!types || types.includes(item.type)) && (read === undefined || read === null || item.isRead === read) && item.isArchived === (state === 'ARCHIVED');
    return this.items.filter(fits);
  }

  /** Closes all sockets, like a server that stops. */
  closeAll(code = 1006) {
    for (const socket of [...this.sockets]) socket.closeBy(code);
  }

  #answer(name, { first, after, filter, types, select }) {
    switch (name) {
      case 'Overview':
        return { data: { viewer: { overview: this.overview(types) } } };
      case 'Inbox': {
        const { nodes, hasNextPage } = page(this.list(filter ?? {}), { first, after }, (item) => cursor(item.seq));
        const edges = nodes.map(entry);
        return { data: { viewer: { inbox: { edges, pageInfo: { hasNextPage, endCursor: edges.at(-1)?.cursor ?? null } } } } };
      }
      case 'Preferences': {
        const messageTypes = this.types.map((code) => ({ code, title: code.toUpperCase(), mandatory: false }));
        return { data: { viewer: { preferences: this.#preferences() }, messageTypes } };
      }
      case 'UpdatePreferences':
        for (const { code, enabled } of types) this.wanted.set(code, enabled);
        return { data: { updatePreferences: { preferences: this.#preferences() } } };
    }
    const change = { MarkRead: 'read', MarkUnread: 'unread', ArchiveItems: 'archive', UnarchiveItems: 'unarchive', DeleteItems: 'remove' }[name];
    if (!change) throw new Error(`the fake knows no ${name}`);
    const { ids, matching } = select;
    const upTo = (item) => !item.isArchived && cursor(item.seq) <= matching.upTo && (!matching.types || matching.types.includes(item.type));
    const which = ids ?? this.items.filter(upTo).map(({ id }) => id);
    this.mark(change, which);
    const items = ids ? this.items.filter(({ id }) => ids.includes(id)).map(({ id, isRead, isArchived }) => ({ id, isRead, isArchived })) : [];
    const deletedIds = ids && change === 'remove' ? ids : [];
    return { data: { marked: { items, deletedIds, viewer: { overview: this.overview(types) } } } };
  }

  #preferences() {
    return { types: this.types.map((code) => ({ code, enabled: this.wanted.get(code) ?? true })) };
  }
}

export const cursor = (seq) => `c${String(seq).padStart(8, '0')}`;
const instant = (seq) => new Date(1.7e12 + seq).toISOString();

export function entry({ id, seq, type, title, isRead, isArchived }) {
  const of = { code: type, title: type.toUpperCase() };
  const node = { id, notificationId: `n${seq}`, kind: 'MESSAGE', type: of, title, body: null, link: null, data: null, createdAt: instant(seq) };
  return { cursor: cursor(seq), node: { ...node, isRead, isArchived, sender: null } };
}

class FakeSocket {
  readyState = 0;
  #server;
  #overview;
  #items;
  #told;
  #merging = false;
  #last = Promise.resolve();

  constructor(server) {
    this.#server = server;
    this.onopen = this.onmessage = this.onclose = this.onerror = null;
    server.connections.push(Date.now());
    this.#later(() => {
      if (this.readyState === 3) return;
      if (server.isAway) return this.closeBy(1006);
      this.readyState = 1;
      server.sockets.add(this);
      this.onopen?.({});
    });
  }

  /** Delivers messages in order. */
  #later(work) {
    this.#last = this.#last.then(() => sleep(this.#server.delay())).then(work);
  }

  #say(message) {
    const data = JSON.stringify(message);
    this.#later(() => this.readyState === 1 && this.onmessage?.({ data }));
  }

  async send(text) {
    const { type, id, payload } = JSON.parse(text);
    await sleep(this.#server.delay());
    if (this.readyState !== 1) return;
    const server = this.#server;
    if (type === 'connection_init') {
      if (server.closesWith) return this.closeBy(server.closesWith);
      if (!server.takes(payload.authorization)) return this.closeBy(4403);
      return this.#say({ type: 'connection_ack' });
    }
    if (type === 'ping') {
      if (payload) server.renewals.push(payload.authorization);
      return server.isMute ? undefined : this.#say({ type: 'pong' });
    }
    if (type !== 'subscribe') return;
    const { types, after } = payload.variables;
    if (payload.query.includes('overviewChanged')) {
      this.#overview = { id, types };
      return this.change();
    }
    server.after.push(after);
    if (after === server.refusedCursor) {
      return this.#say({ type: 'error', id, payload: [{ message: 'too old', extensions: { code: 'BAD_USER_INPUT', field: 'after' } }] });
    }
    this.#items = { id, types };
    const missed = server.items.filter((item) => after && cursor(item.seq) > after).reverse();
    for (const item of missed) this.receive(item);
  }

  receive(item) {
    if (!this.#items || (this.#items.types && !this.#items.types.includes(item.type))) return;
    this.#say({ type: 'next', id: this.#items.id, payload: { data: { itemReceived: entry(item) } } });
  }

  /** Like the server: sends overviews at a limited rate, and only if they have changed. */
  change() {
    if (!this.#overview || this.#merging) return;
    this.#merging = true;
    sleep(this.#server.mergeMillis).then(() => {
      this.#merging = false;
      const overview = this.#server.overview(this.#overview.types);
      const { cursor: _, ...of } = overview;
      if (JSON.stringify(of) === this.#told) return;
      this.#told = JSON.stringify(of);
      this.#say({ type: 'next', id: this.#overview.id, payload: { data: { overviewChanged: { overview } } } });
    });
  }

  closeBy(code) {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.#server.sockets.delete(this);
    queueMicrotask(() => this.onclose?.({ code }));
  }

  close() {
    this.readyState = 3;
    this.#server.sockets.delete(this);
  }
}
