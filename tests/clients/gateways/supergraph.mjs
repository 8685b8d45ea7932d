// Tidings next to a shop's subgraph: two composers build a supergraph of both, and two gateways serve it. `TIDINGS_BIN`
// names the binary.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

import { parse, print, visit } from 'graphql';
import { createClient } from 'graphql-sse';

import { BINARY, Server, token } from '../server.mjs';
import { COMPOSERS, sharedTypes } from './compose.mjs';
import { HIVE_LINES, startApollo, startHive } from './gateways.mjs';
import { SDL as SHOP, STRANGE, startShop } from './shop.mjs';

/** The time limit of every wait, in milliseconds. */
const PATIENCE = 15_000;

const OVERVIEW = '{ viewer { overview { unread { count exact } types { type { code } unread { count } } } } }';
const JOINED = '{ viewer { inbox { nodes { title sender { id name avatarUrl locale points group { discount } } } } } }';
const PROFILES = '{ users { nodes { id name avatarUrl locale points } pageInfo { hasNextPage } } groups { discount } }';
const OWN_NAMES = `mutation($input: SubscribeTopicInput!) {
  subscribe(newsletter: "tea") { newsletter }
  subscribeTopic(input: $input) { createdCount }
  archive(order: "1") { value }
}`;
const MARK = `mutation { markRead(select: { matching: {} }) {
  changedCount viewer { overview { unread { count } } }
} }`;

const OVERVIEW_CHANGED = 'subscription { overviewChanged { id overview(cap: 99) { unread { count exact } } } }';
const ITEM_RECEIVED = `subscription($after: String) { itemReceived(after: $after) {
  cursor node { title sender { id avatarUrl points } }
} }`;

const server = await Server.start();
const shop = await startShop();
const results = [];

/** Runs one check and records its result. */
async function check(name, holds) {
  try {
    await holds();
    results.push({ name, ok: true });
  } catch (error) {
    results.push({ name, ok: false });
    console.error(`WRONG ${name}\n${error.stack}`);
  }
}

async function post(url, credentials, query, variables = {}) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(credentials && { authorization: `Bearer ${credentials}` }) },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(PATIENCE),
  });
  return answer.json();
}

async function ask(url, credentials, query, variables) {
  const { data, errors } = await post(url, credentials, query, variables);
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

const service = (tenant) => token(tenant, 'shop', 'service');

/** A new tenant: one type, profiles of Ada and Bob, and a message from Ada to Bob. */
async function tenant(name) {
  const define = 'mutation { saveMessageType(input: { code: "news", title: "News" }) { code } saveTargetType(code: "order", subscriptionPolicy: OPEN) { code } }';
  await server.ask(token(name, 'operator', 'admin'), define);
  const profiles = ['ada', 'bob'].map((id) => ({ id, name: `${id} of Tidings`, avatarUrl: `/${id}.png`, locale: 'en' }));
  const save = 'mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }';
  await server.ask(service(name), save, { inputs: profiles });
  await message(name, 'Hello');
  return { name, bob: token(name, 'bob') };
}

async function message(tenant, title) {
  const send = 'mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed } }';
  const input = { type: 'news', sender: 'ada', receiver: 'bob', content: { title } };
  await server.ask(service(tenant), send, { input });
}

const addressOf = () => `http://127.0.0.1:${server.port}/graphql`;

const subgraphs = () => [
  { name: 'tidings', url: addressOf(), sdl: execFileSync(BINARY, ['schema', '--federation'], { encoding: 'utf8' }) },
  { name: 'shop', url: shop.url, sdl: SHOP },
];

/** A schema with its parts in a canonical order. */
function sorted(sdl) {
  const inOrder = (nodes) => [...nodes].sort((one, other) => (print(one) < print(other) ? -1 : 1));
  const leave = (node) => {
    const lists = Object.entries(node).filter(([, value]) => Array.isArray(value));
    return { ...node, ...Object.fromEntries(lists.map(([name, nodes]) => [name, inOrder(nodes)])) };
  };
  return print(visit(parse(sdl), { leave }));
}

/** Checks of each composed supergraph. */
async function composed() {
  const supergraphs = {};
  for (const [name, compose] of Object.entries(COMPOSERS)) {
    await check(`${name} composes it, and only what is meant to be shared is`, () => {
      supergraphs[name] = compose(subgraphs());
      const own = sharedTypes(supergraphs[name]).filter((type) => !/^(join|link)__/.test(type));
      assert.deepEqual(own, ['DateTime', 'JSON', 'Mutation', 'Node', 'PageInfo', 'Query', 'User']);
    });
  }
  return supergraphs;
}

/** The subgraph reports the schema that is composed, and an entity that fails does not fail others. */
async function subgraph() {
  const { bob } = await tenant('subgraph');
  await check('the subgraph tells the same schema as `tidings schema --federation`', async () => {
    const { _service } = await ask(addressOf(), bob, '{ _service { sdl } }');
    assert.equal(sorted(_service.sdl), sorted(subgraphs()[0].sdl));
    assert.match(_service.sdl, /type Subscription/);
  });
  await check('one entity of three fails alone', async () => {
    const query = `query($of: [_Any!]!) { _entities(representations: $of) { ... on User { id name locale } } }`;
    const of = ['ada', STRANGE, 'bob'].map((id) => ({ __typename: 'User', id }));
    const { data, errors } = await post(addressOf(), bob, query, { of });
    assert.deepEqual(data._entities, [
      { id: 'ada', name: 'ada of Tidings', locale: 'en' },
      null,
      { id: 'bob', name: 'bob of Tidings', locale: 'en' },
    ]);
    assert.deepEqual(errors.map((error) => error.path.slice(0, 2)), [['_entities', 1]]);
  });
}

/** Checks of each gateway. */
async function gateway(name, url) {
  const { bob, name: tenantName } = await tenant(name.toLowerCase().replaceAll(' ', '-'));
  await check(`${name}: the viewer's overview`, async () => {
    const { viewer } = await ask(url, bob, OVERVIEW);
    assert.deepEqual(viewer.overview.unread, { count: 1, exact: true });
    assert.deepEqual(viewer.overview.types, [{ type: { code: 'news' }, unread: { count: 1 } }]);
  });
  await check(`${name}: a sender's profile joined with the shop's`, async () => {
    const { viewer } = await ask(url, bob, JOINED);
    const [{ title, sender }] = viewer.inbox.nodes;
    assert.equal(title, 'Hello');
    const { name: called, ...rest } = sender;
    assert.ok(['ada of Tidings', 'Ada of the shop'].includes(called), called);
    assert.deepEqual(rest, { id: 'ada', avatarUrl: '/ada.png', locale: 'en', points: 3, group: { discount: 5 } });
  });
  await check(`${name}: the shop's users with their avatars, one of which fails`, async () => {
    const { data, errors } = await post(url, bob, PROFILES);
    const ids = data.users.nodes.map(({ id, avatarUrl, locale, points }) => [id, avatarUrl, locale, points]);
    assert.deepEqual(ids, [
      ['ada', '/ada.png', 'en', 3],
      [STRANGE, null, null, 200],
      ['bob', '/bob.png', 'en', 3],
    ]);
    assert.ok(errors?.length > 0, 'no error tells why');
    assert.ok(errors.every((error) => error.extensions.code === 'BAD_USER_INPUT'), JSON.stringify(errors));
  });
  await check(`${name}: mutations of both under their own names`, async () => {
    const target = { type: 'order', externalId: '1' };
    const data = await ask(url, bob, OWN_NAMES, { input: { target, what: { actions: ['comment'] } } });
    assert.deepEqual(data, {
      subscribe: { newsletter: 'tea' },
      subscribeTopic: { createdCount: 1 },
      archive: { value: 1 },
    });
  });
  await check(`${name}: a mark, with the overview after it`, async () => {
    const { markRead } = await ask(url, bob, MARK);
    assert.deepEqual(markRead, { changedCount: 1, viewer: { overview: { unread: { count: 0 } } } });
  });
  await check(`${name}: nobody without a token`, async () => {
    const { data, errors } = await post(url, undefined, OVERVIEW);
    assert.equal(data?.viewer, undefined);
    assert.equal(errors[0].extensions.code, 'UNAUTHENTICATED', JSON.stringify(errors));
  });
  return { tenant: tenantName, bob };
}

/** The first `enough` results of a subscription through a gateway. */
async function first(url, credentials, enough, query, variables, meanwhile) {
  const headers = { authorization: `Bearer ${credentials}` };
  const client = createClient({ url, headers, retryAttempts: 0 });
  const late = setTimeout(() => client.dispose(), PATIENCE);
  const came = [];
  try {
    for await (const { data, errors } of client.iterate({ query, variables })) {
      assert.equal(errors, undefined, JSON.stringify(errors));
      came.push(data);
      if (came.length === enough) break;
      await meanwhile?.(came.length);
    }
  } finally {
    clearTimeout(late);
    client.dispose();
  }
  assert.equal(came.length, enough, `${came.length} of ${enough} came`);
  return came;
}

async function live(name, url) {
  const own = `live-${name.toLowerCase().replaceAll(' ', '-')}`;
  const { bob } = await tenant(own);
  const { viewer } = await ask(url, bob, '{ viewer { id overview { cursor } } }');
  await check(`${name}: the overview as it changes`, async () => {
    const came = await first(url, bob, 2, OVERVIEW_CHANGED, {}, () => message(own, 'Second'));
    assert.deepEqual(came, [1, 2].map((count) => (
      { overviewChanged: { id: viewer.id, overview: { unread: { count, exact: true } } } }
    )));
  });
  await check(`${name}: items as they come, their senders joined with the shop's`, async () => {
    const after = viewer.overview.cursor;
    const came = await first(url, bob, 2, ITEM_RECEIVED, { after }, () => message(own, 'Third'));
    const sender = { id: 'ada', avatarUrl: '/ada.png', points: 3 };
    assert.deepEqual(came.map(({ itemReceived }) => itemReceived.node), [
      { title: 'Second', sender },
      { title: 'Third', sender },
    ]);
  });
}

/** Runs `does` on a started gateway and always stops it. */
async function during(started, does) {
  try {
    await does(started.url);
  } finally {
    await started.stop();
  }
}

try {
  await subgraph();
  const supergraphs = await composed();
  assert.ok(Object.keys(supergraphs).length === 2, 'there is no supergraph to serve');
  const apollos = supergraphs['@apollo/composition'];
  const guilds = supergraphs['@theguild/federation-composition'];
  await during(await startApollo(apollos), (url) => gateway('Apollo gateway', url));
  for (const [line, options] of Object.entries(HIVE_LINES)) {
    await during(await startHive(guilds, options), async (url) => {
      if (!options) await gateway('Hive gateway', url);
      await live(`Hive gateway over ${line}`, url);
    });
  }
} catch (error) {
  results.push({ ok: false });
  console.error(error.stack);
} finally {
  await shop.stop();
  await server.remove();
}

const passed = results.filter(({ ok }) => ok).length;
console.log(`supergraph: ${passed} passed, ${results.length - passed} failed`);
process.exit(passed === results.length ? 0 : 1);
