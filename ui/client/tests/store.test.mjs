// The store's visible state, and the requests that it makes for it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { FakeTidings, token } from './support/fake.mjs';
import { PACE, until, withBrowser } from './support/browser.mjs';

const unread = ({ store }) => store.overview.get().unread.count;
const ids = (list) => list.get().items.map(({ id }) => id);
const fake = () => new FakeTidings();
const check = (name, work) => test(name, { timeout: 20_000 }, withBrowser(fake, work));

/** A list with a subscriber. */
function shown(tab, filter) {
  const list = tab.store.inbox(filter);
  list.subscribe(() => {});
  return list;
}

check('it shows what is there, and what comes', async (browser, server) => {
  server.send();
  const tab = browser.open();
  assert.equal(tab.store.overview.get().status, 'loading');
  const list = shown(tab);
  await until('ready', () => tab.store.overview.get().status === 'ready' && list.get().items.length === 1);
  assert.equal(unread(tab), 1);
  assert.deepEqual(tab.heard, [], 'what a page had is not new');
  const id = server.send('b');
  await until('came', () => unread(tab) === 2 && list.get().items.length === 2 && tab.heard.length > 0);
  assert.deepEqual(tab.heard, [id]);
  assert.deepEqual(ids(list), ['i2', 'i1']);
  assert.equal(tab.callbacks, 1);
  assert.equal(tab.store.overview.get().types[1].latest.title, 'title 2');
});

check('nothing is asked before somebody subscribes, and nothing goes on after the last has gone', async (browser, server) => {
  const tab = browser.open({ watched: false });
  await sleep(30);
  assert.equal(tab.callbacks + server.requests.length, 0);
  const leave = tab.store.overview.subscribe(() => {});
  await until('up', () => server.sockets.size === 1);
  leave();
  leave();
  await until('rests', () => server.sockets.size === 0);
  tab.store.overview.subscribe(() => {});
  await until('up again', () => server.sockets.size === 1);
});

check('what has not changed stays the same object', async (browser, server) => {
  for (let n = 0; n < 3; n++) server.send();
  const tab = browser.open();
  const list = shown(tab);
  await until('shown', () => list.get().items.length === 3 && tab.store.overview.get().status === 'ready');
  const [before, overview] = [list.get(), tab.store.overview.get()];
  await list.refresh();
  assert.equal(list.get().items, before.items);
  assert.equal(list.get(), list.get());
  assert.equal(tab.store.overview.get(), overview);
  assert.equal(tab.store.inbox({}), list);
  assert.equal(tab.store.inbox({ types: ['b', 'a'] }), tab.store.inbox({ types: ['a', 'b'], read: undefined }));
  const [, second] = before.items;
  await tab.store.markRead({ ids: ['i3'] });
  await until('marked', () => list.get().items[0].isRead);
  assert.equal(list.get().items[1], second);
});

check('a list has pages of 30, and 500 items at the most', async (browser, server) => {
  for (let n = 0; n < 620; n++) server.send();
  const tab = browser.open();
  const list = shown(tab);
  await until('a page', () => list.get().items.length === 30);
  assert.ok(list.get().hasMore);
  await Promise.all([list.fetchMore(), list.fetchMore()]);
  assert.equal(list.get().items.length, 90);
  for (let n = 0; n < 20; n++) await list.fetchMore();
  assert.equal(list.get().items.length, 500);
  assert.equal(list.get().hasMore, false);
  await list.refresh();
  assert.deepEqual(ids(list), server.list().slice(0, 500).map(({ id }) => id));
  assert.equal(new Set(ids(list)).size, 500);
});

check('types of the store bound what is listed and counted', async (browser, server) => {
  server.send('a');
  server.send('b');
  const tab = browser.open({ types: ['b'] });
  const [all, none] = [shown(tab), shown(tab, { types: ['a'] })];
  await until('shown', () => unread(tab) === 1 && all.get().status === 'ready' && none.get().status === 'ready');
  assert.deepEqual([ids(all), ids(none)], [['i2'], []]);
});

check('a mark is shown at once, its numbers come from the server, and other tabs have it too', async (browser, server) => {
  for (let n = 0; n < 3; n++) server.send();
  const [tab, other] = [browser.open(), browser.open()];
  const lists = [shown(tab), shown(other), shown(tab, { read: false }), shown(tab, { state: 'ARCHIVED' })];
  await until('shown', () => lists.slice(0, 3).every((list) => list.get().items.length === 3) && unread(other) === 3);
  await sleep(30);
  server.delay = () => 5;
  const marking = tab.store.markRead({ ids: ['i2'] });
  assert.deepEqual(lists[0].get().items.map(({ isRead }) => isRead), [false, true, false]);
  assert.deepEqual(ids(lists[2]), ['i3', 'i1']);
  assert.equal(unread(tab), 3);
  await marking;
  await until('counted', () => unread(tab) === 2);
  await until('others', () => unread(other) === 2 && lists[1].get().items[1].isRead);
  await tab.store.archive({ ids: ['i3'] });
  assert.deepEqual(ids(lists[0]), ['i2', 'i1']);
  await until('archived', () => ids(lists[3]).join() === 'i3' && ids(lists[1]).join() === 'i2,i1');
  await tab.store.unarchive({ ids: ['i3'] });
  await until('back', () => ids(lists[0]).join() === 'i3,i2,i1' && lists[3].get().items.length === 0);
  await tab.store.remove({ ids: ['i1'] });
  await until('gone', () => lists.every((list) => !ids(list).includes('i1')));
});

check('a mark of everything up to an item leaves what came later', async (browser, server) => {
  for (let n = 0; n < 4; n++) server.send(n % 2 ? 'b' : 'a');
  const tab = browser.open();
  const list = shown(tab);
  await until('shown', () => list.get().items.length === 4);
  server.delay = () => 5;
  const seen = [];
  list.subscribe(() => seen.push(list.get().items.map(({ isRead }) => +isRead).join('')));
  const marking = tab.store.markRead({ types: ['a'], upTo: list.get().items[0].cursor });
  assert.deepEqual(list.get().items.map(({ isRead }) => isRead), [false, true, false, true]);
  server.send('a');
  await marking;
  await until('settled', () => list.get().items.length === 5 && unread(tab) === 3);
  assert.deepEqual(list.get().items.map(({ isRead }) => isRead), [false, false, true, false, true]);
  assert.ok(seen.every((one) => one.endsWith('0101')), `it never went back: ${seen}`);
});

check('a mark that fails is undone, and thrown', async (browser, server) => {
  server.send();
  const tab = browser.open();
  const list = shown(tab);
  await until('shown', () => list.get().items.length === 1);
  server.instead = (name) => name === 'MarkRead' && Response.json({ errors: [{ message: 'no', extensions: { code: 'NOT_FOUND' } }] });
  const marking = tab.store.markRead({ ids: ['i1'] });
  assert.equal(list.get().items[0].isRead, true);
  await assert.rejects(marking, { code: 'NOT_FOUND', message: 'no' });
  assert.equal(list.get().items[0].isRead, false);
  assert.equal(server.count('MarkRead'), 1);
});

check('a mark whose answer was lost is made once more, and marks keep their order', async (browser, server) => {
  server.send();
  const tab = browser.open();
  const list = shown(tab);
  await until('shown', () => list.get().items.length === 1);
  let lost = 0;
  server.losesAnswer = (name) => name === 'MarkRead' && lost++ === 0;
  await Promise.all([tab.store.markRead({ ids: ['i1'] }), tab.store.markUnread({ ids: ['i1'] })]);
  assert.deepEqual(server.requests.filter((name) => name.startsWith('Mark')), ['MarkRead', 'MarkRead', 'MarkUnread']);
  assert.equal(server.items[0].isRead, false);
  await until('settled', () => !list.get().items[0].isRead && unread(tab) === 1);
});

check('what the server told before a mark does not bring old numbers back', async (browser, server) => {
  server.send();
  const tab = browser.open();
  await until('up', () => server.after.length === 1 && unread(tab) === 1);
  await sleep(30);
  const seen = [];
  tab.store.overview.subscribe(() => seen.push(unread(tab)));
  // An event takes longer than the mark and its response.
  server.delay = () => 0;
  server.mergeMillis = 0;
  const [socket] = server.sockets;
  const old = server.overview();
  const marking = tab.store.markRead({ ids: ['i1'] });
  await marking;
  socket.onmessage({ data: JSON.stringify({ type: 'next', id: 'o', payload: { data: { overviewChanged: { overview: old } } } }) });
  await sleep(40);
  assert.deepEqual(seen.filter((count, place) => count !== seen[place - 1]).slice(0, 1), [0]);
});

check('a change that was undone before the server could tell of it is asked for', async (browser, server) => {
  server.send();
  const tab = browser.open();
  await until('up', () => server.after.length === 1 && unread(tab) === 1);
  await sleep(30);
  server.mergeMillis = 30;
  const marking = tab.store.markRead({ ids: ['i1'] });
  await marking;
  assert.equal(unread(tab), 0);
  // Another device reverts the mark: the server has no change to send.
  server.mark('unread', ['i1']);
  await until('right', () => unread(tab) === 1);
});

check('1,000 sends are few readings', async (browser, server) => {
  const tab = browser.open();
  const list = shown(tab);
  await until('up', () => tab.store.overview.get().status === 'ready' && list.get().status === 'ready');
  await sleep(30);
  server.requests.length = 0;
  const began = Date.now();
  for (let n = 0; n < 1000; n++) {
    server.send();
    if (n % 10 === 0) await sleep(1);
  }
  await until('all', () => unread(tab) === 1000 && ids(list)[0] === 'i1000');
  // After 1, 2 and 4 s, then every 5 s.
  const most = 6 + (Date.now() - began) / 5_000;
  assert.ok(server.count('Inbox') <= most, `${server.count('Inbox')} readings`);
  assert.equal(server.count('Overview'), 0);
  assert.equal(tab.heard.length, 1000);
});

check('a list that nobody sees is not read, and is current when it is shown', async (browser, server) => {
  const tab = browser.open();
  const list = shown(tab);
  await until('up', () => list.get().status === 'ready' && unread(tab) === 0);
  await sleep(30);
  tab.page.tell('hidden');
  const before = server.count('Inbox');
  server.send();
  await until('counted', () => unread(tab) === 1);
  await sleep(50);
  assert.equal(server.count('Inbox'), before);
  tab.page.tell('shown');
  await until('read', () => list.get().items.length === 1);
});

check('changes that no count shows are found in a minute', async (browser, server) => {
  server.send();
  server.mark('read', [server.send()]);
  server.send();
  const tab = browser.open();
  const list = shown(tab);
  await until('shown', () => list.get().items.length === 3);
  server.mark('remove', ['i2']);
  await until('gone', () => ids(list).join() === 'i3,i1', 3 * 60_000 * PACE);
});

check('preferences are shown at once, and in other tabs', async (browser) => {
  const [tab, other] = [browser.open(), browser.open()];
  for (const { store } of [tab, other]) store.preferences.subscribe(() => {});
  const wanted = ({ store }) => store.preferences.get().types.map(({ isWanted }) => isWanted).join();
  await until('read', () => wanted(tab) === 'true,true' && wanted(other) === 'true,true');
  const setting = tab.store.preferences.set('a', false);
  assert.equal(wanted(tab), 'false,true');
  await setting;
  assert.equal(wanted(tab), 'false,true');
  await until('others', () => wanted(other) === 'false,true');
  browser.server.instead = (name) => name === 'UpdatePreferences' && Response.json({ errors: [{ message: 'mandatory', extensions: { code: 'BAD_USER_INPUT' } }] });
  await assert.rejects(tab.store.preferences.set('b', false), { code: 'BAD_USER_INPUT' });
  assert.equal(wanted(tab), 'false,true');
});

check('what listeners throw ends nothing', async (browser, server) => {
  const tab = browser.open();
  const thrown = [];
  const report = (error) => thrown.push(error.message);
  process.on('uncaughtException', report);
  const listeners = process.listeners('uncaughtException').filter((one) => one !== report);
  listeners.forEach((one) => process.off('uncaughtException', one));
  try {
    tab.store.onItem(() => {
      throw new Error('of a listener');
    });
    const heard = [];
    tab.store.onItem(({ id }) => heard.push(id));
    await until('up', () => server.sockets.size === 1 && unread(tab) === 0 && tab.store.overview.get().status === 'ready');
    await sleep(20);
    server.send();
    await until('heard', () => heard.length === 1);
    await until('reported', () => thrown.includes('of a listener'));
  } finally {
    listeners.forEach((one) => process.on('uncaughtException', one));
    process.off('uncaughtException', report);
  }
});

check('what the server does not want to answer is shown as a problem', async (browser, server) => {
  const errors = [{ message: 'no such type', extensions: { code: 'BAD_USER_INPUT', field: 'types' } }];
  server.instead = () => Response.json({ errors });
  const tab = browser.open({ types: ['x'], around: { WebSocket: undefined } });
  await until('told', () => tab.store.overview.get().problem?.code === 'BAD_USER_INPUT');
  assert.deepEqual(tab.problems, [{ code: 'BAD_USER_INPUT', message: 'no such type' }]);
  server.instead = () => undefined;
  await until('ready', () => tab.store.overview.get().status === 'ready' && !tab.store.overview.get().problem);
});

check('a mark that waits when somebody signs out is not made again', async (browser, server) => {
  server.send();
  const tab = browser.open();
  await until('ready', () => tab.store.overview.get().status === 'ready');
  server.delay = () => 20;
  const marking = tab.store.markRead({ ids: ['i1'] });
  await sleep(5);
  tab.store.signOut();
  await assert.rejects(marking, { code: 'UNAUTHENTICATED' });
  await sleep(100);
  assert.deepEqual([server.count('MarkRead'), tab.callbacks], [1, 1]);
});

/** Goes offline: requests fail and sockets close. */
async function goOffline(tab, server) {
  server.isAway = true;
  server.closeAll();
  await until('offline', () => tab.store.overview.get().status === 'offline');
  server.requests.length = 0;
}

/** Waits until a mark was attempted and waits for a retry. A mark in flight takes no more ids. */
async function failed(server) {
  await until('tried', () => marksOf(server).length > 0);
  await sleep(5);
}

/** The marks that reached the server, in order. */
const marksOf = (server) => server.requests.filter((name) => /^(Mark|Archive|Unarchive|Delete)/.test(name));

check('marks made offline stay on the screen, and are sent in their order when the network is back', async (browser, server) => {
  for (let n = 0; n < 5; n++) server.send();
  const tab = browser.open();
  const [list, archive] = [shown(tab), shown(tab, { state: 'ARCHIVED' })];
  await until('shown', () => list.get().items.length === 5 && archive.get().status === 'ready');
  await goOffline(tab, server);
  const settled = [];
  const marks = [
    tab.store.markRead({ ids: ['i1'] }), tab.store.archive({ ids: ['i2'] }), tab.store.remove({ ids: ['i3'] }),
    tab.store.markRead({ upTo: list.get().items[0].cursor }), tab.store.markUnread({ ids: ['i5'] }), tab.store.unarchive({ ids: ['i2'] }),
  ];
  marks.forEach((mark, place) => mark.finally(() => settled.push(place)));
  const states = () => list.get().items.map(({ id, isRead }) => `${id} ${isRead ? 'read' : 'unread'}`).join();
  const wanted = 'i5 unread,i4 read,i2 read,i1 read';
  assert.equal(states(), wanted);
  await sleep(60_000 * PACE);
  assert.deepEqual([states(), settled, tab.store.overview.get().status], [wanted, [], 'offline'], 'they wait, and are shown');
  assert.equal(server.items.every(({ isRead }) => !isRead), true);
  server.requests.length = 0;
  server.isAway = false;
  tab.page.tell('online');
  await Promise.all(marks);
  assert.deepEqual(settled, [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(marksOf(server), ['MarkRead', 'ArchiveItems', 'DeleteItems', 'MarkRead', 'MarkUnread', 'UnarchiveItems']);
  const has = server.items.map(({ id, isRead, isArchived }) => `${id} ${isRead} ${isArchived}`);
  assert.deepEqual(has, ['i5 false false', 'i4 true false', 'i2 false false', 'i1 true false']);
  await until('the answers', () => tab.store.overview.get().status === 'ready' && unread(tab) === 2);
});

check('marks that wait and do the same are sent as one, but not past another', async (browser, server) => {
  for (let n = 0; n < 4; n++) server.send();
  const tab = browser.open();
  const list = shown(tab);
  await until('shown', () => list.get().items.length === 4);
  await goOffline(tab, server);
  const asked = [];
  const marks = [tab.store.markRead({ ids: ['i1'] })];
  await failed(server);
  for (const id of ['i2', 'i3']) marks.push(tab.store.markRead({ ids: [id] }));
  marks.push(tab.store.markUnread({ ids: ['i1'] }), tab.store.markRead({ ids: ['i4'] }));
  server.instead = (name, { select }) => void (/^Mark/.test(name) && asked.push([name, select.ids.join()]));
  server.isAway = false;
  tab.page.tell('online');
  await Promise.all(marks);
  assert.deepEqual(asked, [['MarkRead', 'i1,i2,i3'], ['MarkUnread', 'i1'], ['MarkRead', 'i4']]);
  await until('settled', () => unread(tab) === 1);
});

check('no more ids than the server takes are sent as one', async (browser, server) => {
  const tab = browser.open();
  await until('ready', () => tab.store.overview.get().status === 'ready');
  await goOffline(tab, server);
  const counts = [];
  const ids = (from, count) => Array.from({ length: count }, (_, n) => `x${from + n}`);
  const marks = [tab.store.markRead({ ids: ids(0, 600) })];
  await failed(server);
  for (const more of [ids(600, 400), ids(1000, 1)]) marks.push(tab.store.markRead({ ids: more }));
  server.instead = (name, { select }) => void (name === 'MarkRead' && counts.push(select.ids.length));
  server.isAway = false;
  tab.page.tell('online');
  await Promise.all(marks);
  assert.deepEqual(counts, [1000, 1]);
});

check('a mark that the server refuses after it has waited is undone and thrown, and those behind it are sent', async (browser, server) => {
  for (let n = 0; n < 2; n++) server.send();
  const tab = browser.open();
  const list = shown(tab);
  await until('shown', () => list.get().items.length === 2);
  await goOffline(tab, server);
  const [refused, taken] = [tab.store.archive({ ids: ['i1'] }), tab.store.markRead({ ids: ['i2'] })];
  assert.deepEqual(ids(list), ['i2']);
  server.instead = (name) => name === 'ArchiveItems' && Response.json({ errors: [{ message: 'no', extensions: { code: 'BAD_USER_INPUT' } }] });
  server.isAway = false;
  tab.page.tell('online');
  await assert.rejects(refused, { code: 'BAD_USER_INPUT' });
  await taken;
  await until('undone', () => ids(list).join() === 'i2,i1');
  assert.equal(server.count('ArchiveItems') >= 1, true);
});

check('what another device has done meanwhile is what the server says in the end', async (browser, server) => {
  for (let n = 0; n < 4; n++) server.send();
  const tab = browser.open();
  const [list, archive] = [shown(tab), shown(tab, { state: 'ARCHIVED' })];
  await until('shown', () => list.get().items.length === 4 && archive.get().status === 'ready');
  await goOffline(tab, server);
  const marks = [
    tab.store.markRead({ ids: ['i1'] }), tab.store.unarchive({ ids: ['i2'] }), tab.store.markRead({ upTo: list.get().items[1].cursor }),
  ];
  // The other device has deleted two items and archived one, and a new one has arrived.
  server.mark('remove', ['i1', 'i2']);
  server.mark('archive', ['i4']);
  server.send();
  server.isAway = false;
  tab.page.tell('online');
  await Promise.all(marks);
  await until('the server\'s', () => ids(list).join() === 'i5,i3' && ids(archive).join() === 'i4' && unread(tab) === 1);
  assert.deepEqual(list.get().items.map(({ isRead }) => isRead), [false, true], 'what has come since is unread');
});

check('a busy server and a limit are waited for, as long as the server says', async (browser, server) => {
  server.send();
  const tab = browser.open();
  const list = shown(tab);
  await until('shown', () => list.get().items.length === 1);
  const answers = [
    new Response('<html>', { status: 503 }),
    Response.json({ errors: [{ message: 'busy', extensions: { code: 'UNAVAILABLE' } }] }),
    Response.json({ errors: [{ message: 'slow down', extensions: { code: 'RATE_LIMITED', retryAfter: 20 } }] }, { status: 429 }),
  ];
  const times = [];
  server.instead = (name) => (name === 'MarkRead' && times.push(Date.now()) ? answers.shift() : undefined);
  await tab.store.markRead({ ids: ['i1'] });
  assert.equal(times.length, 4);
  assert.ok(times[3] - times[2] >= 19_000, `${times[3] - times[2]} ms`);
  assert.equal(server.items[0].isRead, true);
});

check('marks that wait try ever more seldom, and go on when nobody subscribes any more', async (browser, server) => {
  server.send();
  const tab = browser.open({ watched: false });
  const leave = tab.store.inbox().subscribe(() => {});
  await until('shown', () => tab.store.inbox().get().items.length === 1);
  await goOffline(tab, server);
  const mark = tab.store.markRead({ ids: ['i1'] });
  leave();
  await sleep(60_000 * PACE);
  // At once, then after 2, 4, 8, 16 and 30 s, each shortened by jitter to no less than half.
  const tries = server.count('MarkRead');
  assert.ok(tries >= 4 && tries <= 8, `${tries} tries in a minute`);
  server.isAway = false;
  await mark;
  assert.equal(server.items[0].isRead, true);
});

check('marks that wait are never sent as another user', async (browser, server) => {
  server.send();
  let sub = 'ada';
  let seconds = 5;
  const tab = browser.open({ callback: () => token(sub, { seconds }) });
  const list = shown(tab);
  await until('shown', () => list.get().items.length === 1);
  await goOffline(tab, server);
  const mark = tab.store.markRead({ ids: ['i1'] });
  mark.catch(() => {});
  // Ada's token has expired, and now ben is signed in.
  [sub, seconds] = ['ben', 3600];
  await sleep(6_000 * PACE);
  server.requests.length = 0;
  server.isAway = false;
  tab.page.tell('online');
  await assert.rejects(mark, { code: 'UNAUTHENTICATED' });
  await until('ready', () => tab.store.overview.get().status === 'ready');
  await sleep(60_000 * PACE);
  assert.deepEqual(marksOf(server), []);
});

check('marks that wait are dropped at sign-out', async (browser, server) => {
  server.send();
  const tab = browser.open();
  await until('ready', () => tab.store.overview.get().status === 'ready');
  await goOffline(tab, server);
  const marks = [tab.store.markRead({ ids: ['i1'] }), tab.store.archive({ ids: ['i1'] })];
  tab.store.signOut();
  for (const mark of marks) await assert.rejects(mark, { code: 'UNAUTHENTICATED' });
  server.isAway = false;
  server.requests.length = 0;
  await sleep(60_000 * PACE);
  assert.deepEqual(server.requests, []);
});
