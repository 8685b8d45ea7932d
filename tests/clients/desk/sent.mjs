// Sent notifications: find, amend, reschedule, retract.

import assert from 'node:assert/strict';

import { dialog, said, until } from './scene.mjs';

const rows = (page) => page.locator('tbody th > a').allInnerTexts();

export async function filters(scene, size) {
  const tenant = await scene.tenant();
  await tenant.announce('To everyone');
  await tenant.message('ada', 'To Ada', { sender: 'ben' });
  await tenant.ask(`mutation { sendMessage(input: { type: "order", receiver: "ben", content: { params: { number: 9, state: "lost" } } }) { replayed } }`);
  await tenant.announce('Planned', { groups: ['schools'] }, { publishAt: '2031-01-01T00:00:00Z' });
  const page = await scene.open(tenant, { size, path: '/desk/sent' });
  const shows = (titles) => until(titles.join(', '), () => rows(page), (found) => JSON.stringify(found) === JSON.stringify(titles));
  await shows(['Planned', 'Order 9 is lost', 'To Ada', 'To everyone']);
  const narrowed = async (label, option, titles) => {
    await page.getByLabel(label, { exact: true }).selectOption(option);
    await shows(titles);
    await page.getByLabel(label, { exact: true }).selectOption('');
    await shows(['Planned', 'Order 9 is lost', 'To Ada', 'To everyone']);
  };
  await narrowed('Type', 'order', ['Order 9 is lost']);
  await narrowed('Status', 'SCHEDULED', ['Planned']);
  await page.getByLabel('Title has').fill('ADA');
  await shows(['To Ada']);
  await page.getByLabel('Title has').fill('');
  await page.getByLabel('To', { exact: true }).fill('2020-01-01');
  await page.getByText('Nothing was sent that fits.').waitFor();
  await page.getByLabel('To', { exact: true }).fill('');
  await page.getByRole('button', { name: 'More filters' }).click();
  await narrowed('Kind', 'ANNOUNCEMENT', ['Planned', 'To everyone']);
  await page.getByLabel('Sender', { exact: true }).fill('ben');
  await shows(['To Ada']);
  // The address keeps the filter.
  assert.match(page.url(), /sender=ben/);
  await page.reload();
  await shows(['To Ada']);
  await page.getByRole('link', { name: 'To Ada' }).click();
  await page.getByRole('heading', { name: 'To Ada', level: 1 }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.localName), 'h1', 'the focus is at the heading');
  await page.goBack();
  await shows(['To Ada']);
  await page.done();
}

/** Opens a notification of the list. */
async function opened(scene, tenant, size, title) {
  const page = await scene.open(tenant, { size, path: '/desk/sent' });
  await page.getByRole('link', { name: title }).click();
  await page.getByRole('heading', { name: title, level: 1 }).waitFor();
  return page;
}

export async function amend(scene, size) {
  const tenant = await scene.tenant();
  await tenant.message('ada', 'Helo', { content: { body: 'A body.', link: '/x' } });
  const page = await opened(scene, tenant, size, 'Helo');
  await page.getByRole('button', { name: 'Amend' }).click();
  await page.getByLabel('Title', { exact: true }).fill('Hello');
  await page.getByLabel('Body', { exact: true }).fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Hello', level: 1 }).waitFor();
  await said(page, 'It is amended.');
  const [sent] = await tenant.sent();
  assert.deepEqual([sent.title, sent.body, sent.link], ['Hello', null, '/x']);
  assert.deepEqual(await tenant.titles('ada'), ['Hello']);

  await page.getByRole('button', { name: 'Amend' }).click();
  await page.getByLabel('Title', { exact: true }).fill('x'.repeat(300));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('#amend-title-wrong').waitFor();
  assert.equal((await tenant.sent())[0].title, 'Hello');
  await page.done();
}

/** The history of deliveries and reads. */
export async function reached(scene, size) {
  const tenant = await scene.tenant();
  const id = await tenant.announce('Watched');
  for (const user of ['ada', 'ben', 'chen']) await tenant.titles(user);
  await tenant.asService('mutation { markRead(user: "ada", select: { matching: {} }) { changedCount } }');
  const query = 'query($id: ID!) { sentNotification(id: $id) { stats { deliveredCount readCount } statsByHour { deliveredCount readCount } } }';
  const counted = async () => (await tenant.ask(query, { id })).sentNotification;
  const { stats } = await until('it is counted', counted, ({ stats: of }) => of.deliveredCount === 3 && of.readCount === 1, 30_000);
  const page = await opened(scene, tenant, size, 'Watched');
  await page.getByText('Hour by hour').click();
  const last = page.getByRole('table', { name: 'Delivered and read by the end of each hour' }).getByRole('row').last();
  assert.deepEqual(await last.getByRole('cell').allInnerTexts(), [stats.deliveredCount, stats.readCount].map(String));
  assert.match(await page.locator('.growth polyline.line-read').getAttribute('points'), /^0\.0,40\.0 .* 100\.0,26\.7$|^0\.0,40\.0 100\.0,26\.7$/);
  await page.getByText(/half of those who have read it had by/).waitFor();
  await page.done();
}

export async function reschedule(scene, size) {
  const tenant = await scene.tenant();
  await tenant.announce('Planned', undefined, { publishAt: '2031-01-01T08:00:00Z' });
  const page = await opened(scene, tenant, size, 'Planned');
  await page.getByRole('button', { name: 'Reschedule' }).click();
  assert.equal(await page.getByLabel('Date and time').inputValue(), '2031-01-01T09:00', 'as the clocks of the browser show it');
  await page.getByLabel('Date and time').fill('2031-07-01T09:00');
  await page.getByLabel('Time zone').selectOption('America/New_York');
  await page.locator('form.editing').getByRole('button', { name: 'Reschedule' }).click();
  await said(page, 'It is rescheduled.');
  assert.equal((await tenant.sent())[0].publishAt, '2031-07-01T13:00:00.000Z');

  await page.getByRole('button', { name: 'Cancel it …' }).click();
  await dialog(page).getByRole('button', { name: 'Cancel it' }).click();
  await page.getByText('Retracted', { exact: true }).first().waitFor();
  assert.equal((await tenant.sent())[0].status, 'RETRACTED');
  await page.done();
}

export async function retract(scene, size) {
  const tenant = await scene.tenant();
  await tenant.announce('A mistake');
  assert.deepEqual(await tenant.titles('ada'), ['A mistake']);
  const page = await opened(scene, tenant, size, 'A mistake');
  await page.getByRole('button', { name: 'Retract …' }).click();
  // Escape and the other button keep the notification, and the focus returns.
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Retract …' }).click();
  await dialog(page).getByRole('button', { name: 'Keep it' }).click();
  assert.equal(await page.evaluate(() => document.activeElement.innerText), 'Retract …');
  assert.equal((await tenant.sent())[0].status, 'PUBLISHED');
  await page.getByRole('button', { name: 'Retract …' }).click();
  await dialog(page).getByRole('button', { name: 'Retract' }).click();
  await said(page, 'It is retracted.');
  assert.equal((await tenant.sent())[0].status, 'RETRACTED');
  assert.deepEqual(await tenant.titles('ada'), []);
  await page.getByRole('button', { name: 'Retract …' }).waitFor({ state: 'detached' });
  // The page shows who did it.
  await page.getByText('Retract sent notification, by root').waitFor();

  // Explains from here why a user does not have it.
  await page.getByRole('combobox', { name: 'User', exact: true }).fill('Ada');
  await page.getByRole('option', { name: /Ada Obi/ }).click();
  await page.getByText('They do not have it: it was taken back.').waitFor();
  await page.done();
}
