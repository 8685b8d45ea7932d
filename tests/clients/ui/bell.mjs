// What a user does on one page: the count, the panel, filters, marks, and a long list.

import assert from 'node:assert/strict';

import { openBell, shown, until } from './scene.mjs';

const titles = (page) => page.evaluate(() => window.titles());

export async function bell(scene) {
  const tenant = await scene.tenant();
  await tenant.send(
    'ada',
    Array.from({ length: 40 }, (_, n) => ({ title: `Comment ${n + 1}`, link: `/c/${n + 1}` })),
  );
  const device = await scene.device(tenant, 'ada');
  const page = await device.open();
  await until(
    'the count',
    async () => (await shown(page)).badge,
    (badge) => badge === 40,
  );

  // The bell rings for new items, but not for those present at load.
  assert.equal(await page.locator('.bell.rings').count(), 0);
  await tenant.send('ada', ['Version 2 is out', 'Version 3 is out'], 'release');
  await page.locator('.bell.rings').waitFor();
  await until(
    'the count',
    async () => (await shown(page)).badge,
    (badge) => badge === 42,
  );

  // Scrolling loads more items until the list ends.
  await openBell(page);
  assert.equal((await shown(page)).items.length, 30);
  await page.locator('article').last().scrollIntoViewIfNeeded();
  await page.locator('.end').scrollIntoViewIfNeeded();
  await until(
    'all items',
    async () => (await shown(page)).items.length,
    (length) => length === 42,
  );
  assert.equal(await page.locator('.more').count(), 0);
  const all = await titles(page);
  assert.deepEqual(
    all,
    ['Version 3 is out', 'Version 2 is out', ...Array.from({ length: 40 }, (_, n) => `Comment ${40 - n}`)].sort(
      (one, other) => all.indexOf(one) - all.indexOf(other),
    ),
  );
  assert.equal(new Set(all).size, 42);

  // Tabs by type, with counts.
  assert.deepEqual((await shown(page)).tabs, { '': 42, comment: 40, release: 2 });
  await page.getByRole('tab', { name: 'Releases, 2 unread' }).click();
  await until(
    'two releases',
    () => titles(page),
    (found) => found.length === 2 && found.every((title) => title.startsWith('Version')),
  );

  // Marks of one item.
  const item = (title) => page.locator('article', { has: page.getByText(title, { exact: true }) });
  await item('Version 2 is out').hover();
  await item('Version 2 is out').getByRole('button', { name: 'Mark as read' }).click();
  await until(
    'one less',
    async () => (await shown(page)).tabs,
    ({ release }) => release === 1,
  );
  await page.getByRole('button', { name: 'Unread', exact: true }).click();
  await until(
    'unread alone',
    () => titles(page),
    (found) => found.join() === 'Version 3 is out',
  );
  await page.getByRole('button', { name: 'Inbox', exact: true }).click();
  await until(
    'both',
    () => titles(page),
    (found) => found.length === 2,
  );
  await item('Version 2 is out').getByRole('button', { name: 'Mark as unread' }).click();
  await until(
    'unread again',
    async () => (await shown(page)).tabs,
    ({ release }) => release === 2,
  );
  await item('Version 2 is out').getByRole('button', { name: 'Archive' }).click();
  await until(
    'archived',
    () => titles(page),
    (found) => found.join() === 'Version 3 is out',
  );
  await page.getByRole('button', { name: 'Archived', exact: true }).click();
  await until(
    'the archive',
    () => titles(page),
    (found) => found.join() === 'Version 2 is out',
  );
  await item('Version 2 is out').getByRole('button', { name: 'Move to inbox' }).click();
  await page.getByRole('button', { name: 'Inbox', exact: true }).click();
  await until(
    'back',
    () => titles(page),
    (found) => found.length === 2,
  );
  await item('Version 2 is out').getByRole('button', { name: 'Delete' }).click();
  await until(
    'deleted',
    () => titles(page),
    (found) => found.join() === 'Version 3 is out',
  );

  // “Mark all” marks all items of the tab, and no others.
  await page.getByRole('button', { name: 'Mark all as read' }).click();
  await until(
    'all read',
    async () => (await shown(page)).tabs,
    ({ release, comment }) => release === 0 && comment === 40,
  );

  // Opening marks an item as read; the page may handle navigation instead of the link.
  await page.getByRole('tab', { name: /^Comments/ }).click();
  await until(
    'comments',
    () => titles(page),
    (found) => found[0]?.startsWith('Comment'),
  );
  await page.evaluate(() => (window.prevents = true));
  const [first] = await titles(page);
  await page.getByRole('link', { name: first, exact: true }).click();
  await until(
    'one less',
    async () => (await shown(page)).badge,
    (badge) => badge === 39,
  );
  assert.ok((await page.evaluate(() => window.events)).some(({ name, title }) => name === 'open' && title === first));
  assert.equal(new URL(page.url()).pathname, '/');
  await page.evaluate(() => (window.prevents = false));
  const [, second] = await titles(page);
  await page.getByRole('link', { name: second, exact: true }).click();
  await page.getByText('Elsewhere').waitFor();
  await until(
    'read before it left',
    async () => (await tenant.truth('ada')).badge,
    (badge) => badge === 38,
  );

  // Preferences, in the panel and through the API.
  await page.goBack();
  await openBell(page);
  await page.getByRole('button', { name: 'Preferences' }).click();
  await page.getByRole('switch', { name: 'Comments' }).click();
  const WANTED = '{ viewer { preferences { types { code enabled } } } }';
  const isWanted = async () =>
    (await tenant.ask('ada', WANTED)).viewer.preferences.types.find(({ code }) => code === 'comment').enabled;
  await until('switched off', isWanted, (enabled) => !enabled);
  assert.ok(await page.getByRole('switch', { name: /^Billing/ }).isDisabled());
  assert.deepEqual(device.complaints, []);
  await device.close();
}

/** A browser without popovers: the panel positions itself. */
export async function withoutPopover(scene) {
  const tenant = await scene.tenant();
  await tenant.send('ada', ['Hello']);
  const device = await scene.device(tenant, 'ada');
  const page = await device.open({ popover: 'none' });
  await openBell(page);
  const box = await page.locator('tidings-bell [role=dialog]').boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 900 && box.y > 0 && box.y + box.height <= 760, JSON.stringify(box));
  await page.keyboard.press('Escape');
  await page.locator('tidings-bell [role=dialog]').waitFor({ state: 'hidden' });
  await device.close();
}

/** Two versions of the package on one page: the first gets the element names, both work, each opens its own inbox. */
export async function versions(scene) {
  const tenant = await scene.tenant();
  await tenant.send('ada', ['Hello']);
  const device = await scene.device(tenant, 'ada');
  const page = await device.open();
  await page.evaluate((address) => import(address), `${scene.files.origin}/ui/2/tidings.js`);
  await until(
    'both',
    () =>
      page.evaluate(
        () =>
          ['tidings-bell', 'tidings-bell-2', 'tidings-inbox', 'tidings-inbox-2'].filter((name) => customElements.get(name))
            .length,
      ),
    (count) => count === 4,
  );
  await page.evaluate(() => {
    const other = document.createElement('tidings-bell-2');
    other.setAttribute('server', document.querySelector('tidings-bell').getAttribute('server'));
    other.token = () => window.askToken();
    document.querySelector('main').prepend(other);
  });
  for (const [bell, inbox] of [
    ['tidings-bell', 'tidings-inbox'],
    ['tidings-bell-2', 'tidings-inbox-2'],
  ]) {
    await page.locator(`${bell} .bell`).click();
    await page.locator(`${bell} [role=dialog] article, ${bell} ${inbox} article`).first().waitFor();
    const opened = await page.evaluate(
      (bell) =>
        [...document.querySelector(bell).shadowRoot.querySelector('[role=dialog]').children].map(({ localName }) => localName),
      bell,
    );
    assert.equal(opened.length, 1);
    assert.match(opened[0], /^tidings-inbox(-2)?$/);
    await page.keyboard.press('Escape');
  }
  assert.deepEqual(device.complaints, []);
  await device.close();
}
