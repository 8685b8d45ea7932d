// Measures the figures of docs/ui.md in Chromium against the binary (`TIDINGS_BIN`, default: the debug build): `node
// tests/clients/ui/figures.mjs`, or only some of `count heap interactions`; `RUNS` sets the number of runs. Prints
// medians and asserts nothing, because machines differ.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { chromium } from 'playwright-core';

import { Server, token } from '../server.mjs';
import { until } from './scene.mjs';

const RUNS = Number(process.env.RUNS ?? 7);

/** Round-trip time in milliseconds, and bits per second down and up. */
const LINES = {
  'LTE (70 ms, 12 Mbit/s)': [70, 12e6, 12e6],
  '4G (170 ms, 9 Mbit/s)': [170, 9e6, 9e6],
};

const ITEMS = 500;

const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
const ms = (value) => `${Math.round(value)} ms`;

const said = (name, value) => console.log(`${name.padEnd(72)} ${value}`);

/** The shop page of docs/ui.md, with a backend that issues tokens; `/bare` has no bell. */
async function shop(server) {
  const pages = createServer((request, response) => {
    if (request.url === '/token') return response.end(token('shop', 'ada'));
    response.setHeader('content-type', 'text/html');
    const bell = `<script type="module" src="${server}/ui/1/tidings.js"></script><tidings-bell cap="99"></tidings-bell>
<script type="module">document.querySelector('tidings-bell').token = async () => (await fetch('/token')).text();</script>`;
    response.end(`<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Shop</title>${request.url === '/bare' ? '' : bell}`);
  }).listen(0, '127.0.0.1');
  await once(pages, 'listening');
  return pages;
}

/** Records when the count is painted: one frame after the event. */
const WATCH = () => {
  addEventListener('tidings-overview', () => {
    if (window.painted) return;
    requestAnimationFrame(() => setTimeout(() => (window.painted ??= performance.now())));
  });
  window.slow = [];
  new PerformanceObserver((list) => {
    for (const { interactionId, name, duration } of list.getEntries()) if (interactionId) window.slow.push({ name, duration });
  }).observe({ type: 'event', durationThreshold: 16 });
};

async function page(context, slowness = 1, line) {
  const made = await context.newPage();
  const session = await context.newCDPSession(made);
  await made.addInitScript(WATCH);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowness });
  if (line) {
    const [latency, down, up] = line;
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency,
      downloadThroughput: down / 8,
      uploadThroughput: up / 8,
    });
  }
  return { page: made, session };
}

/** Time from requesting the script, and from its arrival, until the count is visible; then the same after a reload. */
async function count(browser, origin) {
  for (const [name, line] of Object.entries(LINES)) {
    const found = { requested: [], arrived: [], again: [] };
    for (let run = 0; run < RUNS; run++) {
      const context = await browser.newContext();
      const { page: shown } = await page(context, 4, line);
      const times = async () => {
        await shown.waitForFunction(() => window.painted);
        return shown.evaluate(() => {
          const scripts = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/ui/1/'));
          const entry = scripts.find(({ name }) => name.endsWith('/tidings.js'));
          const chunk = scripts.find(({ name }) => name.includes('/chunk-'));
          return { requested: window.painted - entry.startTime, arrived: window.painted - chunk.responseEnd };
        });
      };
      await shown.goto(origin);
      const first = await times();
      found.requested.push(first.requested);
      found.arrived.push(first.arrived);
      await sleep(500);
      await shown.reload();
      found.again.push((await times()).requested);
      await context.close();
    }
    said(`count, ${name}, CPU 4 × slower: from the request of the script`, ms(median(found.requested)));
    said(`count, ${name}, CPU 4 × slower: from its arrival`, ms(median(found.arrived)));
    said(`count, ${name}, CPU 4 × slower: the tab loaded again`, ms(median(found.again)));
  }
}

/** Loads the whole list, page by page. */
async function fetchAll(shown) {
  await shown.locator('article').first().waitFor();
  await until(
    'all items',
    async () => {
      const more = shown.locator('.more');
      if (await more.count()) await more.scrollIntoViewIfNeeded().catch(() => {});
      return shown.locator('article').count();
    },
    (length) => length === ITEMS,
    120_000,
  );
}

async function openAll(shown) {
  await shown.locator('tidings-bell .bell').click();
  await fetchAll(shown);
}

/** The slowest interaction with a long list (Interaction to Next Paint), and how soon a mark is visible. */
async function interactions(browser, origin) {
  for (const [round, slowness] of [1, 4].entries()) {
    const [slowest, marks, by] = [[], [], new Map()];
    const context = await browser.newContext({ viewport: { width: 900, height: 760 } });
    const { page: shown } = await page(context, slowness);
    await shown.goto(origin);
    await openAll(shown);
    await shown.evaluate(() => {
      const root = document.querySelector('tidings-bell').shadowRoot.querySelector('tidings-inbox').shadowRoot;
      root.querySelector('.scroller').scrollTo(0, 0);
      root.addEventListener('pointerup', (event) => (window.down = { at: event.timeStamp }), true);
      new MutationObserver(() => {
        if (window.down && !window.down.seen) window.down.seen = performance.now() - window.down.at;
      }).observe(root.querySelector('.feed'), { subtree: true, attributes: true, attributeFilter: ['class'] });
    });
    const act = async (name, what) => {
      await shown.evaluate(() => (window.slow = []));
      await what();
      await sleep(400);
      const worst = Math.max(0, ...(await shown.evaluate(() => window.slow.map(({ duration }) => duration))));
      by.set(name, [...(by.get(name) ?? []), worst]);
      return worst;
    };
    for (let run = 0; run < RUNS; run++) {
      const article = shown.locator('article').nth(round * RUNS + run);
      await article.hover();
      const all = [];
      all.push(await act('mark', () => article.locator('[data-act=markRead]').click()));
      marks.push(await shown.evaluate(() => window.down.seen));
      all.push(await act('key', () => shown.keyboard.press('PageDown')));
      all.push(await act('unread', () => shown.getByRole('button', { name: 'Unread', exact: true }).click()));
      all.push(await act('inbox', () => shown.getByRole('button', { name: 'Inbox', exact: true }).click()));
      await fetchAll(shown);
      all.push(await act('close', () => shown.keyboard.press('Escape')));
      all.push(await act('open', () => shown.locator('tidings-bell .bell').click()));
      slowest.push(Math.max(...all));
      await fetchAll(shown);
    }
    const each = [...by].map(([name, values]) => `${name} ${median(values)}`).join(', ');
    said(`slowest interaction with ${ITEMS} items, CPU ${slowness} × slower`, `${ms(median(slowest))} (${each})`);
    said(`from the click to the mark in the document, CPU ${slowness} × slower`, `${median(marks).toFixed(1)} ms`);
    await context.close();
  }
}

/** The extra heap of a tab compared to the same page without a bell, after garbage collection. */
async function heap(browser, origin) {
  const used = async (address, prepare) => {
    const context = await browser.newContext({ viewport: { width: 900, height: 760 } });
    const { page: shown, session } = await page(context);
    await shown.goto(address);
    await prepare(shown);
    await session.send('HeapProfiler.enable');
    for (let n = 0; n < 3; n++) await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    await context.close();
    return usedSize;
  };
  const counted = (shown) => shown.waitForFunction(() => window.painted);
  const cases = {
    'with a count': (shown) => counted(shown).then(() => sleep(4000)),
    'with the panel open': async (shown) => {
      await counted(shown);
      await shown.locator('tidings-bell .bell').click();
      await shown.locator('article').first().waitFor();
      await sleep(1000);
    },
    [`with ${ITEMS} items listed`]: (shown) => counted(shown).then(() => openAll(shown)),
  };
  for (const [name, prepare] of Object.entries(cases)) {
    const more = [];
    for (let run = 0; run < Math.min(RUNS, 5); run++) more.push((await used(origin, prepare)) - (await used(`${origin}/bare`, () => sleep(500))));
    said(`heap of a tab, ${name}`, `${(median(more) / 1e6).toFixed(1)} MB`);
  }
}

/** A server with a user who has this many items. */
async function filled() {
  const server = await Server.start({ TIDINGS_ORIGINS: '*' });
  for (const type of ['comment', 'release'])
    await server.ask(token('shop', 'root', 'admin'), 'mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }', {
      i: { code: type, title: type },
    });
  const inputs = Array.from({ length: ITEMS }, (_, n) => ({
    message: {
      type: n % 2 ? 'comment' : 'release',
      receiver: 'ada',
      content: { title: `Item ${n + 1} of a long list`, body: 'What one reads below its title, in a sentence or two.', link: '/x' },
    },
  }));
  const send = 'mutation($i: [SendNotificationInput!]!) { sendNotifications(inputs: $i) { replayed } }';
  await server.ask(token('shop', 'shop', 'service'), send, { i: inputs });
  return server;
}

const server = await filled();
const pages = await shop(`http://127.0.0.1:${server.port}`);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  const origin = `http://127.0.0.1:${pages.address().port}`;
  console.log(`Chromium ${browser.version()}, medians of ${RUNS}`);
  const chosen = process.argv.slice(2);
  for (const measure of [count, heap, interactions]) {
    if (chosen.length === 0 || chosen.includes(measure.name)) await measure(browser, origin);
  }
} finally {
  await browser.close();
  pages.close();
  await server.remove();
}
