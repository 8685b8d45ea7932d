// Tests that every client with a store must pass; all devices have the same few functions.

import assert from 'node:assert/strict';

import { until } from './report.mjs';
import { fresh, shown } from './visible.mjs';

/** Loads a device and compares its store with the server. */
async function loaded(device) {
  await device.load();
  await same(device);
}

async function same(device) {
  assert.deepEqual(shown(device.look()), await fresh(device.world));
}

const chat = { code: 'chat', externalId: '7' };
const feed = { code: 'feed', externalId: '7' };
const order = { type: 'order', externalId: '7' };
const document = { type: 'document', externalId: '7' };

/** A user, two views and two targets that all have the external id "7" do not get mixed up. */
export async function sevens(device) {
  const { world } = device;
  await world.message('news', 'from 7', '7');
  for (const key of [chat, feed]) await world.join(key);
  await world.activity(chat);
  for (let times = 0; times < 2; times += 1) await world.activity(feed);
  const subscribe = `mutation($order: SubscribeTopicInput!, $document: SubscribeTopicInput!) {
    order: subscribeTopic(input: $order) { createdCount }
    document: subscribeTopic(input: $document) { createdCount }
    followUser(user: "7") { user { id } }
  }`;
  const what = { actions: ['comment'] };
  await world.ask(subscribe, { order: { target: order, what }, document: { target: document, what } });
  await world.remind('alarm', 'about order 7', order, 'comment');
  await loaded(device);

  const seen = device.look();
  const ids = [
    ...seen.views.map((view) => ['InboxView', view.id]),
    ...seen.subscriptions.edges.map(({ node }) => ['TopicTarget', node.target.id]),
    ['User', '7'],
    ['Viewer', seen.id],
  ];
  assert.equal(ids.length, 6);
  for (const [type, id] of ids) assert.ok(device.record(type, id), `there is no ${type} ${id}`);
  const unread = () => Object.fromEntries(device.look().views.map((view) => [view.code, view.unread.count]));
  assert.deepEqual(unread(), { chat: 1, feed: 2 });
  await device.mutate('visitView', { key: chat });
  assert.deepEqual(unread(), { chat: 0, feed: 2 });
  await same(device);
}

const ids = (count) => (device) => {
  const items = device.look().inbox.edges.map(({ node }) => node);
  return { select: { ids: items.filter(({ type }) => type.code === 'news').slice(0, count).map(({ id }) => id) } };
};

/** Mutations in order, with their variables and further checks of the response. */
const MUTATIONS = [
  ['markRead', ids(3), ({ changedCount, items }) => assert.deepEqual([changedCount, items.length], [3, 3])],
  ['markUnread', ids(2), ({ changedCount, items }) => assert.deepEqual([changedCount, items.length], [2, 2])],
  ['archiveItems', ids(2), ({ changedCount }) => assert.equal(changedCount, 2)],
  ['unarchiveItems', ids(1), ({ changedCount }) => assert.equal(changedCount, 1)],
  ['deleteItems', ids(2), ({ deletedIds }, { select }, device) => {
    assert.deepEqual([...deletedIds].sort(), [...select.ids].sort());
    for (const id of deletedIds) assert.equal(device.record('InboxItem', id) ?? null, null);
  }],
  ['subscribeTopic', { input: { target: order, what: { actions: ['comment', 'like'] } } },
    ({ createdCount }) => assert.equal(createdCount, 2)],
  ['subscribeTopic', { input: { target: order, what: { actions: ['like', 'share'] } } },
    ({ createdCount, subscriptions }) => assert.deepEqual([createdCount, subscriptions.length], [1, 2])],
  ['subscribeTopic', { input: { target: document, what: { reason: 'owner' } } },
    ({ createdCount }) => assert.equal(createdCount, 2)],
  ['unsubscribeTopic', { input: { target: order, what: { actions: ['like', 'never'] } } },
    ({ removedCount, deletedIds }) => assert.deepEqual([removedCount, deletedIds.length], [1, 1])],
  ['unsubscribeTopic', { input: { target: order, what: { everything: true } } },
    ({ removedCount, deletedIds }) => assert.deepEqual([removedCount, deletedIds.length], [2, 2])],
  ['followUser', { user: 'bob' }, () => {}],
  ['followUser', { user: '7' }, () => {}],
  ['unfollowUser', { user: 'bob' }, () => {}],
  ['updatePreferences', { types: [{ code: 'news', enabled: false }], actions: [{ code: 'like', enabled: false }] }, () => {}],
  ['updatePreferences', { types: [{ code: 'talk', enabled: true }], resetTypes: ['news'], resetActions: ['like'] }, () => {}],
  ['visitView', { key: feed }, ({ view }) => assert.equal(view.unread.count, 0)],
  ['visitView', { key: { code: 'chat', externalId: 'new' } }, ({ view }) => assert.equal(view.unread.count, 0)],
  ['joinView', { key: chat }, ({ view }) => assert.deepEqual([view.code, view.externalId], ['chat', '7'])],
  ['leaveView', { key: chat }, ({ view }) => assert.equal(view.unread.count, 0)],
];

/** After each mutation, with just one request, the store matches the server. */
export async function mutations(device) {
  const { world } = device;
  for (let number = 0; number < 6; number += 1) await world.message('news', `news ${number}`);
  await world.message('talk', 'talk');
  await world.join(feed);
  await world.activity(feed);
  await loaded(device);
  for (const [name, given, check] of MUTATIONS) {
    const variables = typeof given === 'function' ? given(device) : given;
    const before = device.requests;
    try {
      const answer = await device.mutate(name, variables);
      check(answer, variables, device);
      await same(device);
      assert.equal(device.requests - before, 1, 'there was more than one request');
    } catch (error) {
      throw new Error(`${name}(${JSON.stringify(variables)}): ${error.message}`, { cause: error });
    }
  }
}

/** Seeing the inbox: AUTO types become read, and nothing is unseen. */
export async function seen(device) {
  const { world } = device;
  await world.message('talk', 'talk');
  await world.message('news', 'news');
  await loaded(device);
  for (const [variables, unread, unseen] of [[{ type: 'talk' }, 1, 2], [{}, 1, 0]]) {
    const before = device.requests;
    await device.mutate('markSeen', variables);
    const { overview } = device.look();
    assert.deepEqual([overview.unread.count, overview.unseen.count], [unread, unseen]);
    assert.deepEqual(shown(device.look()).overview, (await fresh(world)).overview);
    assert.equal(device.requests - before, 1);
  }
}

/** An overview with capped counts must not overwrite the exact ones: a view has only one `unread` record. */
export async function capped(device) {
  const { world } = device;
  await world.join(chat);
  for (let times = 0; times < 5; times += 1) await world.activity(chat);
  await loaded(device);
  await device.loadCapped();
  assert.deepEqual(device.look().views.map(({ unread }) => unread.count), [5]);
  await same(device);
}

/** A device that only subscribes: its store follows the changes of others. */
export async function listening(device) {
  const { world } = device;
  await world.join(chat);
  await loaded(device);
  const before = device.requests;
  device.hear('overviewChanged');
  device.hear('itemReceived', { after: device.look().overview.cursor });
  const follows = async (unread, total) => {
    await until(async () => {
      const { overview } = device.look();
      assert.deepEqual([overview.unread.count, overview.total.count], [unread, total]);
    });
    assert.deepEqual(shown(device.look()).overview, (await fresh(world)).overview);
  };
  await until(() => assert.ok(device.heard.has('overviewChanged'), 'nothing is heard'));
  await world.message('news', 'one');
  await world.announce('alarm', 'two');
  await follows(2, 2);
  await world.activity(chat);
  await follows(2, 3);
  await until(async () => assert.deepEqual(shown(device.look()).items, (await fresh(world)).items));
  await world.mark('markRead', { matching: { types: ['news'] } });
  await follows(1, 2);
  assert.equal(device.requests, before, 'it asked');
}

/** All edges of one of the viewer's connections, read directly from the server. */
async function all({ world }, field, selection, given = '') {
  const query = `{ viewer { all: ${field}(first: 200${given}) { edges { cursor node { ${selection} } } } } }`;
  return (await world.read(query)).viewer.all.edges;
}

/** Loads pages in one direction until the end. */
async function toEnd(pages, direction, count) {
  const there = direction === 'forward' ? 'hasNextPage' : 'hasPreviousPage';
  for (let times = 0; pages.pageInfo[there]; times += 1) {
    assert.ok(times < 100, `pages ${direction} do not end`);
    await pages.more(direction, count);
  }
}

/** Pages through a connection from its start, middle and end; the list must be the same each time. */
async function bothWays(device, field, selection, given = '', variables = {}) {
  const edges = await all(device, field, selection, given);
  const ids = edges.map(({ node }) => node.id);
  const shows = (pages, ids) => assert.deepEqual(pages.nodes.map(({ id }) => id), ids);

  const down = await device.another().pages(field, variables);
  shows(down, ids.slice(0, down.nodes.length));
  assert.ok(down.nodes.length > 0 && down.pageInfo.hasNextPage && !down.pageInfo.hasPreviousPage);
  const { first, after, last, before } = await down.more('forward', 2);
  assert.deepEqual([first, after, last, before], [2, after, null, null]);
  await toEnd(down, 'forward', 3);
  shows(down, ids);
  assert.equal(down.pageInfo.hasPreviousPage, false);

  const middle = Math.floor(ids.length / 2);
  const from = await device.another().pages(field, { ...variables, after: edges[middle - 1].cursor });
  assert.equal(from.nodes[0].id, ids[middle]);
  assert.equal(from.pageInfo.hasPreviousPage, true);
  const back = await from.more('backward', 2);
  assert.deepEqual([back.first, back.after, back.last, back.before], [null, null, 2, back.before]);
  assert.equal(from.nodes[0].id, ids[middle - 2]);
  await from.more('forward', 1);
  await toEnd(from, 'backward', 3);
  await toEnd(from, 'forward', 3);
  shows(from, ids);

  const up = await device.another().pages(field, { ...variables, first: null, last: 4 });
  shows(up, ids.slice(-4));
  assert.ok(up.pageInfo.hasPreviousPage && !up.pageInfo.hasNextPage);
  await toEnd(up, 'backward', 3);
  shows(up, ids);
}

const archived = (state) => [`, filter: { state: ${state} }`, { filter: { state } }];

/** An inbox and its archive in both directions; a store must keep them apart. */
export async function inboxPages(device) {
  const { world } = device;
  for (let number = 0; number < 17; number += 1) await world.message('news', `news ${number}`);
  const items = await all(device, 'inbox', 'id title');
  assert.deepEqual(items.map(({ node }) => node.title), items.map((_, place) => `news ${16 - place}`));
  const ids = items.filter((_, place) => place % 2 === 0).map(({ node }) => node.id);
  await world.mark('archiveItems', { ids });
  await bothWays(device, 'inbox', 'id');
  await bothWays(device, 'inbox', 'id', ...archived('ARCHIVED'));
  await bothWays(device, 'inbox', 'id', ...archived('ALL'));
}

/** Subscriptions and follows of a user in both directions. */
export async function otherPages(device) {
  const { world } = device;
  const actions = ['comment', 'like', 'share', 'move', 'close', 'open', 'rename', 'sign', 'print'];
  const input = { target: order, what: { actions } };
  await world.ask('mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }', { input });
  for (let number = 0; number < 9; number += 1) {
    await world.ask('mutation($user: ID!) { followUser(user: $user) { user { id } } }', { user: `user ${number}` });
  }
  await bothWays(device, 'subscriptions', 'id');
  await bothWays(device, 'following', 'id');
}
