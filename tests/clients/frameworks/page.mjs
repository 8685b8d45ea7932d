// What a user does with the bell of a page, the same for every framework.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { extname } from 'node:path';

import { chromium } from 'playwright-core';

import { Server, token } from '../server.mjs';
import { metric, Tenant, TYPES, until } from '../ui/scene.mjs';

const KINDS = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8' };

/** A server, a web server for pages of another origin, and a browser. */
export class Stage {
  files = new Map();

  static async start() {
    const stage = new Stage();
    stage.pages = createServer((request, response) => stage.answer(request, response)).listen(0, '127.0.0.1');
    await once(stage.pages, 'listening');
    stage.origin = `http://127.0.0.1:${stage.pages.address().port}`;
    stage.server = await Server.start({ TIDINGS_ORIGINS: stage.origin });
    stage.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update',
        '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
      ],
    });
    return stage;
  }

  /** Serves a page. Replaces the placeholder address of the server in the examples. */
  answer({ url }, response) {
    const name = url === '/' ? 'index.html' : url.slice(1);
    if (name === 'tidings-token') {
      this.tokens++;
      return response.end(token(this.tenant, 'ada'));
    }
    const text = this.files.get(name)?.replaceAll('https://tidings.example', `http://127.0.0.1:${this.server.port}`);
    response.writeHead(text !== undefined || name === 'favicon.ico' ? 200 : 404, { 'content-type': KINDS[extname(name)] ?? 'text/plain' });
    response.end(text);
  }

  async stop() {
    await this.browser.close();
    await this.server.remove();
    this.pages.close();
  }
}

export async function page(stage, name, files) {
  const { server } = stage;
  const tenant = new Tenant(name, server);
  for (const input of TYPES) {
    await server.ask(token(name, 'root', 'admin'), 'mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }', { i: input });
  }
  await tenant.send('ada', ['First', 'Second']);
  Object.assign(stage, { files, tenant: name, tokens: 0 });

  const context = await stage.browser.newContext();
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`));
  let sockets = 0;
  page.on('websocket', () => sockets++);
  const bell = (count) => page.getByRole('button', { name: count ? `Notifications, ${count} unread` : 'Notifications', exact: true });
  const item = (title) => page.locator('article', { has: page.getByText(title, { exact: true }) });
  const truth = async () => (await tenant.truth('ada')).badge;
  const sessions = (count) => until(`${count} sessions`, () => metric(server, 'tidings_sessions'), (found) => found === count);
  try {
    await page.goto(stage.origin);
    await bell(2).waitFor();
    assert.equal(await page.locator('.bell.rings').count(), 0);
    await sessions(1);

    // The bell rings.
    await tenant.send('ada', [{ title: 'Third', link: '/third' }]);
    await page.locator('.bell.rings').waitFor();
    await bell(3).click();
    await item('Third').waitFor();
    assert.equal(await page.locator('article').count(), 3);

    // Marking as read changes the count.
    await item('First').hover();
    await item('First').getByRole('button', { name: 'Mark as read' }).click();
    await bell(2).waitFor();

    // The framework gets the event of an opened item, and rendering again keeps the bell as it is.
    await page.getByRole('link', { name: 'Third', exact: true }).click();
    await page.locator('output', { hasText: /^Third$/ }).waitFor();
    await bell(1).waitFor();
    assert.equal(new URL(page.url()).pathname, '/');
    assert.equal(await truth(), 1);

    await page.keyboard.press('Escape');
    if (name.startsWith('react')) await hooks(page, tenant, bell, truth);
    assert.deepEqual({ tokens: stage.tokens, sockets }, { tokens: 1, sockets: 1 });

    // The bell is removed and added again.
    await page.getByRole('button', { name: 'Leave', exact: true }).click();
    await page.locator('tidings-bell').waitFor({ state: 'detached' });
    await sessions(0);
    await tenant.send('ada', ['Fifth']);
    await page.getByRole('button', { name: 'Return', exact: true }).click();
    await bell(await truth()).waitFor();
    await sessions(1);
    await page.getByRole('button', { name: 'Leave', exact: true }).click();
    await sessions(0);
    assert.deepEqual(complaints, []);
  } catch (error) {
    error.stack += `\ncomplaints: ${JSON.stringify(complaints)}\n${(await page.locator('body').innerHTML().catch(() => '')).slice(0, 2000)}`;
    throw error;
  } finally {
    await context.close();
    await sessions(0);
  }
}

/** The React hooks show the same store as the bell. */
async function hooks(page, tenant, bell, truth) {
  const unread = page.getByRole('region', { name: 'Unread' });
  const heading = (text) => unread.getByRole('heading', { name: text, exact: true }).waitFor();
  await heading('1 unread, the newest is Third');
  await tenant.send('ada', ['Fourth']);
  await heading('2 unread, the newest is Fourth');
  const list = (...wanted) => until('the list', () => unread.getByRole('listitem').allTextContents(), (texts) => texts.join() === wanted.join());
  await list('Fourth Read', 'Second Read');
  await unread.getByRole('listitem').filter({ hasText: 'Second' }).getByRole('button').click();
  await heading('1 unread, the newest is Fourth');
  await bell(1).waitFor();
  await list('Fourth Read');
  assert.equal(await truth(), 1);
}
