// A page that loses its network for a while: marks are kept, shown, and sent in order.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { openBell, shown, until } from './scene.mjs';

const BANNERS = {
  en: 'No connection',
  de: 'Keine Verbindung',
  fr: 'Pas de connexion',
  es: 'Sin conexión',
  pt: 'Sem conexão',
  ru: 'Нет соединения',
  ja: '接続がありません',
  'zh-CN': '没有连接',
  ar: 'لا يوجد اتصال',
};

const inside = (page, selector) => page.locator(`tidings-bell ${selector}`);
const article = (page, title) => inside(page, 'article').filter({ hasText: title });
const act = (page, title, name) => article(page, title).locator(`[data-act=${name}]`).click();
const banner = (page) => inside(page, '.banner.offline');
const view = (page, name) => inside(page, `[data-view=${name}]`).click();

/** How long a mark may take to reach the server after the network is back, on a busy machine, in milliseconds. */
const SOON = 10_000;

export async function offline(scene) {
  const tenant = await scene.tenant();
  const titles = ['One', 'Two', 'Three', 'Four', 'Five'];
  for (const title of titles) await tenant.send('ada', [title]);
  const device = await scene.device(tenant, 'ada');
  const page = await device.open();
  await openBell(page);
  const marks = [];
  // The marks that got a response; attempts fail until then.
  page.on('response', (response) => {
    const request = response.request();
    const name = request.method() === 'POST' && request.postDataJSON().query?.match(/^mutation (\w+)/)?.[1];
    if (name) marks.push(name);
  });

  await device.context.setOffline(true);
  await act(page, 'One', 'markRead');
  await act(page, 'Two', 'archive');
  await act(page, 'Three', 'remove');
  await act(page, 'Four', 'markRead');
  await act(page, 'Four', 'markUnread');
  await banner(page).filter({ hasText: 'No connection' }).waitFor();
  const asMade = async () => (await page.evaluate(() => window.titles())).join();
  assert.equal(await asMade(), 'Five,Four,One');
  await article(page, 'One').and(page.locator(':not(.item-unread)')).waitFor();
  // While offline, nothing is undone or reported as an error, despite retries.
  await sleep(5_000);
  assert.equal(await asMade(), 'Five,Four,One');
  assert.equal(await page.getByText('Something went wrong').count(), 0);
  assert.equal(await banner(page).count(), 1);
  assert.equal((await tenant.truth('ada')).badge, 5, 'nothing has reached the server');

  // Another device deletes one of the marked items; it does not reappear.
  const other = await tenant.ask('ada', '{ viewer { inbox(first: 10) { nodes { id title } } } }');
  const idOf = (title) => other.viewer.inbox.nodes.find((node) => node.title === title).id;
  await tenant.ask('ada', 'mutation($id: ID!) { deleteItems(select: { ids: [$id] }) { changedCount } }', { id: idOf('One') });

  assert.deepEqual(marks, []);
  const back = Date.now();
  await device.context.setOffline(false);
  await banner(page).waitFor({ state: 'detached', timeout: SOON });
  await until('the server has all marks', () => tenant.truth('ada'), ({ badge, items }) => badge === 2 && items.length === 2, SOON);
  // The last two marks undo each other.
  await until('all marks are answered', () => marks.length, (count) => count >= 5, SOON);
  const took = Date.now() - back;
  assert.deepEqual(marks, ['MarkRead', 'ArchiveItems', 'DeleteItems', 'MarkRead', 'MarkUnread']);
  await until('the page is the server\'s', async () => [await asMade(), (await shown(page)).badge].join(), (seen) => seen === 'Five,Four,2');
  assert.equal(await page.getByText('Something went wrong').count(), 0);
  await view(page, 'archive');
  await until('what is archived', asMade, (seen) => seen === 'Two');
  await view(page, 'inbox');

  // “Mark all”; items that arrive meanwhile stay unread.
  await until('the inbox', asMade, (seen) => seen === 'Five,Four');
  await device.context.setOffline(true);
  await inside(page, '.markAll').click();
  await banner(page).waitFor();
  await tenant.send('ada', ['Six']);
  await device.context.setOffline(false);
  await until('all but the newest', () => tenant.truth('ada'), ({ badge }) => badge === 1, SOON);
  await until('the page', async () => [await asMade(), (await shown(page)).badge].join(), (seen) => seen === 'Six,Five,Four,1');

  // A mark that the server refuses is undone and reported.
  await page.route('**/graphql', (route) =>
    route.request().postData()?.includes('mutation ArchiveItems')
      ? route.fulfill({ json: { errors: [{ message: 'no', extensions: { code: 'FORBIDDEN' } }] }, headers: { 'access-control-allow-origin': '*' } })
      : route.continue(),
  );
  await device.context.setOffline(true);
  await act(page, 'Six', 'archive');
  await banner(page).waitFor();
  await device.context.setOffline(false);
  await inside(page, '.banner.failed').filter({ hasText: 'Something went wrong' }).waitFor({ timeout: SOON });
  await until('undone', asMade, (seen) => seen === 'Six,Five,Four');
  await device.close();

  // The banner exists in every language.
  const speaker = await scene.device(tenant, 'ada');
  for (const [lang, text] of Object.entries(BANNERS)) {
    const page = await speaker.open({ store: 'offline-items', lang });
    await inside(page, '.bell').click();
    await banner(page).filter({ hasText: text }).waitFor();
    await page.close();
  }
  await speaker.close();
  return `${took} ms after the network was back the server had all`;
}
