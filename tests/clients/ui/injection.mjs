// Texts with markup stay text, under a content security policy that allows only the scripts and the server, with
// Trusted Types enforced.

import assert from 'node:assert/strict';

import { openBell, shown, until } from './scene.mjs';

const TITLES = [
  '<img src=x onerror="window.hacked = 1">',
  '<script>window.hacked = 1</script>',
  '"><svg onload=window.hacked=1>',
  "' onclick='window.hacked=1",
  '${window.hacked = 1} {{constructor.constructor("window.hacked=1")()}}',
  '&lt;b&gt;not bold&lt;/b&gt; <b>nor this</b>',
  '$& $1 $` {n} {title}',
  'invoice\u202Efdp.exe \u2066 \u202Dabc',
  '😀'.repeat(128),
  '👩‍👩‍👧‍👦'.repeat(20),
  'Z̸̡̢̛̗a̵͎̅l̷̰̈g̶̣̾o̴͚͘ '.repeat(4),
  'nobreak'.repeat(30),
];

/** Links that must not become clickable. The server itself refuses most of them, so a mock store supplies them. */
const LINKS = [
  'javascript:window.hacked=1',
  'JaVaScRiPt:alert(1)',
  ' javascript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,<script>1</script>',
  'vbscript:x',
  'file:///etc/passwd',
  'blob:x',
  'relative',
  '',
  '#',
];
const GOOD = ['/orders', 'https://example.com/?a=1&b=2', 'http://example.com/', '/a b'];

export async function injection(scene) {
  const tenant = await scene.tenant();
  const sender = '<img src=x onerror=window.hacked=1>';
  await tenant.server.ask(tenant.service, 'mutation($i: [UserProfileInput!]!) { saveUserProfiles(inputs: $i) { id } }', {
    i: [{ id: 'mallory', name: sender }],
  });
  await tenant.send(
    'ada',
    TITLES.map((title) => ({ title, body: title, link: '/orders' })),
    'comment',
    'mallory',
  );
  const device = await scene.device(tenant, 'ada');
  const page = await device.open({ csp: 'strict' });
  await openBell(page);
  await until(
    'all of them',
    async () => (await shown(page)).items.length,
    (length) => length === TITLES.length,
  );
  const titles = await page.evaluate(() => window.titles());
  // The server closes what a title leaves open, so that it cannot turn the page's text.
  const seen = TITLES.map((title) => (title.includes('\u202E') ? `${title}\u202C\u2069\u202C` : title));
  assert.deepEqual([...titles].sort(), seen.sort());
  const found = await page.evaluate(() => {
    const root = document.querySelector('tidings-bell').shadowRoot.querySelector('tidings-inbox').shadowRoot;
    const names = new Set([...root.querySelectorAll('article *')].map(({ localName }) => localName));
    const attributes = new Set([...root.querySelectorAll('*')].flatMap((element) => element.getAttributeNames()));
    const styled = [document, root, document.querySelector('tidings-bell').shadowRoot].flatMap((at) => [
      ...at.querySelectorAll('[style], style'),
    ]).length;
    const overflow = [...root.querySelectorAll('article')].filter(
      (article) => article.scrollWidth > article.clientWidth + 1,
    ).length;
    return {
      names: [...names].sort(),
      handlers: [...attributes].filter((name) => name.startsWith('on')),
      styled,
      overflow,
      hacked: window.hacked,
      policy: window.policy,
    };
  });
  assert.deepEqual(found.names, ['a', 'bdi', 'button', 'div', 'h3', 'p', 'path', 'span', 'svg', 'time']);
  assert.deepEqual({ ...found, names: 0 }, { names: 0, handlers: [], styled: 0, overflow: 0, hacked: undefined, policy: [] });
  for (const rel of await page.locator('tidings-bell a.open').evaluateAll((links) => links.map((link) => link.rel)))
    assert.equal(rel, 'noopener');

  // The bell announces such a title as text, too.
  await tenant.send('ada', [TITLES[0]]);
  await until(
    'the announcement',
    () => page.evaluate(() => document.querySelector('tidings-bell').shadowRoot.querySelector('[role=status]').textContent),
    (text) => text === `New notification: ${TITLES[0]}`,
  );
  assert.deepEqual(device.complaints, []);

  // Preferences and actions also work under this policy.
  await until(
    'it in the list',
    async () => (await shown(page)).items.length,
    (length) => length === TITLES.length + 1,
  );
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await until(
    'all read',
    async () => (await shown(page)).badge,
    (badge) => badge === 0,
  );
  await page.getByRole('button', { name: 'Preferences' }).click();
  await page.getByRole('switch').first().waitFor();
  assert.deepEqual(await page.evaluate(() => window.policy), []);

  const made = await device.context.newPage();
  await made.addInitScript(
    (links) => {
      window.ITEMS = links.map((link, n) => ({
        id: String(n),
        notificationId: String(n),
        cursor: String(n),
        kind: 'MESSAGE',
        title: `Link ${n}`,
        body: null,
        link,
        data: null,
        type: { code: 'comment', title: 'Comments', icon: link },
        createdAt: new Date().toISOString(),
        isRead: false,
        isArchived: false,
        sender: { id: 'x', name: 'x', avatarUrl: link },
      }));
    },
    [...LINKS, ...GOOD],
  );
  await made.goto(`${scene.pages.origin}/?store=ready&el=inbox&csp=types`);
  await made.locator('article').first().waitFor();
  const hrefs = await made
    .locator('article')
    .evaluateAll((articles) => articles.map((article) => article.querySelector('a')?.getAttribute('href') ?? null));
  assert.deepEqual(hrefs, [...LINKS.map(() => null), ...GOOD]);
  const pictures = await made.locator('article img').evaluateAll((images) => images.map((image) => image.getAttribute('src')));
  assert.deepEqual(pictures, [GOOD[1]]);
  await device.close();
  return `${TITLES.length} titles, ${LINKS.length} links`;
}
