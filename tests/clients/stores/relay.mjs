// Tidings in Relay's store: relay-compiler with this repository's schema, relay-runtime with a real server
// (`TIDINGS_BIN`, default: the debug build). `TIDINGS_SEED` repeats a random walk.

import assert from 'node:assert/strict';

import { compile } from './relay/compile.mjs';
import { Device } from './relay/device.mjs';
import { Report } from './report.mjs';
import { capped, inboxPages, listening, mutations, otherPages, seen, sevens } from './scenarios.mjs';
import { seed, walk } from './walk.mjs';
import { startServer, World } from './world.mjs';

const STEPS = 200;

const report = new Report('relay');
const texts = await compile({ persisted: false });
const ids = await compile({ persisted: true });
const server = await startServer();
const strict = await startServer({ TIDINGS_OPERATIONS: ids.persisted });

let tenants = 0;

/** Runs a test with devices in a new tenant. */
function test(name, run, { count = 1, on = server, compiled = texts } = {}) {
  return report.test(name, async () => {
    tenants += 1;
    const world = await World.of(on, `tenant-${tenants}`);
    const devices = Array.from({ length: count }, () => new Device(world, compiled));
    try {
      await run(...devices);
    } finally {
      await Promise.all(devices.map((device) => device.close()));
    }
  });
}

await test('an inbox and its archive are paged both ways', inboxPages);
await test('subscriptions and people are paged both ways', otherPages);

// The runtime replaces null by the default: it sends `first: 4` with `last: 2` and a cursor to page backwards.
await test('a default for `first` does not stand in the way back', async (device) => {
  for (let number = 0; number < 9; number += 1) await device.world.message('news', `news ${number}`);
  const down = await device.another().pages('defaults', {});
  await down.more('forward', 1);
  assert.deepEqual(down.nodes.map(({ title }) => title), [8, 7, 6, 5, 4].map((number) => `news ${number}`));
  const from = await device.pages('defaults', { after: down.pageInfo.endCursor });
  await from.more('backward', 2);
  assert.deepEqual(from.nodes.map(({ title }) => title), [5, 4, 3, 2, 1, 0].map((number) => `news ${number}`));
});

/** The types of nodes, and a visible object of each to refetch. */
const NODES = {
  item: ({ inbox }) => inbox.edges[0].node,
  view: ({ views }) => views[0],
  subscription: ({ subscriptions }) => subscriptions.edges[0].node,
  target: ({ subscriptions }) => subscriptions.edges[0].node.target,
  type: ({ inbox }) => inbox.edges[0].node.type,
  group: ({ groups }) => groups[0],
};

/** A user with one object of each type. */
async function full(world) {
  const input = { target: { type: 'order', externalId: '7' }, what: { actions: ['comment'] } };
  await world.asService('mutation { saveUserGroup(code: "crew", title: "Crew") { id } }');
  await world.asService('mutation { addUserGroupMembers(code: "crew", users: ["ada"]) { id } }');
  await world.ask('mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }', { input });
  await world.remind('news', 'one', input.target, 'comment');
  await world.join({ code: 'chat', externalId: '7' });
}

await test('every type of nodes is refetched by its id', async (device) => {
  await full(device.world);
  await device.load();
  for (const [name, of] of Object.entries(NODES)) {
    const { id } = of(device.look());
    assert.equal((await device.node(name, id)).id, id, name);
  }
  // Nothing tells the store about this change; refetching the item alone shows it.
  const { id } = NODES.item(device.look());
  await device.world.mark('markRead', { ids: [id] });
  assert.equal(NODES.item(device.look()).isRead, false);
  await device.node('item', id);
  assert.equal(NODES.item(device.look()).isRead, true);
});

/** All objects with a type and an id inside a response. */
function things(value) {
  if (value === null || typeof value !== 'object') return [];
  const own = value.__typename && value.id ? [[value.id, value.__typename]] : [];
  return [...own, ...Object.values(value).flatMap(things)];
}

await test('no id is that of two things', async ({ world }) => {
  await full(world);
  const own = `__typename id inbox { nodes { __typename id type { __typename id } target { __typename id } } }
    views { __typename id } subscriptions { nodes { __typename id target { __typename id } } } groups { __typename id }`;
  const seen = things([
    await world.ask(`{ viewer { ${own} } messageTypes { __typename id } }`),
    await world.asService(`{ inboxUser(id: "ada") { ${own} } sentNotifications { nodes { __typename id } } }`),
  ]);
  const types = new Map();
  for (const [id, type] of seen) types.set(id, new Set(types.get(id)).add(type));
  const known = new Set([...types.values()].flatMap((names) => [...names]));
  assert.equal(known.size, 9, [...known].join());
  for (const [id, names] of types) assert.equal(names.size, 1, `${id} is ${[...names].join(' and ')}`);
  for (const [id, [type]] of types) {
    const isOwn = type !== 'SentNotification' && type !== 'InboxUser';
    const ask = (query) => (isOwn ? world.ask(query, { id }) : world.asService(query, { id }));
    const { node } = await ask('query($id: ID!) { node(id: $id) { __typename id } }');
    assert.deepEqual(node, { __typename: type, id });
  }
});

await test('a user, views and targets called 7 are told apart', sevens);
await test('mutations change the store without a refetch', mutations);
await test('what was looked at is read and seen in the store', seen);
await test('counts that stop early leave the others', capped);
await test('a subscription changes the viewer in the store', listening);

const strictly = { on: strict, compiled: ids };
await test('persisted documents are asked for by ids', mutations, strictly);
await test('persisted subscriptions are heard by ids', listening, strictly);
await test('nothing but persisted documents is answered', async ({ world }) => {
  const refused = async (body) => {
    const headers = { authorization: `Bearer ${world.own}`, 'content-type': 'application/json' };
    const answer = await fetch(world.url, { method: 'POST', headers, body: JSON.stringify(body) });
    return (await answer.json()).errors[0].extensions.code;
  };
  assert.equal(await refused({ query: '{ viewer { id } }' }), 'FORBIDDEN');
  assert.equal(await refused({ id: '0'.repeat(64), variables: {} }), 'PERSISTED_QUERY_NOT_FOUND');
}, strictly);

const start = seed();
await test(`a random walk of ${STEPS} steps (TIDINGS_SEED=${start})`, (device, listener) => walk(device, listener, start, STEPS), {
  count: 2,
});

await Promise.all([server.remove(), strict.remove(), texts.remove(), ids.remove()]);
process.exit(report.close());
