// The webhook receivers of docs/webhooks.md in JavaScript and Python, with the Standard Webhooks libraries: they
// receive all events, reject a wrong secret, and accept both secrets in a rotation. `TIDINGS_BIN` names the binary.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { Webhook, WebhookVerificationError } from 'standardwebhooks';

import { environment } from './python/environment.mjs';
import { Server, token } from './server.mjs';

const DOCUMENT = readFileSync(fileURLToPath(new URL('../../docs/webhooks.md', import.meta.url)), 'utf8');

/** The time limit of every wait, in milliseconds. */
const PATIENCE = 30_000;

const [admin, service] = [token('acme', 'operator', 'admin'), token('acme', 'shop', 'service')];
const CREATE = 'mutation Create($input: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $input) { endpoint { id } secret } }';
const TEST = 'mutation Test($id: ID!) { testWebhookEndpoint(id: $id) { state lastStatus lastError } }';
const SEND = `mutation Send($title: String!) { sendMessage(input: { type: "news", receiver: "ada", content: { title: $title } }) {
  notification { id } } }`;

/** The first code block of a language in the document. */
const printed = (language) => DOCUMENT.match(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's'))[1];

async function until(what, holds) {
  for (const end = Date.now() + PATIENCE; !(await holds()); await sleep(50)) {
    if (Date.now() > end) throw new Error(`${what}: in vain`);
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** A receiver from the document, in its own process, which prints what it accepts. */
class Receiver {
  static async start([command, ...args], folder, secret, port) {
    const receiver = new Receiver();
    const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: `${port}` };
    receiver.said = '';
    receiver.child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
    receiver.child.stdout.on('data', (chunk) => (receiver.said += chunk));
    await until('a receiver that listens', () => fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false));
    return receiver;
  }

  async stop() {
    this.child.kill();
    await once(this.child, 'exit');
  }
}

/** All checks for one language. */
async function passes(server, command, folder) {
  const port = await freePort();
  const input = { url: `http://127.0.0.1:${port}/`, events: ['NOTIFICATION_PUBLISHED', 'NOTIFICATION_RETRACTED'] };
  const { endpoint, secret } = (await server.ask(admin, CREATE, { input })).createWebhookEndpoint;
  const ping = async () => (await server.ask(admin, TEST, { id: endpoint.id })).testWebhookEndpoint;

  const stranger = await Receiver.start(command, folder, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', port);
  assert.equal((await ping()).lastStatus, 401, 'another secret');
  await stranger.stop();

  let receiver = await Receiver.start(command, folder, secret, port);
  assert.deepEqual(await ping(), { state: 'DELIVERED', lastStatus: 204, lastError: null });
  const sent = [];
  for (const title of ['first', 'second ü 通知', 'third']) {
    sent.push((await server.ask(service, SEND, { title })).sendMessage.notification.id);
  }
  await server.ask(service, 'mutation Retract($id: ID!) { retractSentNotification(id: $id) { id } }', { id: sent[0] });
  const expected = [
    `test.ping ${endpoint.id}`,
    ...sent.map((id) => `notification.published ${id}`),
    `notification.retracted ${sent[0]}`,
  ].sort();
  const lines = () => receiver.said.trim().split('\n').sort();
  await until('all events', () => lines().length >= expected.length);
  assert.deepEqual(lines(), expected);

  const rotate = 'mutation Rotate($id: ID!) { rotateWebhookSecret(id: $id) { secret } }';
  const other = (await server.ask(admin, rotate, { id: endpoint.id })).rotateWebhookSecret.secret;
  assert.equal((await ping()).state, 'DELIVERED', 'the secret before');
  await receiver.stop();
  receiver = await Receiver.start(command, folder, other, port);
  assert.equal((await ping()).state, 'DELIVERED', 'the new secret');
  await receiver.stop();
  await server.ask(admin, 'mutation Delete($id: ID!) { deleteWebhookEndpoint(id: $id) { deletedId } }', { id: endpoint.id });
}

/** The library detects each flipped byte, an old timestamp and a changed id in a request that the server signed. */
async function noticesEverything(server) {
  const { createServer: createHttp } = await import('node:http');
  let taken;
  const http = createHttp(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    taken = { body: Buffer.concat(chunks).toString(), headers: request.headers };
    response.writeHead(200).end();
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const input = { url: `http://127.0.0.1:${http.address().port}/` };
  const { endpoint, secret } = (await server.ask(admin, CREATE, { input })).createWebhookEndpoint;
  await server.ask(admin, TEST, { id: endpoint.id });
  http.close();
  const webhook = new Webhook(secret);
  const { body, headers } = taken;
  assert.equal(webhook.verify(body, headers).type, 'test.ping');
  const refused = (text, changes = {}) =>
    assert.throws(() => webhook.verify(text, { ...headers, ...changes }), WebhookVerificationError);
  for (let place = 0; place < body.length; place += 1) {
    refused(`${body.slice(0, place)}${body[place] === 'x' ? 'y' : 'x'}${body.slice(place + 1)}`);
  }
  refused(body, { 'webhook-id': 'another' });
  refused(body, { 'webhook-timestamp': `${Number(headers['webhook-timestamp']) - 1}` });
  await server.ask(admin, 'mutation Delete($id: ID!) { deleteWebhookEndpoint(id: $id) { deletedId } }', { id: endpoint.id });
}

const server = await Server.start({ TIDINGS_KEY: '07'.repeat(32), TIDINGS_EGRESS_ALLOW: '127.0.0.1' });
const folder = await mkdtemp(join(tmpdir(), 'tidings-webhooks-'));
try {
  await server.ask(admin, 'mutation { saveMessageType(input: { code: "news", title: "News" }) { code } }');
  await noticesEverything(server);
  await symlink(fileURLToPath(new URL('node_modules', import.meta.url)), join(folder, 'node_modules'));
  await writeFile(join(folder, 'receiver.mjs'), printed('js'));
  await writeFile(join(folder, 'receiver.py'), printed('python'));
  const bin = await environment(join(import.meta.dirname, 'python/webhooks'));
  for (const [name, command] of [
    ['Node.js', [process.execPath, 'receiver.mjs']],
    ['Python', [join(bin, 'python'), 'receiver.py']],
  ]) {
    await passes(server, command, folder);
    console.log(`ok: the receiver in ${name} takes what is signed, and nothing else`);
  }
} finally {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
}
