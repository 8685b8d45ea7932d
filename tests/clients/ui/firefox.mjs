// The elements in Debian's Firefox, over WebDriver BiDi: daily use, several tabs, a dark page, and a right-to-left
// page. `FIREFOX` names another browser; the test is skipped if there is none.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';

import puppeteer from 'puppeteer-core';

import { token } from '../server.mjs';
import { metric, shown, until } from './scene.mjs';

const FIREFOX = process.env.FIREFOX ?? '/usr/bin/firefox-esr';

const TABS = 4;

export async function firefox(scene) {
  if (!existsSync(FIREFOX)) return `skipped: there is no ${FIREFOX}`;
  const server = await scene.another();
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, headless: true });
  try {
    const version = await browser.version();
    const window = new Window(scene, browser, await scene.tenant(server));
    await daily(window);
    await severalTabs(window);
    await looks(window);
    assert.deepEqual(window.complaints, []);
    return `${version}: a day's use, ${TABS} tabs by 1 session, dark, right to left`;
  } finally {
    await browser.close();
    await server.remove();
  }
}

class Window {
  complaints = [];

  constructor(scene, browser, tenant) {
    Object.assign(this, { scene, browser, tenant });
  }

  /** Opens a page; pages.mjs lists the parameters of `query`. */
  async open(query = {}) {
    const page = await this.browser.newPage();
    await page.setViewport({ width: 900, height: 760 });
    page.on('console', (message) => message.type() === 'error' && this.complaints.push(message.text()));
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    await page.exposeFunction('askToken', () => token(this.tenant.name, 'ada'));
    const search = new URLSearchParams({ server: `http://127.0.0.1:${this.tenant.server.port}`, ...query });
    await page.goto(`${this.scene.pages.origin}/?${search}`);
    return page;
  }
}

const inBell = (page, selector) => page.locator(`tidings-bell >>> ${selector}`);

const badge = (page, count) =>
  until(
    `the count ${count}`,
    async () => (await shown(page)).badge,
    (badge) => badge === count,
  );

const titles = (page, what, isSo) => until(what, () => page.evaluate(() => window.titles()), isSo);

/** The focused element, through all shadow roots. */
const focus = (page) =>
  page.evaluate(() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return `${at.localName} ${at.getAttribute('aria-label') ?? at.textContent.trim()}`;
  });

/** Counts, ringing, lists and marks, by mouse and keyboard. */
async function daily(window) {
  const { tenant } = window;
  await tenant.send(
    'ada',
    Array.from({ length: 35 }, (_, n) => ({ title: `Comment ${n + 1}`, link: `/c/${n + 1}` })),
  );
  const page = await window.open();
  await badge(page, 35);
  const rings = () => page.evaluate(() => document.querySelector('tidings-bell').shadowRoot.querySelector('.rings') !== null);
  assert.equal(await rings(), false);
  await tenant.send('ada', ['Version 2 is out', 'Version 3 is out'], 'release');
  await until('it rings', rings);
  await badge(page, 37);

  await inBell(page, '.bell').click();
  await titles(page, 'the first page', ({ length }) => length === 30);
  assert.match(await focus(page), /^div Notifications/);
  await page.evaluate(() => {
    const root = document.querySelector('tidings-bell').shadowRoot.querySelector('tidings-inbox').shadowRoot;
    root.querySelector('.end').scrollIntoView();
  });
  await titles(page, 'all of the list', ({ length }) => length === 37);

  await inBell(page, '[role=tab][data-type=release]').click();
  await titles(page, 'two releases', (found) => found.join() === 'Version 3 is out,Version 2 is out');
  await inBell(page, 'article').hover();
  await inBell(page, 'article [data-act=markRead]').click();
  await badge(page, 36);
  await inBell(page, '.views [data-view=unread]').click();
  await titles(page, 'unread alone', (found) => found.join() === 'Version 2 is out');
  await inBell(page, 'article [data-act=archive]').click();
  await titles(page, 'archived', ({ length }) => length === 0);
  await inBell(page, '.views [data-view=inbox]').click();
  await inBell(page, '[role=tab][data-type=comment]').click();
  await titles(page, 'comments', (found) => found[0] === 'Comment 35');

  // By keyboard: move to the next item, open it with Enter; the page then navigates to its link.
  await page.keyboard.press('Tab');
  for (let tries = 0; !(await focus(page)).startsWith('article'); tries++) {
    assert.ok(tries < 20, await focus(page));
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('PageDown');
  assert.match(await focus(page), /^article .*Comment 34/s);
  await page.keyboard.press('Escape');
  assert.match(await focus(page), /^button Notifications, \d+ unread$/);
  await inBell(page, '.bell').click();
  await titles(page, 'comments again', (found) => found[0] === 'Comment 35');
  const gone = page.waitForNavigation();
  await inBell(page, 'article a.open').click();
  await gone;
  assert.equal(new URL(page.url()).pathname, '/c/35');
  await until(
    'read before it left',
    () => tenant.truth('ada'),
    (truth) => truth.badge === 34,
  );
  await page.close();
}

/** All tabs share one session, and still show the same after the tab that led is closed. */
async function severalTabs(window) {
  const { tenant } = window;
  const sessions = () => metric(tenant.server, 'tidings_sessions');
  const pages = [];
  for (let n = 0; n < TABS; n++) pages.push(await window.open());
  for (const page of pages) await badge(page, 34);
  await until('one session', sessions, (count) => count === 1);
  await tenant.send('ada', ['One more']);
  for (const page of pages) await badge(page, 35);
  // The first tab was the leader.
  await pages.shift().close();
  await tenant.send('ada', ['And another']);
  for (const page of pages) await badge(page, 36);
  await until('one session again', sessions, (count) => count === 1);
  for (const page of pages) await page.close();
  await until('no session', sessions, (count) => count === 0);
}

/** A dark page has a dark panel; a right-to-left page opens it to the other side, inside the window. */
async function looks(window) {
  const seen = {};
  for (const [name, query] of Object.entries({ light: { scheme: 'light' }, dark: { scheme: 'dark' }, rtl: { lang: 'ar', dir: 'rtl' } })) {
    const page = await window.open({ store: 'ready', ...query });
    await inBell(page, '.bell').click();
    await titles(page, 'items', ({ length }) => length > 0);
    await page.evaluate(() => Promise.all(document.querySelector('tidings-bell').shadowRoot.getAnimations().map(({ finished }) => finished)));
    seen[name] = await page.evaluate(() => {
      const { shadowRoot } = document.querySelector('tidings-bell');
      const panel = shadowRoot.querySelector('.panel');
      const { left, right, top, bottom } = panel.getBoundingClientRect();
      const bell = shadowRoot.querySelector('.bell').getBoundingClientRect();
      const lead = shadowRoot.querySelector('tidings-inbox').shadowRoot.querySelector('.lead').getBoundingClientRect();
      const light = getComputedStyle(panel).backgroundColor.match(/[\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
      return {
        isDark: light < 200,
        isBelow: top >= bell.bottom && bottom <= innerHeight && left >= 0 && right <= innerWidth,
        side: bell.left < innerWidth / 2 ? 'left' : 'right',
        lead: lead.left < (left + right) / 2 ? 'left' : 'right',
      };
    });
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/firefox-${name}.png` });
    await page.close();
  }
  const light = { isDark: false, isBelow: true, side: 'right', lead: 'left' };
  assert.deepEqual(seen, { light, dark: { ...light, isDark: true }, rtl: { ...light, side: 'left', lead: 'right' } });
}
