// Several tabs and another device with a real server: once settled, all of them match the API.
//
// TIDINGS_BIN names the binary (default: target/debug/tidings); STEPS and SEED set the number of steps and the seed.

// Time runs ten times as fast: lists are reloaded at least every 6 s and at most every 100 ms.
process.env.PACE = '0.1';

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import WebSocket from 'ws';

import { Server, token } from '../../../tests/clients/server.mjs';
import { Tidings } from '../dist/index.js';
import { Sender } from '../dist/sender.js';
import { Inbox, Overview, request } from '../dist/typed.js';

// Starts in real time.
const server = await Server.start({ TIDINGS_RATE: '0' });
const { FakeLocks, FakePage, FakeStorage, until } = await import('./support/browser.mjs');

const STEPS = Number(process.env.STEPS ?? 300);
const SEED = Number(process.env.SEED ?? 7);
const TENANT = 'acme';
const TYPES = ['comment', 'news'];
const FILTERS = [{}, { read: false }, { state: 'ARCHIVED' }, { types: ['news'] }];
const CALLS = ['markRead', 'markUnread', 'archive', 'unarchive', 'remove'];

const url = `http://127.0.0.1:${server.port}`;
const service = () => token(TENANT, 'backend', 'service');
const user = () => token(TENANT, 'ada');

before(async () => {
  const admin = token(TENANT, 'operator', 'admin');
  for (const code of TYPES) await server.ask(admin, 'mutation($code: String!) { saveMessageType(input: { code: $code, title: $code }) { code } }', { code });
  await server.ask(user(), '{ viewer { id } }');
});

after(() => server.remove());

/** A tab; tabs with the same locks belong to the same browser. */
function open(locks, of = {}) {
  const page = new FakePage();
  const around = { WebSocket, locks, BroadcastChannel, storage: new FakeStorage(), page };
  const tab = { page, callbacks: 0, heard: [], store: undefined };
  const ask = () => (tab.callbacks++, user());
  tab.store = new Tidings({ server: url, token: ask, ...of }, around);
  tab.store.overview.subscribe(() => {});
  tab.store.onItem(({ id }) => tab.heard.push(id));
  tab.lists = FILTERS.map((filter) => tab.store.inbox(filter));
  tab.lists.forEach((list) => list.subscribe(() => {}));
  tab.store.preferences.subscribe(() => {});
  return tab;
}

/** The user's data according to the API. */
async function truth() {
  const access = { server: url, token: user() };
  const { viewer } = await request(access, Overview, {});
  const lists = [];
  for (const filter of FILTERS) {
    const { edges } = (await request(access, Inbox, { first: 200, filter })).viewer.inbox;
    lists.push(edges.map(({ cursor, node }) => ({ cursor, ...node })));
  }
  const { unread, types } = viewer.overview;
  return { overview: { status: 'ready', unread, types }, lists };
}

/** Fails if a tab shows something else. */
function compare(tab, { overview, lists }) {
  assert.deepEqual(tab.store.overview.get(), overview);
  lists.forEach((all, place) => {
    const { items, status, hasMore } = tab.lists[place].get();
    assert.equal(status, 'ready');
    assert.deepEqual(items, all.slice(0, Math.max(30, items.length)), JSON.stringify(FILTERS[place]));
    if (all.length < 200) assert.equal(hasMore, all.length > items.length);
  });
}

async function settles(tabs, millis = 15_000) {
  let problem;
  await until('settled', async () => {
    const said = await truth();
    try {
      tabs.forEach((tab) => compare(tab, said));
      return true;
    } catch (error) {
      problem = error;
      await sleep(50);
      return false;
    }
  }, millis).catch((late) => {
    throw problem ?? late;
  });
}

const sessions = async () => Number((await (await fetch(`${url}/metrics`)).text()).match(/^tidings_sessions(?:\{[^}]*\})? (\d+)/m)?.[1]);

test('tabs and another device show what the API says, whatever is done', { timeout: 600_000 }, async (t) => {
  let state = SEED;
  const dice = () => ((state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) >>> 8) / 2 ** 24;
  const pick = (of) => of[Math.floor(dice() * of.length)];
  const locks = new FakeLocks();
  const tabs = [open(locks), open(locks), open(locks)];
  const device = open(new FakeLocks());
  const all = [...tabs, device];
  const sender = new Sender({ server: url, token: service });
  const sent = [];
  try {
    await settles(all);
    const counts = {};
    const slowest = [0, ''];
    for (let n = 0; n < STEPS; n++) {
      const { store, lists } = pick(all);
      const some = pick(lists).get().items.filter(() => dice() < 0.3).map(({ id }) => id).slice(0, 5);
      const [newest] = lists[0].get().items;
      const chance = dice();
      let what;
      if (chance < 0.35 || sent.length < 5) {
        what = 'send';
        const made = Array.from({ length: 1 + Math.floor(dice() * 4) }, () => ({
          message: { type: pick(TYPES), receiver: 'ada', content: { title: `title ${dice()}` } },
        }));
        sent.push(...(await sender.send(made)).map(({ id }) => id));
      } else if (chance < 0.7) {
        what = pick(CALLS);
        await store[what]({ ids: some });
      } else if (chance < 0.78 && newest) {
        what = 'matching';
        await store[pick(['markRead', 'archive'])]({ upTo: newest.cursor, ...(dice() < 0.5 && { types: [pick(TYPES)] }) });
      } else if (chance < 0.9) {
        what = 'retract';
        const [id] = sent.splice(Math.floor(dice() * sent.length), 1);
        await server.ask(service(), 'mutation($id: ID!) { retractSentNotification(id: $id) { id } }', { id });
      } else {
        what = 'preferences';
        await store.preferences.set(pick(TYPES), dice() < 0.7);
      }
      counts[what] = (counts[what] ?? 0) + 1;
      const began = performance.now();
      await settles(all);
      if (performance.now() - began > slowest[0]) slowest.splice(0, 2, performance.now() - began, what);
    }
    t.diagnostic(`${STEPS} steps: ${JSON.stringify(counts)}; the slowest settled in ${Math.round(slowest[0])} ms (${slowest[1]})`);
    for (const { heard, callbacks } of all) {
      assert.equal(new Set(heard).size, heard.length);
      assert.equal(callbacks, 1);
    }
    for (const { heard } of all) assert.deepEqual(heard, device.heard);
  } finally {
    all.forEach(({ store }) => store.close());
  }
});

test('ten tabs are one session, of which another tab takes the place', { timeout: 120_000 }, async (t) => {
  const locks = new FakeLocks();
  const tabs = Array.from({ length: 10 }, () => open(locks));
  try {
    await settles(tabs);
    const found = await sessions();
    if (!Number.isNaN(found)) assert.equal(found, 1);
    const sender = new Sender({ server: url, token: service });
    const messages = (n) => Array.from({ length: n }, (_, place) => ({ message: { type: 'news', receiver: 'ada', content: { title: `title ${place}` } } }));
    await server.ask(user(), 'mutation { updatePreferences(resetTypes: ["news", "comment"]) { preferences { types { code } } } }');
    const heard = tabs.map((tab) => (tab.heard.length = 0, tab.heard));
    await sender.send(messages(500));
    tabs[0].store.close();
    const began = performance.now();
    await sender.send(messages(500));
    const left = tabs.slice(1);
    await until('all', () => left.every((tab) => tab.heard.length === 1000), 20_000);
    t.diagnostic(`1,000 sends with another leader in between: heard ${Math.round(performance.now() - began)} ms later`);
    for (const one of heard.slice(1)) assert.equal(new Set(one).size, 1000);
    await settles(left);
    const again = await sessions();
    if (!Number.isNaN(again)) assert.equal(again, 1);
  } finally {
    tabs.forEach(({ store }) => store.close());
  }
});

test('a server that was killed is found again, and nothing is missed', { timeout: 120_000 }, async () => {
  const tab = open(new FakeLocks());
  const other = open(undefined);
  try {
    await settles([tab, other]);
    await sleep(200);
    tab.heard.length = 0;
    await server.end('SIGKILL');
    await until('offline', () => tab.store.overview.get().status === 'offline' && other.store.overview.get().status === 'offline', 10_000);
    // Measured by the accelerated clock.
    await server.run().catch(() => {});
    await until('ready', async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok, 60_000);
    await new Sender({ server: url, token: service }).send([{ message: { type: 'news', receiver: 'ada', content: { title: 'after' } } }]);
    await settles([tab, other], 30_000);
    await until('heard', () => tab.heard.length === 1, 10_000);
    assert.equal(tab.callbacks, 1);
  } finally {
    tab.store.close();
    other.store.close();
  }
});
