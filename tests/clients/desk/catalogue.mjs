// The catalogue: types with live template previews, reasons, groups, defaults and codes of views.

import assert from 'node:assert/strict';

import { dialog, said, until } from './scene.mjs';

const part = (page, name) => page.getByRole('navigation', { name: 'Parts of the catalogue' }).getByRole('link', { name }).click();

export async function catalogue(scene, size) {
  const tenant = await scene.tenant();
  const page = await scene.open(tenant, { size, path: '/desk/catalogue' });
  await page.getByRole('link', { name: 'New type' }).click();
  await page.getByLabel('Code', { exact: true }).fill('invoice');
  await page.getByLabel('Title', { exact: true }).fill('Invoices');
  await page.getByLabel('Users cannot switch it off').check();
  await page.getByLabel('A template writes its texts').check();
  await page.getByLabel('Title of items').fill('Invoice {{ params.number }}');
  await page.getByLabel('Body of items').fill('From {{ sender.name }}.\n{% if params.late %}It is late.');
  await page.getByLabel('Of this sample').fill('{ "params": { "number": 7, "late": true }, "sender": "ben" }');
  const preview = page.getByRole('complementary', { name: 'Preview' });
  await preview.getByText('Invoice 7').waitFor();
  // A template error appears with its line at its field, before saving and when saving fails.
  await page.locator('#template-body-wrong').filter({ hasText: 'Line 2' }).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await until('the focus at the body', () => page.evaluate(() => document.activeElement.id), (id) => id === 'template-body');
  assert.ok(!(await tenant.ask('{ messageTypes { code } }')).messageTypes.some(({ code }) => code === 'invoice'));

  await page.getByLabel('Body of items').fill('From {{ sender.name }}.\n{% if params.late %}It is late.{% endif %}');
  await preview.getByText('From Ben Weiss.').waitFor();
  await preview.getByText('It is late.').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await said(page, '“Invoices” is saved.');
  const { messageTypes } = await tenant.ask('{ messageTypes { code title mandatory template { title body link } } }');
  assert.deepEqual(messageTypes.find(({ code }) => code === 'invoice'), {
    code: 'invoice', title: 'Invoices', mandatory: true,
    template: { title: 'Invoice {{ params.number }}', body: 'From {{ sender.name }}.\n{% if params.late %}It is late.{% endif %}', link: null },
  });

  // Saving keeps the parts of a type that the desk does not show.
  await tenant.ask(`mutation { saveMessageType(input: { code: "news", title: "News", ui: { colour: "red" },
    delivery: [{ channel: EMAIL, delaySeconds: 60, letter: { subject: "News: {{ title }}" } }, { channel: WEB_PUSH, digest: false }] }) { code } }`);
  const whole = '{ messageTypes { code title ui delivery { channel condition delaySeconds digest letter { subject text html } wechat { templateId } } } }';
  const before = (await tenant.ask(whole)).messageTypes.find(({ code }) => code === 'news');
  await part(page, 'Types');
  await page.getByRole('link', { name: 'News', exact: true }).click();
  await page.getByLabel('Title', { exact: true }).fill('What is new');
  await page.getByRole('button', { name: 'Save' }).click();
  await said(page, '“What is new” is saved.');
  assert.deepEqual((await tenant.ask(whole)).messageTypes.find(({ code }) => code === 'news'), { ...before, title: 'What is new' });

  await part(page, 'Reasons');
  await page.getByLabel('Reason', { exact: true }).fill('create_product');
  await page.getByLabel('Actions', { exact: true }).fill('comment, like');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Change create_product' }).click();
  assert.equal(await page.getByLabel('Actions', { exact: true }).inputValue(), 'comment, like');
  assert.deepEqual((await tenant.ask('{ subscriptionReasons { code actions } }')).subscriptionReasons, [{ code: 'create_product', actions: ['comment', 'like'] }]);
  await page.getByRole('button', { name: 'Delete create_product' }).click();
  await dialog(page).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('There are no reasons yet.').waitFor();

  await part(page, 'Defaults');
  await page.getByRole('checkbox', { name: 'Orders' }).uncheck();
  await said(page, 'The default is changed.');
  await page.getByLabel('Switch an action off').fill('like');
  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByRole('checkbox', { name: 'like' }).waitFor();
  const { defaultPreferences: defaults } = await tenant.ask('{ defaultPreferences { types { code enabled } actions { code enabled } } }');
  assert.deepEqual([defaults.types.filter(({ enabled }) => !enabled), defaults.actions], [[{ code: 'order', enabled: false }], [{ code: 'like', enabled: false }]]);
  await page.getByRole('button', { name: 'Forget like' }).click();
  await page.getByText('No action has a default: all are on.').waitFor();

  await part(page, 'View codes');
  await page.getByLabel('Code', { exact: true }).fill('chat');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Open it: chat' }).click();
  await page.getByText('by themselves', { exact: true }).waitFor();
  assert.deepEqual((await tenant.ask('{ viewCodes { code open } }')).viewCodes, [{ code: 'chat', open: true }]);
  await page.done();
}

/** Groups and their members; services can edit them too. */
export async function groups(scene, size) {
  const tenant = await scene.tenant();
  const page = await scene.open(tenant, { size, role: 'service', path: '/desk/catalogue/groups' });
  await page.getByLabel('Code', { exact: true }).fill('pilots');
  await page.getByLabel('Title', { exact: true }).fill('Pilots');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Members of Pilots' }).click();
  await page.getByRole('combobox', { name: 'Add a user' }).fill('chen');
  await page.getByRole('option', { name: /Chen Li/ }).click();
  await page.getByRole('heading', { name: 'Pilots: 1 person' }).waitFor();
  await page.getByLabel(/^Or many/).fill('ada\nben\nnew one');
  await page.getByRole('button', { name: 'Add these' }).click();
  await page.getByRole('heading', { name: 'Pilots: 4 people' }).waitFor();
  await page.getByLabel(/^Or many/).fill('ben');
  await page.getByRole('button', { name: 'Take these out' }).click();
  await page.getByRole('heading', { name: 'Pilots: 3 people' }).waitFor();
  const members = page.getByRole('list', { name: 'Who is in it' }).getByRole('link');
  await until('who is left', async () => (await members.allInnerTexts()).sort(), (names) => names.join() === 'Ada Obi,Chen Li,new one');
  await page.getByRole('button', { name: 'Take Chen Li out' }).click();
  await page.getByRole('heading', { name: 'Pilots: 2 people' }).waitFor();
  await until('two', () => members.count(), (number) => number === 2);
  const of = async (id) => (await tenant.ask('query($id: ID!) { inboxUser(id: $id) { groups { code } } }', { id })).inboxUser.groups.map(({ code }) => code);
  assert.deepEqual([await of('ben'), await of('new one')], [['schools'], ['pilots']]);
  await page.getByRole('button', { name: 'Delete Pilots' }).click();
  await dialog(page).getByLabel(/^To confirm/).fill('pilots');
  await dialog(page).getByRole('button', { name: 'Delete' }).click();
  await said(page, 'The group is deleted.');
  assert.deepEqual((await tenant.ask('{ userGroups { code } }')).userGroups.map(({ code }) => code), ['schools', 'staff']);
  await page.done();
}
