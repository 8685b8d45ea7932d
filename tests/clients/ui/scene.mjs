// Fixtures for the elements' tests: the binary, pages of another site, and a browser.
//
// There are three origins: the server, one that serves the scripts (as the server does at `/ui/1/`), and one for pages.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

import { chromium } from 'playwright-core';

import { Server, token } from '../server.mjs';
import { listPage, PAGE_SCRIPT, STORE_SCRIPT } from './pages.mjs';

const DIST = fileURLToPath(new URL('../../../ui/elements/dist/', import.meta.url));

/** The time limit of every wait, in milliseconds. */
export const PATIENCE = 20_000;

export const TYPES = [
  { code: 'comment', title: 'Comments', position: 1 },
  { code: 'release', title: 'Releases', position: 2 },
  { code: 'billing', title: 'Billing', position: 3, mandatory: true },
];

async function serve(answer) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${server.address().port}` };
}

/** Waits until `isSo` accepts the result of `look`, which appears in the error message. */
export async function until(what, look, isSo = Boolean, patience = PATIENCE, pause = 25) {
  let seen;
  for (const end = Date.now() + patience; ; await sleep(pause)) {
    seen = await look();
    if (isSo(seen)) return seen;
    assert.ok(Date.now() < end, `in vain: ${what}; there is ${JSON.stringify(seen)}`);
  }
}

export class Scene {
  static async start() {
    const scene = new Scene();
    scene.tenants = 0;
    const files = new Map([
      ['page.js', Buffer.from(PAGE_SCRIPT)],
      ['store.js', Buffer.from(STORE_SCRIPT)],
    ]);
    for (const name of await readdir(DIST))
      if (name.endsWith('.js.gz')) files.set(name.slice(0, -3), gunzipSync(await readFile(DIST + name)));
    scene.files = await serve((request, response) => {
      const content = files.get(request.url.replace(/^\/ui\/\d\//, ''));
      response.writeHead(content ? 200 : 404, {
        'content-type': 'text/javascript; charset=utf-8',
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
      });
      response.end(content);
    });
    scene.pages = await serve((request, response) => {
      const url = new URL(request.url, scene.pages.origin);
      const {
        status = 200,
        headers,
        body,
      } = listPage(url, { files: scene.files.origin, server: url.searchParams.get('server') ?? scene.origin });
      response.writeHead(status, headers);
      response.end(body);
    });
    scene.server = await scene.another();
    scene.origin = `http://127.0.0.1:${scene.server.port}`;
    scene.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
      ],
    });
    return scene;
  }

  /** Another server. */
  another(settings = {}) {
    return Server.start({ TIDINGS_ORIGINS: this.pages.origin, ...settings });
  }

  /** A tenant with three types and functions to act in it. */
  async tenant(server = this.server) {
    const name = `shop-${++this.tenants}`;
    const admin = token(name, 'root', 'admin');
    for (const input of TYPES)
      await server.ask(admin, 'mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }', { i: input });
    return new Tenant(name, server);
  }

  /** A device of a user: its pages share storage and locks. */
  async device(tenant, sub, options = {}) {
    const device = new Device(this, tenant, sub);
    device.context = await this.browser.newContext({ viewport: { width: 900, height: 760 }, ...options });
    await device.context.exposeFunction('askToken', () => device.nextToken());
    return device;
  }

  async stop() {
    await this.browser?.close();
    await this.server?.remove();
    this.files.server.close();
    this.pages.server.close();
  }
}

const SEND = `mutation($i: [SendNotificationInput!]!) { sendNotifications(inputs: $i) { notification { id } } }`;

export class Tenant {
  constructor(name, server) {
    Object.assign(this, { name, server, service: token(name, 'shop', 'service') });
  }

  /** Sends messages to a user in one request; returns their ids. */
  async send(receiver, contents, type = 'comment', sender) {
    const inputs = contents.map((content) => ({
      message: {
        type: content.type ?? type,
        receiver,
        sender,
        content: typeof content === 'string' ? { title: content } : { ...content, type: undefined },
      },
    }));
    const { sendNotifications } = await this.server.ask(this.service, SEND, { i: inputs });
    return sendNotifications.map(({ notification }) => notification.id);
  }

  ask(sub, query, variables) {
    return this.server.ask(token(this.name, sub), query, variables);
  }

  retract(id) {
    return this.server.ask(this.service, 'mutation($id: ID!) { retractSentNotification(id: $id) { id } }', { id });
  }

  /** A user's inbox according to the API, in the format of `shown`. */
  async truth(sub) {
    // Uses a service's token, because the user's rate limit is for their pages.
    const { inboxUser } = await this.server.ask(
      this.service,
      `query($id: ID!) { inboxUser(id: $id) { overview { unread { count }
      types { type { code } unread { count } latest { title } } } inbox(first: 30) { nodes { id isRead } } } }`,
      { id: sub },
    );
    const { unread, types } = inboxUser.overview;
    const some = types.filter((entry) => entry.latest || entry.unread.count > 0);
    const tabs =
      some.length > 1
        ? Object.fromEntries([['', unread.count], ...some.map((entry) => [entry.type.code, entry.unread.count])])
        : {};
    return {
      badge: unread.count,
      tabs,
      items: inboxUser.inbox.nodes.map(({ id, isRead }) => `${id} ${isRead ? 'read' : 'unread'}`),
    };
  }
}

class Device {
  tokens = 0;
  /** The number of sockets ever opened. */
  sockets = 0;
  /** How to make the next tokens: their validity in seconds; `refuse` makes tokens that the server refuses. */
  seconds = 3600;
  refuse = false;
  complaints = [];

  constructor(scene, tenant, sub) {
    Object.assign(this, { scene, tenant, sub });
  }

  nextToken() {
    this.tokens++;
    if (this.refuse) return 'nobody.takes.this';
    return token(this.tenant.name, this.sub, 'user', this.seconds);
  }

  /** Opens a page; pages.mjs lists the parameters of `query`. */
  async open(query = {}) {
    const page = await this.context.newPage();
    page.on('console', (message) => message.type() === 'error' && this.complaints.push(message.text()));
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.sockets = 0;
    page.on('websocket', (socket) => {
      page.sockets++;
      this.sockets++;
      page.isLeader = true;
      socket.on('close', () => (page.isLeader = false));
    });
    const search = new URLSearchParams({ server: `http://127.0.0.1:${this.tenant.server.port}`, ...query });
    await page.goto(`${this.scene.pages.origin}/?${search}`);
    return page;
  }

  close() {
    return this.context.close();
  }
}

/** What a page shows in its bell and inbox. */
export const shown = (page) => page.evaluate(() => window.shown());

/** Opens the bell of a page and waits for its list. */
export async function openBell(page) {
  await page.getByRole('button', { name: /^Notifications/ }).click();
  await page.locator('tidings-bell article, tidings-bell .state').first().waitFor();
}

/** The sum of a metric over its labels. */
export async function metric(server, name) {
  const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text();
  return [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
}
