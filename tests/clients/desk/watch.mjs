// The audit log, and the live status of the service.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { until } from './scene.mjs';

/** The audit log: filtered, with links to subjects, and as JSON lines without any content. */
export async function audit(scene, size) {
  const tenant = await scene.tenant();
  const id = await tenant.message('ada', 'A secret that no log has');
  await tenant.asService('mutation { addUserGroupMembers(code: "staff", users: ["chen", "dara"]) { code } }');
  await tenant.asService('mutation($id: ID!) { retractSentNotification(id: $id) { id } }', { id });
  const page = await scene.open(tenant, { size, path: '/desk/audit' });
  const acts = () => page.locator('tbody th').allInnerTexts();
  await until('the newest act first', acts, ([first]) => first === 'Retract sent notification');
  await page.getByLabel('Done by').fill('shop');
  await until('what the service did', acts, (found) => found.join() === 'Retract sent notification,Add user group members');
  await page.getByText('(2 users)').waitFor();
  await page.getByLabel('What', { exact: true }).selectOption('retractSentNotification');
  await until('what was retracted', acts, (found) => found.length === 1);
  await page.getByLabel('To', { exact: true }).selectOption('NOTIFICATION');
  await page.getByLabel('Which').fill(id);
  await until('the one', acts, (found) => found.length === 1);
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as JSON lines' }).click();
  const text = await readFile(await (await downloading).path(), 'utf8');
  const lines = text.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ action, actor, subject }) => [action, actor.name, actor.role, subject]), [['retractSentNotification', 'shop', 'SERVICE', id]]);
  // A pending filter does not navigate back after the user has left the page.
  await page.getByLabel('Which').fill(`${id} `);
  await page.getByRole('link', { name: 'the one' }).click();
  await page.getByRole('heading', { name: 'A secret that no log has' }).waitFor();
  await sleep(600);
  assert.equal(new URL(page.url()).pathname, `/desk/sent/${id}`);
  await page.goBack();
  await page.getByLabel('Done by').waitFor();
  assert.ok(!(await page.locator('main').innerText()).includes('secret'));
  await page.done();
}

/** Notifications sent while the page is open are counted. */
export async function now(scene, size) {
  const tenant = await scene.tenant();
  await tenant.announce('Planned', undefined, { publishAt: '2031-01-01T00:00:00Z' });
  const page = await scene.open(tenant, { size, path: '/desk/now' });
  await page.getByText('All is well.').waitFor();
  const tile = (name) => page.locator('.tile').filter({ hasText: name }).locator('.size');
  assert.deepEqual([await tile('Sent in the last minute').innerText(), await tile('Scheduled').innerText()], ['0', '1']);
  await tenant.announce('One');
  await tenant.message('ada', 'Two');
  await until('two more', () => tile('Sent in the last minute').innerText(), (number) => number === '2');
  await page.locator('.curve').first().waitFor();
  const node = page.getByRole('table', { name: 'Nodes' }).getByRole('row').nth(1);
  const cell = (name) => node.locator(`[data-label="${name}"]`).innerText();
  assert.equal(await cell('Sessions'), '0');
  const session = await tenant.session('ada');
  await until('a session', () => cell('Sessions'), (number) => number === '1');
  assert.equal(await tile('Open sessions').innerText(), '1');
  await session.close();
  await until('none', () => tile('Open sessions').innerText(), (number) => number === '0');
  await tenant.ask('{ inboxUser(id: "ada") { overview { cursor } } }');
  await until('a sync', () => tile('Inboxes synced').innerText(), (number) => Number(number) > 0);
  await page.done();
}
