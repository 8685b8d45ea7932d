// Connecting, and failures to connect.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { FakeTidings, token } from './support/fake.mjs';
import { PACE, until, withBrowser } from './support/browser.mjs';

const fake = () => new FakeTidings();
const check = (name, work) => test(name, { timeout: 20_000 }, withBrowser(fake, work));
const status = ({ store }) => store.overview.get().status;
const unread = ({ store }) => store.overview.get().unread.count;
const up = (server) => until('up', () => server.sockets.size === 1 && server.after.length > 0);

/** Real milliseconds from `cut` to the next connection. */
async function nextConnection(server, cut) {
  const before = server.connections.length;
  const at = Date.now();
  cut();
  await until('connected again', () => server.connections.length > before);
  return server.connections[before] - at;
}

// Tolerance for timers on a busy machine, in store milliseconds at this pace.
const SLACK = 2_500;

for (const [code, least, most] of [
  [1006, 500, 1_000],
  [1012, 750, 1_500],
  [1013, 5_000, 10_000],
  [1009, 30_000, 60_000],
  [4400, 30_000, 60_000],
  [4401, 30_000, 60_000],
  [4408, 30_000, 60_000],
  [4409, 30_000, 60_000],
  [4429, 30_000, 60_000],
]) {
  check(`${code} is followed by another connection after ${least} to ${most} ms, with the same token`, async (browser, server) => {
    const tab = browser.open();
    await up(server);
    const waited = await nextConnection(server, () => server.closeAll(code));
    assert.ok(waited >= least - 100 && waited <= most + SLACK, `${waited} ms`);
    assert.equal(tab.callbacks, 1);
    await until('up again', () => server.sockets.size === 1 && status(tab) === 'ready');
  });
}

check('4403 is followed by another connection with another token at once', async (browser, server) => {
  const tab = browser.open({ callback: (n) => token('ada', { mark: n }) });
  await up(server);
  server.takes = (of) => of === token('ada', { mark: 2 }) || JSON.parse(Buffer.from(of.split('.')[1], 'base64url')).mark === 2;
  const waited = await nextConnection(server, () => server.closeAll(4403));
  assert.ok(waited <= 200 + SLACK, `${waited} ms`);
  await until('up', () => server.sockets.size === 1 && status(tab) === 'ready');
  assert.equal(tab.callbacks, 2);
  await sleep(100);
  assert.equal(tab.callbacks, 2);
});

check('a connection that is lost goes on where it was: nothing is missed, and nothing comes twice', async (browser, server) => {
  const tab = browser.open();
  await up(server);
  const sent = [server.send()];
  await until('heard', () => tab.heard.length === 1);
  server.closeAll();
  sent.push(server.send(), server.send());
  await until('heard', () => tab.heard.length === 3);
  assert.deepEqual(tab.heard, sent);
  assert.equal(unread(tab), 3);
});

check('a cursor that is too old is given up for that of the overview', async (browser, server) => {
  const tab = browser.open();
  await up(server);
  server.send();
  await until('heard', () => tab.heard.length === 1);
  // As if the session was interrupted for longer than the retention window.
  server.refusedCursor = 'c00000001';
  server.closeAll();
  server.send();
  await until('on from there', () => server.after.at(-1) === 'c00000002');
  assert.deepEqual(server.after.slice(1), ['c00000001', 'c00000002']);
  server.send();
  await until('heard', () => tab.heard.at(-1) === 'i3' && unread(tab) === 3);
});

check('without a token that is taken it is refused, and asks ever more seldom', async (browser, server) => {
  server.takes = () => false;
  const tab = browser.open({ callback: (n) => token('ada', { mark: n }) });
  const list = tab.store.inbox();
  list.subscribe(() => {});
  await until('refused', () => status(tab) === 'refused' && list.get().status === 'refused');
  await sleep(60_000 * PACE);
  // Two at once, then after 2, 4, 8, 16 and 32 s, each shortened by jitter to no less than half.
  assert.ok(tab.callbacks >= 4 && tab.callbacks <= 8, `${tab.callbacks} callbacks`);
  const refusals = server.requests.length + server.connections.length;
  // At most the poll, the list and the socket present each token.
  assert.ok(refusals <= 3 * tab.callbacks, `${refusals} refusals`);
  assert.deepEqual([...new Set(tab.problems.map(({ code }) => code))], ['UNAUTHENTICATED']);
  server.takes = () => true;
  await until('ready', () => status(tab) === 'ready' && list.get().status === 'ready' && server.sockets.size === 1, 6_000);
});

check('a socket that is refused while requests are not asks for no token in a loop', async (browser, server) => {
  server.closesWith = 4403;
  const tab = browser.open({ callback: (n) => token('ada', { mark: n }) });
  await until('ready', () => status(tab) === 'ready');
  await sleep(30_000 * PACE);
  assert.ok(tab.callbacks <= 10 && server.connections.length <= 10, `${tab.callbacks} callbacks, ${server.connections.length} connections`);
});

check('the same token once more is not shown to the server again', async (browser, server) => {
  server.takes = () => false;
  const one = token('ada');
  const tab = browser.open({ callback: () => one });
  await until('refused', () => status(tab) === 'refused');
  await sleep(20_000 * PACE);
  assert.ok(server.requests.length + server.connections.length <= 2, `${server.requests} ${server.connections.length}`);
  assert.ok(tab.callbacks <= 7, `${tab.callbacks}`);
});

check('many requests at once ask for one token', async (browser, server) => {
  const tab = browser.open({ callback: async (n) => (await sleep(5), token('ada', { mark: n })) });
  for (const read of [true, false]) tab.store.inbox({ read }).subscribe(() => {});
  tab.store.preferences.subscribe(() => {});
  await up(server);
  assert.equal(tab.callbacks, 1);
  let first = true;
  server.takes = (of) => JSON.parse(Buffer.from(of.split('.')[1], 'base64url')).mark !== 1 || (first = false);
  await Promise.all([tab.store.inbox({ read: true }).refresh(), tab.store.inbox({ read: false }).refresh(), tab.store.markRead({ ids: [] })]);
  assert.equal(tab.callbacks, 2);
  assert.equal(first, false);
});

check('a callback that fails is asked again, and the store is offline', async (browser) => {
  const tab = browser.open({
    callback: (n) => {
      if (n < 3) throw new Error('no network');
      return token('ada');
    },
  });
  await until('offline', () => status(tab) === 'offline');
  assert.equal(tab.store.overview.get().problem.message, 'no network');
  await until('ready', () => status(tab) === 'ready');
  assert.equal(tab.callbacks, 3);
});

check('a newer token is shown by a ping before the one in use is over', async (browser, server) => {
  const tab = browser.open({ callback: (n) => token('ada', { seconds: n === 1 ? 20 : 3600, mark: n }) });
  await up(server);
  await until('renewed', () => server.renewals.length === 1);
  assert.equal(server.connections.length, 1);
  assert.equal(tab.callbacks, 2);
  await sleep(300);
  assert.equal(server.renewals.length, 1);
});

check('a clock that is ahead makes no loop', async (browser, server) => {
  const tab = browser.open({ callback: (n) => token('ada', { seconds: -3600, mark: n }) });
  await up(server);
  await tab.store.inbox().refresh();
  await sleep(100);
  assert.equal(tab.callbacks, 1);
});

check('a server that is away is tried ever more seldom, and found again', async (browser, server) => {
  server.send();
  const tab = browser.open();
  await up(server);
  await until('shown', () => unread(tab) === 1);
  server.isAway = true;
  server.closeAll();
  await until('offline', () => status(tab) === 'offline');
  assert.equal(unread(tab), 1, 'what was known is still shown');
  assert.equal(tab.store.overview.get().problem.code, 'OFFLINE');
  const before = server.connections.length;
  await sleep(60_000 * PACE);
  const tries = server.connections.length - before;
  assert.ok(tries >= 2 && tries <= 9, `${tries} tries in a minute`);
  server.isAway = false;
  server.send();
  await until('ready', () => status(tab) === 'ready' && unread(tab) === 2, 3_000);
});

check('the network that comes back is used at once', async (browser, server) => {
  const tab = browser.open();
  await up(server);
  server.isAway = true;
  server.closeAll();
  await sleep(40_000 * PACE);
  server.isAway = false;
  tab.page.tell('online');
  await until('up', () => server.sockets.size === 1 && status(tab) === 'ready', 200);
});

check('where there are no sockets it asks every 35 s', async (browser, server) => {
  const tab = browser.open({ around: { WebSocket: undefined } });
  await until('ready', () => status(tab) === 'ready');
  const before = server.count('Overview');
  server.send();
  await until('found', () => unread(tab) === 1);
  await sleep(70_000 * PACE);
  const polls = server.count('Overview') - before;
  assert.ok(polls >= 2 && polls <= 4, `${polls} polls`);
});

check('a server that says nothing any more is noticed', async (browser, server) => {
  browser.open();
  await up(server);
  server.isMute = true;
  await until('another', () => server.connections.length > 1, 60_000 * PACE);
});

check('503, HTML and 429 are waited for', async (browser, server) => {
  const tab = browser.open();
  const list = tab.store.inbox();
  server.instead = () => new Response('<html>', { status: 502 });
  list.subscribe(() => {});
  await until('offline', () => list.get().status === 'offline' && list.get().problem.code === 'OFFLINE');
  const errors = [{ message: 'slow down', extensions: { code: 'RATE_LIMITED', retryAfter: 20 } }];
  server.instead = (name) => name === 'Inbox' && Response.json({ errors }, { status: 429 });
  await until('limited', () => list.get().problem?.code === 'RATE_LIMITED', 3_000);
  const before = server.count('Inbox');
  await sleep(15_000 * PACE);
  assert.equal(server.count('Inbox'), before);
  server.instead = () => undefined;
  await until('ready', () => list.get().status === 'ready' && !list.get().problem);
});
