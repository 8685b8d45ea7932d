// Tidings in Apollo Client's cache, with a real server (`TIDINGS_BIN`, default: the debug build). `TIDINGS_SEED`
// repeats a random walk.

import assert from 'node:assert/strict';

import { automatic, Device } from './apollo/device.mjs';
import { makeManifest } from './apollo/manifest.mjs';
import { Report } from './report.mjs';
import { capped, inboxPages, listening, mutations, otherPages, seen, sevens } from './scenarios.mjs';
import { fresh, shown } from './visible.mjs';
import { seed, walk } from './walk.mjs';
import { startServer, World } from './world.mjs';

const STEPS = 200;

const report = new Report('apollo');
const { file, manifest, link: named, remove } = await makeManifest();
const server = await startServer();
const strict = await startServer({ TIDINGS_OPERATIONS: file });

let tenants = 0;

/** Runs a test with devices in a new tenant. */
function test(name, run, { count = 1, on = server, link = () => undefined } = {}) {
  return report.test(name, async () => {
    tenants += 1;
    const world = await World.of(on, `tenant-${tenants}`);
    const devices = Array.from({ length: count }, () => new Device(world, link()));
    try {
      await run(...devices);
    } finally {
      await Promise.all(devices.map((device) => device.close()));
    }
  });
}

await test('an inbox and its archive are paged both ways', inboxPages);
await test('subscriptions and people are paged both ways', otherPages);
await test('a user, views and targets called 7 are told apart', sevens);
await test('mutations change the cache without a refetch', mutations);
await test('what was looked at is read and seen in the cache', seen);
await test('counts that stop early leave the others', capped);
await test('a subscription changes the viewer in the cache', listening);

/** Whether a request contains its document. */
const hasText = ({ url, body }) => Boolean(body?.query ?? new URL(url).searchParams.get('query'));

await test('queries are persisted as they come, and asked by GET', async (device) => {
  const { world } = device;
  await world.message('news', 'one');
  for (const own of [device, device.another()]) {
    await own.load();
    assert.deepEqual(shown(own.look()), await fresh(world));
  }
  const [unknown, told] = device.sent;
  assert.deepEqual([unknown.method, hasText(unknown)], ['GET', false]);
  assert.deepEqual([told.method, hasText(told)], ['POST', true]);
  assert.equal(device.sent.length, 2);
  await device.load();
  assert.deepEqual([device.sent[2].method, hasText(device.sent[2])], ['GET', false]);
  const select = { matching: {} };
  const before = device.sent.length;
  await device.mutate('markRead', { select });
  await device.mutate('markUnread', { select });
  await device.mutate('markRead', { select });
  const mutated = device.sent.slice(before);
  assert.ok(mutated.every(({ method }) => method === 'POST'));
  assert.deepEqual(mutated.map(hasText), [false, true, false, true, false]);
}, { link: automatic });

await test('a second device need not send what is known', async (device) => {
  await device.load();
  const another = device.another();
  await another.load();
  assert.deepEqual(another.sent.map(({ method }) => method), ['GET']);
}, { link: automatic });

const strictly = { on: strict, link: named };
await test('operations of a manifest are asked for by ids', async (device) => {
  assert.equal(manifest.format, 'apollo-persisted-query-manifest');
  await mutations(device);
  assert.ok(!device.sent.some(hasText));
}, strictly);
await test('pages of a manifest are asked for by ids', inboxPages, strictly);
await test('subscriptions of a manifest are heard', listening, strictly);
await test('nothing but the manifest is answered', async ({ world }) => {
  const { errors } = await world.server.answer(world.own, '{ viewer { id } }');
  assert.equal(errors[0].extensions.code, 'FORBIDDEN');
}, strictly);

const start = seed();
await test(`a random walk of ${STEPS} steps (TIDINGS_SEED=${start})`, (device, listener) => walk(device, listener, start, STEPS), {
  count: 2,
});

await Promise.all([server.remove(), strict.remove(), remove()]);
process.exit(report.close());
