// Takes the pictures of docs/ui.md with a mock store, so that they do not vary; `PICTURES` names another folder.

import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const FOLDER = process.env.PICTURES ?? fileURLToPath(new URL('../../../docs/ui/', import.meta.url));

const PAGES = [
  ['light', {}, { colorScheme: 'light' }],
  ['dark', {}, { colorScheme: 'dark' }],
  ['rtl', { lang: 'ar', dir: 'rtl' }, { colorScheme: 'light' }],
  ['narrow', {}, { colorScheme: 'light', viewport: { width: 390, height: 760 } }],
];

export async function pictures(scene) {
  await mkdir(FOLDER, { recursive: true });
  const tenant = { name: 'nobody', server: scene.server };
  for (const [name, query, options] of PAGES) {
    const device = await scene.device(tenant, 'ada', { viewport: { width: 720, height: 700 }, ...options });
    const page = await device.open({ store: 'ready', ...query });
    await page.locator('tidings-bell .badge').waitFor();
    await page.locator('tidings-bell .bell').click();
    await page.locator('tidings-bell article').first().waitFor();
    await page.waitForTimeout(300);
    // With the mouse, because `hover` may scroll.
    const { x, y } = await page.locator('tidings-bell article').nth(1).boundingBox();
    if (name === 'light') await page.mouse.move(x + 100, y + 40);
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${FOLDER}/${name}.png` });
    await device.close();
  }
}

/** Pictures of further states, for review. */
export async function states(scene) {
  const tenant = { name: 'nobody', server: scene.server };
  const device = await scene.device(tenant, 'ada', { viewport: { width: 520, height: 700 } });
  for (const store of ['loading', 'empty', 'failed', 'offline', 'refused', 'offline-items', 'failed-items']) {
    const page = await device.open({ store, el: 'inbox' });
    await page.waitForTimeout(400);
    await page.screenshot({ path: `${FOLDER}/state-${store}.png` });
    await page.close();
  }
  const page = await device.open({ store: 'ready', el: 'preferences' });
  await page.waitForTimeout(300);
  await page.screenshot({ path: `${FOLDER}/state-preferences.png` });
  await device.close();
}
