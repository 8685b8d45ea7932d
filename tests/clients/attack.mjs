// How much CPU and memory hostile tenants, users and strangers can cost the server, read from /proc, and how long an
// honest user waits meanwhile. Fails if an attack is not refused as expected, leaves memory in use, or costs far too
// much CPU. Waiting times depend on the machine and are only reported. `TIDINGS_BIN` names the binary: use an optimised
// build.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { getIntrospectionQuery } from 'graphql';
import { WebSocket } from 'ws';

import { Server, token } from './server.mjs';

/** The limit of CPU milliseconds per attack: 100 for an optimised build, times ten to allow for builds that are not. */
const CPU_MS = 1_000;

/** The limit of memory growth after the first attack of a kind, in MB: what the allocator keeps in reserve. */
const HELD_MB = 32;

/** Clock ticks per second in /proc; 100 on every Linux for decades. */
const TICKS = 100;

const server = await Server.start({ TIDINGS_USER_MESSAGES: '*', TIDINGS_RATE: '0' });
const service = token('acme', 'shop', 'service');
const operator = token('acme', 'operator', 'admin');
const mallory = token('acme', 'mallory');
const honest = token('globex', 'honest');
const OVERVIEW = '{ viewer { overview { unread { count } types { latest { title } } } } }';

function used() {
  const [, rest] = readFileSync(`/proc/${server.child.pid}/stat`, 'utf8').split(/\) /);
  const fields = rest.split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
}

function held() {
  return Number(readFileSync(`/proc/${server.child.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) / 1024;
}

const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];

/** An honest user who sends requests until stopped; returns the duration of each request. */
function somebody() {
  let stops = false;
  const times = (async () => {
    const times = [];
    while (!stops || times.length < 20) {
      const began = performance.now();
      await server.ask(honest, OVERVIEW);
      times.push(performance.now() - began);
    }
    return times;
  })();
  return () => {
    stops = true;
    return times;
  };
}

const rows = [];

/** Runs an attack once to warm up, then `times` times, and records the cost of one. */
async function attack(name, times, once) {
  await once(0);
  // Subtract what the honest user costs without an attack.
  const [began, alone] = [used(), await somebody()()];
  const own = (used() - began) / alone.length;
  const before = held();
  const [start, stop] = [used(), somebody()];
  for (let time = 0; time < times; time++) await once(time);
  const beside = await stop();
  const cpu = Math.max(0, used() - start - own * beside.length) / times;
  const more = held() - before;
  rows.push({ attack: name, times, 'CPU ms each': Math.round(cpu), 'MB held': Math.round(more), 'honest alone ms': median(alone).toFixed(1), 'beside ms': median(beside).toFixed(1) });
  assert.ok(cpu <= CPU_MS, `${name} takes ${cpu} ms of CPU`);
  assert.ok(more <= HELD_MB, `${name} leaves ${more} MB`);
}

/** Checks that the request is refused with this code. */
async function refused(bearer, query, variables, code) {
  const { errors } = await server.answer(bearer, query, variables);
  assert.equal(errors?.[0].extensions.code, code, JSON.stringify(errors ?? 'it is answered').slice(0, 300));
  return errors[0];
}

/** Opens connections that send this text and read nothing. */
async function lines(many, text) {
  const sockets = Array.from({ length: many }, () => connect(server.port, '127.0.0.1'));
  for (const socket of sockets) socket.on('error', () => {}).pause().write(text);
  await sleep(500);
  return () => sockets.forEach((socket) => socket.destroy());
}

const post = (bearer, body) =>
  `POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearer}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const SAVE = 'mutation($t: String!) { saveMessageType(input: { code: "hostile", title: "x", template: { title: $t } }) { code } }';
const SEND = 'mutation($i: [SendNotificationInput!]!) { sendNotifications(inputs: $i) { replayed } }';

async function fill(receiver, many, content) {
  const message = { message: { type: 'news', receiver, content } };
  for (let sent = 0; sent < many; sent += 200) {
    await server.ask(service, SEND, { i: Array(Math.min(200, many - sent)).fill(message) });
  }
}

try {
  for (const tenant of ['acme', 'globex']) {
    const admin = token(tenant, 'operator', 'admin');
    await server.ask(admin, 'mutation { saveMessageType(input: { code: "news", title: "News", usersMaySend: true }) { code } saveTargetType(code: "doc", subscriptionPolicy: OPEN) { code } }');
  }
  await server.ask(token('globex', 'shop', 'service'), SEND, { i: [{ message: { type: 'news', receiver: 'honest', content: { title: 'hello' } } }] });

  // 1. Templates.
  const templates = [
    '{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}', `{{ ${'-'.repeat(6000)}1 }}`, `{{ 1${'+1'.repeat(8000)} }}`, `{{ 1${'~1'.repeat(8000)} }}`,
    '{{ "%1000000000d"|format(1) }}', '{{ "x"|indent(1000000000) }}', '{{ title|batch(1)|list }}', '{{ range(99999)|sort }}',
    '{% macro m(x) %}{{ x }}{{ x }}{% endmacro %}{{ m(m(m(m("x")))) }}', '{{ title[::1] }}',
  ];
  for (const template of templates) await refused(operator, SAVE, { t: template }, 'BAD_USER_INPUT');
  await attack('templates that are not saved', 10, async (time) => refused(operator, SAVE, { t: templates[time] }, 'BAD_USER_INPUT'));
  const worst = `{% for a in title %}{% for b in title %}{% for c in title %}{{ a }}{{ title|replace("a", title) }}{% endfor %}{% endfor %}{% endfor %}`;
  await server.ask(operator, SAVE, { t: worst });
  const hostile = { message: { type: 'hostile', receiver: 'mallory', content: { title: 'a'.repeat(256) } } };
  await server.ask(service, SEND, { i: Array(100).fill(hostile) });
  await attack('100 titles by the worst template', 5, () => server.ask(mallory, '{ viewer { inbox(first: 100) { nodes { title } } } }'));

  // 2. Large responses.
  await fill('mallory', 100, { title: 'x', body: 'y'.repeat(16_000) });
  const aliases = Array.from({ length: 98 }, (_, place) => `a${place}:body`).join(' ');
  const large = `{ viewer { inbox(first: 100) { nodes { ${aliases} } } } }`;
  assert.ok(large.length < 1000);
  await attack('98 aliases of 100 bodies', 10, async () => {
    const { extensions } = await refused(mallory, large, {}, 'BAD_USER_INPUT');
    assert.equal(extensions.limit, 'answer_bytes');
  });
  const page = post(mallory, JSON.stringify({ query: '{ viewer { inbox(first: 60) { nodes { body } } } }' }));
  await attack('ten answers of 1 MB that nobody reads', 1, async () => {
    const close = await lines(10, page);
    close();
  });

  // 3. Database work.
  await fill('mallory', 5_000, { title: 'x' });
  const filtered = (many) => `{ viewer { ${Array.from({ length: many }, (_, place) => `f${place}: inbox(filter: { sender: "nobody" }) { nodes { id } }`).join(' ')} } }`;
  await attack('99 filtered lists', 10, () => refused(mallory, filtered(99), {}, 'GRAPHQL_VALIDATION_FAILED'));
  await attack('nine filtered lists of 5,000 items', 5, () => server.ask(mallory, filtered(9)));
  const types = '{ t: ' + `viewer { ${Array.from({ length: 90 }, (_, place) => `f${place}: inbox(filter: { types: $t }) { nodes { id } }`).join(' ')} } }`;
  await attack('90 times 9,990 codes of types', 5, () => refused(mallory, `query($t: [String!]) ${types}`, { t: Array(9_990).fill('news') }, 'BAD_USER_INPUT'));

  // 4. Connections.
  for (const [name, text] of [['silent', ''], ['half a header', 'GET /healthz HTTP/1.1\r\nhost:'], ['half a body', post(mallory, '{}').slice(0, -1)]]) {
    await attack(`1,000 connections: ${name}`, 1, async () => {
      const close = await lines(1_000, text);
      assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200);
      close();
    });
  }

  // 5. Introspection.
  await attack('the introspection of GraphiQL', 20, () => server.ask(mallory, getIntrospectionQuery()));
  const wide = `{ __schema { types { fields { ${Array.from({ length: 90 }, (_, place) => `a${place}: type { fields { name description } }`).join(' ')} } } } }`;
  await attack('wide introspection', 10, () => refused(mallory, wide, {}, 'GRAPHQL_VALIDATION_FAILED'));

  // 6. Floods, and fragmented frames.
  const slow = await Server.start({ TIDINGS_RATE: '60' });
  try {
    const began = Number(readFileSync(`/proc/${slow.child.pid}/stat`, 'utf8').split(/\) /)[1].split(' ')[11]);
    const codes = {};
    for (let time = 0; time < 300; time++) {
      const { errors } = await slow.answer(mallory, `{ nothing${time} }`, { filler: 'x'.repeat(200_000) });
      codes[errors[0].extensions.code] = (codes[errors[0].extensions.code] ?? 0) + 1;
    }
    const ended = Number(readFileSync(`/proc/${slow.child.pid}/stat`, 'utf8').split(/\) /)[1].split(' ')[11]);
    assert.ok(codes.RATE_LIMITED >= 200, JSON.stringify(codes));
    rows.push({ attack: 'invalid requests of 200 KB, 60 a minute', times: 300, 'CPU ms each': (((ended - began) * 1000) / TICKS / 300).toFixed(1) });
  } finally {
    await slow.remove();
  }
  await attack('a message in 60,000 fragments', 1, async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/graphql`, 'graphql-transport-ws', { perMessageDeflate: false });
    await new Promise((resolve) => socket.on('open', resolve));
    const closed = new Promise((resolve) => socket.on('close', resolve).on('error', resolve));
    for (let place = 0; place < 60_000 && socket.readyState === WebSocket.OPEN; place++) socket.send('', { fin: false });
    await Promise.race([closed, sleep(5_000)]);
    assert.notEqual(socket.readyState, WebSocket.OPEN, 'it is closed');
  });

  // 7. Idempotency keys of other senders.
  const keyed = 'mutation($i: SendMessageInput!) { sendMessage(input: $i) { replayed } }';
  const input = { type: 'news', receiver: 'ada', content: { title: 'x' }, idempotencyKey: 'order-1' };
  await server.ask(mallory, keyed, { i: input });
  assert.equal((await server.ask(service, keyed, { i: input })).sendMessage.replayed, false);

  // 8. Rows that a user can create.
  const subscribe = 'mutation($i: SubscribeTopicInput!) { subscribeTopic(input: $i) { createdCount } }';
  const topic = (id) => ({ i: { target: { type: 'doc', externalId: `${id}` }, what: { actions: Array.from({ length: 100 }, (_, place) => `action-${place}`) } } });
  await attack('a hundred subscriptions at once', 199, (time) => server.ask(mallory, subscribe, topic(time)));
  await refused(mallory, subscribe, topic('one more'), 'RATE_LIMITED');

  console.table(rows);
  console.log(`attacks: ${rows.length}, all refused or bounded`);
} catch (error) {
  console.table(rows);
  throw error;
} finally {
  await server.remove();
}
