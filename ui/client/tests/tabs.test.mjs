// Several tabs, hidden and frozen tabs, and the state after some of them leave.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { FakeTidings, token } from './support/fake.mjs';
import { FakeStorage, PACE, until, withBrowser } from './support/browser.mjs';

const fake = () => new FakeTidings();
const check = (name, work) => test(name, { timeout: 20_000 }, withBrowser(fake, work));
const status = ({ store }) => store.overview.get().status;
const unread = ({ store }) => store.overview.get().unread.count;

check('ten tabs have one session, and another one leads when the first goes', async (browser, server) => {
  const tabs = Array.from({ length: 10 }, () => browser.open());
  await until('ready', () => tabs.every((tab) => status(tab) === 'ready') && server.after.length === 1);
  assert.equal(server.connections.length, 1);
  const sent = [];
  for (let n = 0; n < 300; n++) {
    sent.push(server.send());
    if (n === 150) tabs[0].store.close();
    if (n === 200) tabs[1].store.close();
    if (n % 10 === 0) await sleep(1);
  }
  const left = tabs.slice(2);
  await until('all', () => left.every((tab) => unread(tab) === 300 && tab.heard.length === 300));
  for (const { heard } of left) assert.deepEqual(heard, sent);
  assert.equal(server.sockets.size, 1);
  assert.equal(server.connections.length, 3);
  assert.ok(server.count('Overview') <= 12, `${server.count('Overview')} polls`);
});

check('tabs of other users, tenants and wishes share nothing', async (browser, server) => {
  browser.open();
  browser.open({ sub: 'ben' });
  browser.open({ types: ['a'] });
  browser.open({ cap: 9 });
  await until('each its own', () => server.sockets.size === 4);
});

check('without locks each tab is for itself, and tells nothing', async (browser, server) => {
  const tabs = [1, 2, 3].map(() => browser.open({ around: { locks: undefined } }));
  await until('up', () => server.after.length === 3);
  server.send();
  await until('told', () => tabs.every((tab) => unread(tab) === 1 && tab.heard.length === 1));
  await tabs[0].store.markRead({ ids: ['i1'] });
  await until('told', () => tabs.every((tab) => unread(tab) === 0));
  assert.deepEqual(browser.said, []);
});

check('a page that may have no locks is for itself', async (browser, server) => {
  const request = async () => {
    throw new DOMException('no', 'SecurityError');
  };
  const tab = browser.open({ around: { locks: { request } } });
  server.send();
  await until('told', () => server.sockets.size === 1 && unread(tab) === 1);
});

check('no token is told, stored or shown', async (browser, server) => {
  const secret = token('ada');
  const [tab, other] = [1, 2].map(() => browser.open({ callback: () => secret }));
  for (const { store } of [tab, other]) store.inbox().subscribe(() => {});
  await until('up', () => status(tab) === 'ready' && status(other) === 'ready');
  server.send();
  await until('told', () => unread(other) === 1);
  await tab.store.markRead({ ids: ['i1'] });
  tab.page.tell('hidden');
  assert.ok(browser.said.length > 3);
  assert.ok(tab.storage.length > 0);
  for (const text of [...browser.said, tab.storage.text, JSON.stringify(tab.store.overview.get())]) {
    assert.ok(!text.includes(secret) && !text.includes(secret.split('.')[1]));
  }
});

check('messages that are none change nothing', async (browser, server) => {
  server.send();
  const [, tab] = [browser.open(), browser.open()];
  await until('up', () => status(tab) === 'ready' && unread(tab) === 1);
  await sleep(20);
  const name = `tidings:1:${browser.name}:acme:ada:{}`;
  const channel = new browser.Channel(name);
  const count = { count: 7, exact: true };
  const counts = { cursor: 'c', unread: count, types: [] };
  for (const message of [null, 1, 'x', [], {}, { kind: 'overview' }, { kind: 'overview', overview: { ...counts, unread: 7 }, cursor: 'c' },
    { kind: 'overview', overview: counts }, { kind: 'overview', overview: { ...counts, types: [{ type: { code: 1 } }] }, cursor: 'c' },
    { kind: 'item', item: { cursor: 'c', node: { id: 'x' } } }, { kind: '__proto__' }, { kind: 'nonsense' }]) channel.postMessage(message);
  await sleep(20);
  assert.equal(unread(tab), 1);
  assert.deepEqual(tab.heard, []);
  channel.postMessage({ kind: 'overview', overview: counts, cursor: 'c' });
  await until('a whole one counts', () => unread(tab) === 7);
  channel.close();
});

check('a tab that hears nothing asks the server itself', async (browser, server) => {
  const [leader, tab] = [browser.open(), browser.open()];
  await until('up', () => status(tab) === 'ready' && server.after.length === 1);
  await sleep(20);
  // The leader's page sleeps but keeps the lock.
  for (const socket of server.sockets) socket.onmessage = null;
  const before = server.count('Overview');
  clearInterval(leader);
  const { BroadcastChannel: _ } = globalThis;
  browser.Channel.prototype.postMessage = () => {};
  server.send();
  await until('found', () => unread(tab) === 1, 80_000 * PACE);
  assert.ok(server.count('Overview') > before);
});

check('a hidden tab lets its socket go after five minutes, and catches up when it is shown', async (browser, server) => {
  const tab = browser.open();
  const list = tab.store.inbox();
  list.subscribe(() => {});
  await until('up', () => server.sockets.size === 1 && server.after.length === 1);
  tab.page.tell('hidden');
  await sleep(200_000 * PACE);
  assert.equal(server.sockets.size, 1, 'not yet');
  await sleep(110_000 * PACE);
  assert.equal(server.sockets.size, 0);
  const asked = server.requests.length;
  const sent = [server.send(), server.send()];
  await sleep(80_000 * PACE);
  assert.equal(server.requests.length, asked, 'it rests');
  tab.page.tell('shown');
  await until('current', () => unread(tab) === 2 && list.get().items.length === 2 && tab.heard.length === 2);
  assert.deepEqual(tab.heard, sent);
  assert.equal(tab.callbacks, 1);
});

check('a page that is frozen lets another one lead, and is current when it comes back', async (browser, server) => {
  const [tab, other] = [browser.open(), browser.open()];
  const list = tab.store.inbox();
  list.subscribe(() => {});
  await until('up', () => server.after.length === 1 && status(other) === 'ready' && list.get().status === 'ready');
  tab.page.tell('frozen');
  await until('another', () => server.connections.length === 2 && server.sockets.size === 1);
  const sent = [server.send(), server.send()];
  await until('told', () => unread(other) === 2);
  assert.equal(unread(tab), 0);
  tab.page.tell('thawed');
  await until('current', () => unread(tab) === 2 && list.get().items.length === 2);
  assert.deepEqual(other.heard, sent);
  assert.equal(server.sockets.size, 1);
});

check('a snapshot is painted at once, and is nobody else\'s', async (browser, server) => {
  server.send();
  const storage = new FakeStorage();
  const tab = browser.open({ around: { storage } });
  tab.store.inbox().subscribe(() => {});
  await until('shown', () => unread(tab) === 1 && tab.store.inbox().get().items.length === 1);
  tab.page.tell('hidden');
  tab.store.close();
  assert.equal(storage.length, 1);

  server.send();
  server.delay = () => 20;
  const again = browser.open({ around: { storage } });
  const list = again.store.inbox();
  list.subscribe(() => {});
  await until('painted', () => unread(again) === 1 && list.get().items.length === 1, 15);
  assert.deepEqual([status(again), list.get().status], ['loading', 'loading']);
  await until('current', () => unread(again) === 2 && list.get().items.length === 2 && status(again) === 'ready');
  assert.deepEqual(again.heard, []);
  again.store.close();

  server.items = [];
  const other = browser.open({ around: { storage }, sub: 'ben' });
  await sleep(10);
  assert.equal(unread(other), 0);
  assert.ok(!storage.text.includes('title'), 'it is gone');
});

check('a snapshot that is none is passed over', async (browser, server) => {
  const storage = new FakeStorage();
  const name = `tidings:1:${browser.name}:acme:ada:{}`;
  for (const text of ['{', 'null', JSON.stringify({ name, counts: { cursor: 1 } })]) {
    storage.setItem(`tidings:1:${browser.name}:{}`, text);
    server.send();
    const tab = browser.open({ around: { storage } });
    await until('ready', () => status(tab) === 'ready' && unread(tab) === server.items.length);
    tab.store.close();
  }
});

check('signing out leaves nothing in any tab', async (browser, server) => {
  server.send();
  const [tab, other] = [browser.open(), browser.open()];
  const lists = [tab, other].map(({ store }) => store.inbox());
  lists.forEach((list) => list.subscribe(() => {}));
  await until('shown', () => [tab, other].every((one) => unread(one) === 1) && lists.every((list) => list.get().items.length === 1));
  await sleep(30);
  tab.page.tell('hidden');
  other.page.tell('hidden');
  assert.ok(tab.storage.length + other.storage.length === 2);
  tab.store.signOut();
  await until('gone', () => [tab, other].every((one) => unread(one) === 0 && one.storage.length === 0) && lists.every((list) => list.get().items.length === 0));
  await until('closed', () => server.sockets.size === 0);
  const asked = server.requests.length;
  await sleep(100);
  assert.equal(server.requests.length, asked);
  assert.equal(tab.callbacks, 1);
});

check('another user\'s token is another user\'s inbox', async (browser, server) => {
  server.send();
  const tab = browser.open({ callback: (n) => token(n === 1 ? 'ada' : 'ben') });
  const list = tab.store.inbox();
  list.subscribe(() => {});
  await until('shown', () => unread(tab) === 1 && list.get().items.length === 1 && server.sockets.size === 1);
  const bens = token('ben').split('.')[1].length;
  server.takes = (of) => JSON.parse(Buffer.from(of.split('.')[1], 'base64url')).sub === 'ben';
  assert.ok(bens);
  server.items = [];
  server.delay = () => 5;
  server.closeAll(4403);
  await until('nothing of the first', () => unread(tab) === 0 && list.get().items.length === 0);
  await until('ready', () => status(tab) === 'ready' && list.get().status === 'ready' && server.sockets.size === 1);
  server.send();
  await until('current', () => unread(tab) === 1);
  assert.equal(tab.callbacks, 2);
});
