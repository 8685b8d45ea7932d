import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { transform } from 'esbuild';

const SOURCE = fileURLToPath(new URL('../src/push-subscribe.ts', import.meta.url));
const { code } = await transform(await readFile(SOURCE, 'utf8'), { loader: 'ts' });
const { subscribe, unsubscribe } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const WISH = { server: 'https://tidings.example', token: () => 'a token' };

/** A mock browser with a permission and a server with a key; records their calls. */
function surroundings({ permission = 'granted', key = 'BNew', before } = {}) {
  const asked = [];
  let known = before;
  const made = (own) => ({
    endpoint: `https://push.example/${own}`,
    key: own,
    toJSON: () => ({ endpoint: `https://push.example/${own}` }),
    unsubscribe: async () => (known = undefined),
  });
  if (before) known = made(before);
  const pushManager = {
    async subscribe({ userVisibleOnly, applicationServerKey }) {
      assert.ok(userVisibleOnly);
      if (known && known.key !== applicationServerKey) throw new Error('another key');
      return (known ??= made(applicationServerKey));
    },
    getSubscription: async () => known,
  };
  const registration = { pushManager };
  const serviceWorker = {
    register: async (path) => asked.push(path),
    ready: Promise.resolve(registration),
    getRegistration: async () => registration,
  };
  const set = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  set('PushManager', class {});
  set('Notification', { requestPermission: async () => permission });
  set('navigator', { serviceWorker });
  set('fetch', async (address, { headers, body }) => {
    assert.equal(`${address}`, 'https://tidings.example/graphql');
    assert.equal(headers.authorization, 'Bearer a token');
    const { query, variables } = JSON.parse(body);
    asked.push(query.match(/\w+(?=[({}])/g).find((name) => /Push/.test(name)) + (variables.of ? ` ${variables.of.endpoint ?? variables.of}` : ''));
    return { json: async () => ({ data: { webPushKey: key } }) };
  });
  return asked;
}

test('a browser subscribes by the key of the server, and is saved', async () => {
  const asked = surroundings();
  assert.equal(await subscribe(WISH), true);
  assert.deepEqual(asked, ['webPushKey', '/tidings-push.js', 'savePushSubscription https://push.example/BNew']);
});

test('a subscription by another key gives way', async () => {
  const asked = surroundings({ before: 'BOld' });
  assert.equal(await subscribe({ ...WISH, worker: '/sw.js' }), true);
  assert.deepEqual(asked, ['webPushKey', '/sw.js', 'savePushSubscription https://push.example/BNew']);
});

test('nothing happens where the user does not want it, or the server sends nothing', async () => {
  const refused = surroundings({ permission: 'denied' });
  assert.equal(await subscribe(WISH), false);
  assert.deepEqual(refused, []);
  const off = surroundings({ key: null });
  assert.equal(await subscribe(WISH), false);
  assert.deepEqual(off, ['webPushKey']);
});

test('who signs out is reached no more', async () => {
  const asked = surroundings({ before: 'BNew' });
  await unsubscribe(WISH);
  await unsubscribe(WISH);
  assert.deepEqual(asked, ['deletePushSubscription https://push.example/BNew']);
});
