// Subscriptions in public clients (graphql-ws, graphql-sse and urql) over real sockets against the binary
// (`TIDINGS_BIN`, default: the debug build). Connections are cut, and the server is killed and restarted.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { CLIENTS } from './live/clients.mjs';
import { Line } from './live/line.mjs';
import { Server, token } from './server.mjs';

/** The time limit of every wait, in milliseconds. */
const PATIENCE = 20_000;

const SENDERS = 4;

/** Announcements per sender. */
const EACH = 30;

const ITEMS = 'subscription Items($after: String) { itemReceived(after: $after) { cursor node { title } } }';
const OVERVIEW = 'subscription Overview { overviewChanged { id overview { unread { count } cursor } } }';

const server = await Server.start();
const line = await Line.to(server.port);
const results = [];

async function until(what, isSo) {
  for (const end = Date.now() + PATIENCE; !isSo(); await sleep(5)) {
    assert.ok(Date.now() < end, `in vain: ${what}`);
  }
}

/** A user's inbox in one client: the received items and the last overview. */
class Inbox {
  titles = [];
  unread = undefined;
  failure = undefined;
  ends = [];

  constructor(client, tenant, seconds = 3600) {
    this.client = client;
    this.tenant = tenant;
    this.user = `ada with ${client.name}`;
    this.tokens = 0;
    const next = () => {
      this.tokens += 1;
      return token(tenant, this.user, 'user', this.tokens === 1 ? seconds : 3600);
    };
    this.session = client.open(line.url, next, Infinity, (code) => this.ends.push(code));
  }

  /** Subscribes to items from the overview's cursor, and to the overview; resolves when that has arrived. */
  async follow() {
    const { viewer } = await this.ask('{ viewer { overview { cursor } } }');
    const failed = (failure) => (this.failure = failure);
    const item = ({ data }) => this.titles.push(data.itemReceived.node.title);
    const overview = ({ data }) => (this.unread = data.overviewChanged.overview.unread.count);
    this.session.subscribe(ITEMS, { after: viewer.overview.cursor }, item, failed);
    this.session.subscribe(OVERVIEW, {}, overview, failed);
    await until('the first overview', () => this.unread !== undefined || this.failure);
  }

  ask(query, variables) {
    return server.ask(token(this.tenant, this.user), query, variables);
  }

  /** The titles of the user's list, oldest first: every client must have seen them once and in this order. */
  async list() {
    const query = `query($after: String) { viewer { inbox(first: 200, after: $after) {
      nodes { title } pageInfo { hasNextPage endCursor } } } }`;
    const titles = [];
    for (let page = { endCursor: null, hasNextPage: true }; page.hasNextPage; ) {
      const { viewer } = await this.ask(query, { after: page.endCursor });
      titles.push(...viewer.inbox.nodes.map((node) => node.title));
      page = viewer.inbox.pageInfo;
    }
    return titles.reverse();
  }

  /** Waits for this number of unread items and checks that they match the list. */
  async hasAll(count) {
    assert.equal(this.failure, undefined);
    await until(`${count} items, of ${this.titles.length}`, () => this.titles.length >= count);
    await until(`${count} unread, of ${this.unread}`, () => this.unread === count);
    assert.equal(new Set(this.titles).size, count);
    assert.deepEqual(this.titles, await this.list());
  }
}

/** Sends an announcement to everyone, and retries until it is acknowledged; its idempotency key prevents duplicates. */
async function announce(tenant, title) {
  const query = 'mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed } }';
  const input = { type: 'news', audience: { everyone: true }, content: { title }, idempotencyKey: title };
  for (const end = Date.now() + PATIENCE; ; await sleep(20)) {
    try {
      return await server.ask(token(tenant, 'shop', 'service'), query, { input });
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

/** Several senders run in parallel; `meanwhile` runs when a third has been sent. */
async function sending(tenant, meanwhile) {
  let sent = 0;
  const sender = async (_, sender) => {
    for (let number = 0; number < EACH; number += 1) {
      await announce(tenant, `${sender}/${number}`);
      sent += 1;
    }
  };
  const disturbing = until('a third is sent', () => sent >= (SENDERS * EACH) / 3).then(meanwhile);
  await Promise.all([disturbing, ...Array.from({ length: SENDERS }, sender)]);
}

/** Runs `happens` for all clients at once in a new tenant, then checks `holds` for each client. */
async function scenario(name, happens, holds) {
  const tenant = name.replaceAll(' ', '-');
  const define = 'mutation { saveMessageType(input: { code: "news", title: "News" }) { code } }';
  const began = performance.now();
  let failure;
  let inboxes = [];
  try {
    await server.ask(token(tenant, 'operator', 'admin'), define);
    inboxes = await happens(tenant);
  } catch (error) {
    failure = error;
  }
  const judge = async ({ name: client }, place) => {
    try {
      if (failure) throw failure;
      await holds(inboxes[place]);
      results.push({ client, name });
    } catch (error) {
      results.push({ client, name, error });
    }
  };
  await Promise.all(CLIENTS.map(judge));
  inboxes.forEach((inbox) => inbox.session?.close());
  const wrong = results.filter((result) => result.name === name && result.error);
  const took = `${Math.round(performance.now() - began)} ms`;
  console.log(`${wrong.length === 0 ? 'ok   ' : 'WRONG'} ${name} (${took})`);
  wrong.forEach(({ client, error }) => console.error(`      ${client}: ${error.stack}`));
}

/** Opens and subscribes an inbox per client. */
async function following(tenant, seconds) {
  const inboxes = CLIENTS.map((client) => new Inbox(client, tenant, seconds));
  await Promise.all(inboxes.map((inbox) => inbox.follow()));
  return inboxes;
}

/** The failure of a subscription that is not retried. */
function failure(client, credentials, query, variables = {}) {
  return new Promise((resolve, reject) => {
    const session = client.open(line.url, () => credentials, 0, () => {});
    const came = (result) => reject(new Error(`it was answered: ${JSON.stringify(result)}`));
    session.subscribe(query, variables, came, resolve);
    setTimeout(() => reject(new Error('it was not refused')), PATIENCE).unref();
  });
}

try {
  await scenario('items and overviews arrive, and marks made elsewhere', async (tenant) => {
    const inboxes = await following(tenant);
    for (const title of ['one', 'two', 'three']) await announce(tenant, title);
    return inboxes;
  }, async (inbox) => {
    await inbox.hasAll(3);
    assert.deepEqual(inbox.titles, ['one', 'two', 'three']);
    await inbox.ask('mutation { markRead(select: { matching: {} }) { changedCount } }');
    await until('nothing unread', () => inbox.unread === 0);
  });

  await scenario('a client whose line is cut resumes', async (tenant) => {
    const inboxes = await following(tenant);
    await sending(tenant, async () => {
      for (let times = 0; times < 3; times += 1) {
        assert.ok(line.cut() > 0, 'nobody was connected');
        await sleep(200);
      }
    });
    return inboxes;
  }, async (inbox) => {
    await inbox.hasAll(SENDERS * EACH);
    assert.ok(inbox.tokens > 1, 'it never connected again');
  });

  await scenario('a client resumes when the server was killed', async (tenant) => {
    const inboxes = await following(tenant);
    await sending(tenant, async () => {
      await server.end('SIGKILL');
      await server.run();
    });
    return inboxes;
  }, (inbox) => inbox.hasAll(SENDERS * EACH));

  await scenario('a client resumes when the server was stopped', async (tenant) => {
    const inboxes = await following(tenant);
    await sending(tenant, async () => {
      assert.equal(await server.end('SIGTERM'), 0);
      await server.run();
    });
    return inboxes;
  }, async (inbox) => {
    await inbox.hasAll(SENDERS * EACH);
    if (inbox.client.name !== 'graphql-sse') assert.equal(inbox.ends[0], 1012);
  });

  await scenario('a session ends with its token, and goes on with the next', async (tenant) => {
    const inboxes = await following(tenant, 2);
    await announce(tenant, 'by the first token');
    await until('other tokens are asked for', () => inboxes.every((inbox) => inbox.tokens > 1));
    await announce(tenant, 'by the second');
    return inboxes;
  }, async (inbox) => {
    await inbox.hasAll(2);
    if (inbox.client.name !== 'graphql-sse') assert.deepEqual(inbox.ends, [4403]);
  });

  for (const [name, seconds, end] of [
    ['a wrong token is refused', 3600, 'x'],
    ['a token that has expired is refused', -60, ''],
  ]) {
    await scenario(name, async (tenant) => CLIENTS.map((client) => ({ client, tenant })), async ({ client, tenant }) => {
      const refusal = await failure(client, token(tenant, 'ada', 'user', seconds) + end, ITEMS);
      if (client.name === 'graphql-sse') assert.equal(refusal.response?.status, 401);
      else assert.equal(refusal.code, 4403);
    });
  }

  await scenario('mistakes are told, and not tried again', async (tenant) => {
    const { viewer } = await server.ask(token(tenant, 'bob'), '{ viewer { overview { cursor } } }');
    return CLIENTS.map((client) => ({ client, ada: token(tenant, 'ada'), bobs: viewer.overview.cursor }));
  }, async ({ client, ada, bobs }) => {
    const [nonsense] = await failure(client, ada, 'subscription Wrong { nonsense }');
    assert.equal(nonsense.extensions.code, 'GRAPHQL_VALIDATION_FAILED');
    const [refusal] = await failure(client, ada, ITEMS, { after: bobs });
    assert.match(refusal.message, /get a new one from `overview\.cursor`/);
    assert.deepEqual(refusal.extensions, { code: 'BAD_USER_INPUT', field: 'after' });
  });
} finally {
  line.close();
  await server.remove();
}

const failures = results.filter((result) => result.error);
for (const { name } of CLIENTS) {
  const own = results.filter((result) => result.client === name);
  console.log(`${name}: ${own.filter((result) => !result.error).length} of ${own.length} pass`);
}
process.exit(failures.length === 0 && results.length > 0 ? 0 : 1);
