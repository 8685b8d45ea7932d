// Fixtures for the desk's tests: the binary, a tenant for each test, and browser windows that contact no other server.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { chromium } from 'playwright-core';

import { Server, token } from '../server.mjs';

const DIST = process.env.DESK_DIST && resolve(process.env.DESK_DIST);

/** The time limit of every wait, in milliseconds. */
export const PATIENCE = 15_000;

const VIEWPORTS = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };

/** The button of the question whether a link may sign in, in each language. */
const SIGN_IN = /^(Sign in|登录)$/;

/** Whether a URL belongs to the server under test. */
const isOwn = (url) => ['http:', 'ws:'].includes(url.protocol) && url.hostname === '127.0.0.1';

/** Waits until `isSo` accepts the result of `look`, which appears in the error message. */
export async function until(what, look, isSo = Boolean, patience = PATIENCE) {
  for (const end = Date.now() + patience; ; await sleep(40)) {
    const seen = await look();
    if (isSo(seen)) return seen;
    assert.ok(Date.now() < end, `in vain: ${what}; there is ${JSON.stringify(seen)}`);
  }
}

/** `DESK_DIST` names a folder to take the page from, so that the binary need not be rebuilt. */
async function fromDist(route) {
  const url = new URL(route.request().url());
  const name = url.pathname.slice('/desk/assets/'.length);
  if (url.pathname.startsWith('/desk/session')) return route.fallback();
  if (url.pathname.startsWith('/desk/assets/')) {
    return route.fulfill({ body: gunzipSync(await readFile(`${DIST}/${name}.gz`)), contentType: name.endsWith('.css') ? 'text/css' : 'text/javascript' });
  }
  const answer = await fetch(url);
  return route.fulfill({ headers: Object.fromEntries(answer.headers), body: await readFile(`${DIST}/index.html`) });
}

export class Scene {
  tenants = 0;

  static async start() {
    const scene = new Scene();
    scene.server = await Server.start({ TIDINGS_KEY: '07'.repeat(32), TIDINGS_EGRESS_ALLOW: '127.0.0.1' });
    scene.origin = `http://127.0.0.1:${scene.server.port}`;
    scene.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update', '--disable-sync',
        '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
      ],
    });
    return scene;
  }

  /** A tenant with its own types, groups and people. */
  async tenant() {
    const tenant = new Tenant(`shop-${++this.tenants}`, this.server);
    const types = [
      { code: 'news', title: 'News', position: 1 },
      { code: 'order', title: 'Orders', position: 2, template: { title: 'Order {{ params.number }} is {{ params.state }}', link: '/orders/{{ params.number }}' } },
      { code: 'comment', title: 'Comments', position: 3, mandatory: true },
    ];
    for (const input of types) await tenant.ask('mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }', { i: input });
    const inputs = [['ada', 'Ada Obi'], ['ben', 'Ben Weiss'], ['chen', 'Chen Li'], ['dara', 'Dara Novak']].map(([id, name]) => ({ id, name }));
    await tenant.ask('mutation($i: [UserProfileInput!]!) { saveUserProfiles(inputs: $i) { id } }', { i: inputs });
    await tenant.ask(`mutation { schools: saveUserGroup(code: "schools", title: "Schools") { code } staff: saveUserGroup(code: "staff", title: "Staff") { code } }`);
    await tenant.ask('mutation { addUserGroupMembers(code: "schools", users: ["ada", "ben"]) { code } }');
    return tenant;
  }

  /** A window at a page of the desk, signed in with this role by a link; in English unless `options` have another locale. */
  async open(tenant, { role = 'admin', sub = role === 'user' ? 'ada' : 'root', size = 'desktop', path = '/desk', options = {}, signed, origin = this.origin } = {}) {
    const context = await this.browser.newContext({
      viewport: VIEWPORTS[size], timezoneId: 'Europe/Berlin', locale: 'en-GB', reducedMotion: 'reduce', acceptDownloads: true, ...options,
    });
    context.setDefaultTimeout(PATIENCE);
    const complaints = [];
    await context.route((url) => !isOwn(url), (route) => {
      complaints.push(`asked ${route.request().url()}`);
      return route.abort();
    });
    if (DIST) await context.route((url) => /^\/desk(\/|$)/.test(url.pathname), fromDist);
    await context.addInitScript(() => addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`policy violated: ${violatedDirective} ${blockedURI}`);
    }));
    const page = await context.newPage();
    const settled = quiet(page);
    // The browser logs 404s. The sign-in endpoint and the demo's page are optional, so ignore theirs.
    const mayBeMissing = ({ url }) => url.endsWith('/desk/session') || url.endsWith('/demo');
    page.on('console', (message) => message.type() === 'error' && !mayBeMissing(message.location()) && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    const fragment = signed ?? (role ? token(tenant.name, sub, role) : '');
    await page.goto(`${origin}${path}${fragment ? `#token=${fragment}` : ''}`);
    await page.locator('h1').first().waitFor();
    // A link signs in only after confirmation.
    if (fragment) await page.getByRole('dialog').getByRole('button', { name: SIGN_IN }).click();
    return Object.assign(page, { complaints, settled, visit: (place) => visit(page, place), done: () => finish(page, complaints) });
  }

  async stop() {
    await this.browser?.close();
    await this.server?.remove();
  }
}

/** Tracks the page's API requests; the returned function waits until there have been none for 150 ms. */
function quiet(page) {
  const [asked, isApi] = [new Set(), (request) => request.url().endsWith('/graphql')];
  let last = Date.now();
  const ends = (request) => asked.delete(request) && (last = Date.now());
  page.on('request', (request) => isApi(request) && asked.add(request));
  page.on('requestfinished', ends);
  page.on('requestfailed', ends);
  return async () => {
    last = Date.now();
    await until('the page is quiet', () => (asked.size === 0 ? Date.now() - last : 0), (rested) => rested > 150);
  };
}

/** Navigates as the desk's links do, and waits until the page is loaded. */
async function visit(page, place) {
  await page.evaluate((address) => {
    history.pushState(null, '', address);
    dispatchEvent(new PopStateEvent('popstate'));
  }, `/desk/${place}`);
  await page.settled();
}

/** Checks that there were no errors and that the page is not wider than the window; closes the window. */
async function finish(page, complaints) {
  assert.deepEqual(complaints, []);
  const { whole, shown } = await page.evaluate(() => ({ whole: document.documentElement.scrollWidth, shown: innerWidth }));
  assert.ok(whole <= shown, `${page.url()} is ${whole} wide in a window of ${shown}`);
  await page.context().close();
}

export class Tenant {
  constructor(name, server) {
    Object.assign(this, { name, server, admin: token(name, 'root', 'admin'), service: token(name, 'shop', 'service') });
  }

  /** Sends an operation as an operator. */
  ask(query, variables) {
    return this.server.ask(this.admin, query, variables);
  }

  asService(query, variables) {
    return this.server.ask(this.service, query, variables);
  }

  /** All sent notifications, oldest first. */
  async sent() {
    const { sentNotifications } = await this.ask(`{ sentNotifications(first: 100) { nodes { id kind title body link status publishAt expiresAt retractedAt sender { id } shown { title link }
      type { code } audience { everyone groups { code } userCount } } } }`);
    return sentNotifications.nodes.reverse();
  }

  /** Sends a message to a user and returns its id. */
  async message(receiver, title, more = {}) {
    const { content = {}, ...rest } = more;
    const i = { type: 'news', receiver, content: { title, ...content }, ...rest };
    const { sendMessage } = await this.ask('mutation($i: SendMessageInput!) { sendMessage(input: $i) { notification { id } } }', { i });
    return sendMessage.notification.id;
  }

  async announce(title, audience = { everyone: true }, more = {}) {
    const i = { type: 'news', audience, content: { title }, ...more };
    const { sendAnnouncement } = await this.ask('mutation($i: SendAnnouncementInput!) { sendAnnouncement(input: $i) { notification { id } } }', { i });
    return sendAnnouncement.notification.id;
  }

  /**
   * An open subscription of a user. Reads all events: an unread response body is closed when it is garbage-collected.
   */
  async session(sub) {
    const stop = new AbortController();
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token(this.name, sub, 'user')}` };
    const body = JSON.stringify({ query: 'subscription { overviewChanged { overview { cursor } } }' });
    const answer = await fetch(`http://127.0.0.1:${this.server.port}/graphql`, { method: 'POST', headers, body, signal: stop.signal });
    if (!answer.ok) throw new Error(await answer.text());
    const heard = answer.text().catch(() => {});
    return { close: () => (stop.abort(), heard) };
  }

  /** The titles in a user's inbox, newest first. */
  async titles(id, filter) {
    const { inboxUser } = await this.ask('query($id: ID!, $filter: InboxFilter) { inboxUser(id: $id) { inbox(first: 50, filter: $filter) { nodes { title } } } }', { id, filter });
    return inboxUser?.inbox.nodes.map(({ title }) => title);
  }
}

/** The open dialog. */
export const dialog = (page) => page.getByRole('dialog');

/** Waits for this announcement to the user. */
export const said = (page, text) => page.locator('.said').filter({ hasText: text }).waitFor();
