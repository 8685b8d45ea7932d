// Web Push through independent software: a push service, and a browser made of PyPI's `http_ece` and `cryptography`,
// which decrypts messages and verifies their sender; and our service worker. `TIDINGS_BIN` names the binary.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { createContext, runInContext } from 'node:vm';

import { environment } from './python/environment.mjs';
import { Server, token } from './server.mjs';

/** The time limit of every wait, in milliseconds. */
const PATIENCE = 30_000;

const [admin, service, ada] = [token('acme', 'operator', 'admin'), token('acme', 'shop', 'service'), token('acme', 'ada')];
const SEND = `mutation Send($content: NotificationContentInput!, $expiresAt: DateTime) {
  sendMessage(input: { type: "news", receiver: "ada", content: $content, expiresAt: $expiresAt }) { notification { id } } }`;
const SAVE = 'mutation Save($of: JSON!) { savePushSubscription(subscription: $of) { pushSubscriptionCount } }';

/** A push service that accepts everything. */
async function pushService() {
  const got = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    got.push({ headers: request.headers, body: Buffer.concat(chunks).toString('base64url') });
    response.writeHead(201).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { got, server, origin: `http://127.0.0.1:${server.address().port}` };
}

/** The next request to the push service. */
async function next(got) {
  for (const end = Date.now() + PATIENCE; got.length === 0; await sleep(50)) {
    if (Date.now() > end) throw new Error('no message has come');
  }
  return got.shift();
}

/** The browser in Python: its keys, and the messages that it decrypts. */
async function browser() {
  const folder = join(import.meta.dirname, 'python/push');
  const child = spawn(join(await environment(folder), 'python'), ['browser.py'], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => JSON.parse((await lines.next()).value);
  const keys = await line();
  const read = ({ headers, body }) => {
    child.stdin.write(`${JSON.stringify({ body, authorization: headers.authorization })}\n`);
    return line();
  };
  return { keys, read, stop: () => child.stdin.end() };
}

/** A service worker with the server's script; records what it shows and where clicks lead. */
async function worker(url, scope) {
  const listeners = {};
  const [shown, opened] = [[], []];
  const self = {
    registration: { scope, showNotification: async (title, options) => shown.push({ title, ...options }) },
    clients: { matchAll: async () => [], openWindow: async (to) => opened.push(to) },
    addEventListener: (type, listener) => (listeners[type] = listener),
  };
  const answer = await fetch(`${url}/ui/1/push.js`);
  assert.match(answer.headers.get('content-type'), /^text\/javascript/);
  runInContext(await answer.text(), createContext({ self, URL }));
  const run = async (type, event) => {
    const work = [];
    listeners[type]({ ...event, waitUntil: (of) => work.push(of) });
    await Promise.all(work);
  };
  const click = async (link) => {
    await run('notificationclick', { notification: { data: { link }, close() {} } });
    return opened.pop();
  };
  return { push: (told) => run('push', { data: told && { json: () => told } }), click, shown };
}

const server = await Server.start({ TIDINGS_KEY: '07'.repeat(32), TIDINGS_PUSH_ALLOW: '127.0.0.1' });
const { got, server: http, origin } = await pushService();
const reader = await browser();
try {
  const on = 'mutation { saveWebPush(input: { contact: "mailto:ops@shop.example" }) { key } }';
  const { key } = (await server.ask(admin, on)).saveWebPush;
  assert.equal((await server.ask(ada, '{ webPushKey }')).webPushKey, key);
  assert.equal(Buffer.from(key, 'base64url').length, 65);
  const type = 'saveMessageType(input: { code: "news", title: "News", delivery: [{ channel: WEB_PUSH, delaySeconds: 0 }] }) { code }';
  await server.ask(admin, `mutation { ${type} }`);
  const endpoint = `${origin}/push/1`;
  await server.ask(ada, SAVE, { of: { endpoint, expirationTime: null, keys: reader.keys } });

  const content = { title: 'On its way ü 通知', body: 'Order 7', link: '/orders/7' };
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  await server.ask(service, SEND, { content, expiresAt });
  const first = await next(got);
  const { told, claims } = await reader.read(first);
  assert.deepEqual({ title: told.title, body: told.body, link: told.link, type: told.type }, { ...content, type: 'news' });
  assert.equal(first.headers.topic, told.id);
  assert.equal(first.headers['content-encoding'], 'aes128gcm');
  assert.ok(first.headers.ttl > 3500 && first.headers.ttl <= 3600, first.headers.ttl);
  assert.deepEqual([claims.aud, claims.sub, claims.key], [origin, 'mailto:ops@shop.example', key]);
  const hours = (claims.exp - Date.now() / 1000) / 3600;
  assert.ok(hours > 5 && hours <= 12, `${hours} hours`);
  console.log('ok: http_ece decrypts what the server sends, which is signed by the key that browsers have');

  await server.ask(service, SEND, { content: { title: 'long', body: '通"知\n'.repeat(1200) } });
  const long = await next(got);
  const cut = (await reader.read(long)).told;
  assert.ok(cut.body.endsWith('…') && Buffer.from(long.body, 'base64url').length <= 3103, cut.body.length);
  console.log('ok: a long body is cut to what push services take');

  const shop = await worker(`http://127.0.0.1:${server.port}`, 'https://shop.example/');
  await shop.push(told);
  const { title, body, tag, data } = shop.shown[0];
  assert.deepEqual({ title, body, tag, link: data.link }, { ...content, tag: told.id });
  await shop.push(undefined);
  assert.equal(shop.shown.length, 1);
  const home = 'https://shop.example/';
  for (const [link, to] of [
    ['/orders/7', 'https://shop.example/orders/7'],
    ['https://other.example/a', 'https://other.example/a'],
    ['http://other.example/a', home],
    ['javascript:alert(1)', home],
    ['data:text/html,a', home],
    ['https://', home],
    [undefined, home],
  ]) {
    assert.equal(await shop.click(link), to, link);
  }
  console.log('ok: the service worker shows it, and opens nothing but pages');
} finally {
  reader.stop();
  http.close();
  await server.remove();
}
