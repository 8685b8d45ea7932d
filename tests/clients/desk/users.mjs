// Users: find, view, help, explain, export, erase.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { dialog, said, until } from './scene.mjs';

/** Finds a user by a prefix of their name and opens their page. */
async function found(scene, tenant, options, text = 'Ada', name = 'Ada Obi') {
  const page = await scene.open(tenant, options);
  await page.getByRole('navigation', { name: 'Desk' }).getByRole('link', { name: 'Users' }).click();
  await page.getByRole('combobox', { name: 'Find a user' }).fill(text);
  await page.getByRole('option', { name: new RegExp(name) }).click();
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  return page;
}

const tab = (page, name) => page.getByRole('navigation', { name: 'What there is of them' }).getByRole('link', { name }).click();

/** A user's inbox as they see it: read-only for operators; services can enable changes. */
export async function inbox(scene, size) {
  const tenant = await scene.tenant();
  for (const title of ['One', 'Two', 'Three']) await tenant.message('ada', title);
  await tenant.asService('mutation($id: ID!) { archiveItems(user: "ada", select: { ids: [$id] }) { changedCount } }', {
    id: (await tenant.ask('{ inboxUser(id: "ada") { inbox { nodes { id title } } } }')).inboxUser.inbox.nodes.find(({ title }) => title === 'One').id,
  });
  const titles = (page) => page.locator('.items .item-title').allInnerTexts();
  const shows = (page, expected) => until(expected.join(), () => titles(page), (seen) => JSON.stringify(seen) === JSON.stringify(expected));

  const operator = await found(scene, tenant, { size });
  await shows(operator, await tenant.titles('ada'));
  await operator.getByLabel('Which part').selectOption('ARCHIVED');
  await shows(operator, ['One']);
  assert.equal(await operator.getByLabel('Change it for them').count(), 0);
  await operator.done();

  const service = await found(scene, tenant, { size, role: 'service' });
  await shows(service, ['Three', 'Two']);
  assert.equal(await service.getByRole('button', { name: 'Mark as read: Two' }).count(), 0, 'it is only read until somebody wants it otherwise');
  await service.getByLabel('Change it for them').check();
  await service.getByRole('button', { name: 'Mark as read: Two' }).click();
  await service.getByRole('button', { name: 'Mark as unread: Two' }).waitFor();
  await service.getByRole('button', { name: 'Delete: Three' }).click();
  await dialog(service).getByRole('button', { name: 'Delete' }).click();
  await shows(service, ['Two']);
  const { inboxUser } = await tenant.ask('{ inboxUser(id: "ada") { inbox { nodes { title isRead } } } }');
  assert.deepEqual(inboxUser.inbox.nodes, [{ title: 'Two', isRead: true }]);
  await service.done();
}

/** Groups, subscriptions, preferences and views. */
export async function support(scene, size) {
  const tenant = await scene.tenant();
  await tenant.asService(`mutation { subscribeTopic(input: { target: { type: "document", externalId: "7" }, what: { actions: ["comment"] }, who: { user: "ada" } }) { createdCount } }`);
  await tenant.asService('mutation { followUser(follower: "ada", user: "ben") { user { id } } }');
  await tenant.ask('mutation { saveViewCode(code: "chat", open: true) { code } }');
  await tenant.asService('mutation { joinView(key: { code: "chat", externalId: "design" }, users: ["ada"]) { view { id } } }');
  const page = await found(scene, tenant, { size }, 'ada');

  await tab(page, 'Groups and subscriptions');
  await page.getByText('document 7').waitFor();
  await page.getByRole('link', { name: 'Ben Weiss' }).waitFor();
  await page.getByLabel('Add to').selectOption('staff');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('button', { name: 'Take out of Staff' }).waitFor();
  await page.getByRole('button', { name: 'Take out of Schools' }).click();
  await page.getByRole('button', { name: 'Take out of Schools' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'End comment of document 7' }).click();
  await dialog(page).getByRole('button', { name: 'End it' }).click();
  await said(page, 'The subscription has ended.');

  await tab(page, 'Preferences');
  await page.getByRole('checkbox', { name: 'News' }).uncheck();
  await said(page, 'Their switch is changed.');
  await page.getByText('their own').waitFor();

  await tab(page, 'Views');
  await page.getByText('chat design').waitFor();
  const { inboxUser: of } = await tenant.ask(`{ inboxUser(id: "ada") { groups { code } subscriptions { nodes { id } } preferences { types { code enabled } } } }`);
  assert.deepEqual(of.groups, [{ code: 'staff' }]);
  assert.deepEqual(of.subscriptions.nodes, []);
  assert.deepEqual(of.preferences.types.filter(({ enabled }) => !enabled), [{ code: 'news', enabled: false }]);
  await page.done();
}

/** Why a user did not get a notification, in sentences that match the API's decisions. */
export async function why(scene, size) {
  const tenant = await scene.tenant();
  await tenant.announce('For staff', { groups: ['staff'] });
  await tenant.announce('For all');
  await tenant.announce('Planned', undefined, { publishAt: '2031-01-01T00:00:00Z' });
  const page = await found(scene, tenant, { size }, 'ada');
  await tab(page, 'Why?');
  for (const [title, sentence] of [
    ['For staff', 'They do not have it: it is for groups, and they are in none of them.'],
    ['For all', 'They have it: it is in their inbox.'],
    ['Planned', 'They do not have it yet: it waits for the time it is scheduled for.'],
  ]) {
    const value = await page.getByRole('option', { name: new RegExp(`^${title}`) }).getAttribute('value');
    await page.getByLabel('Sent lately').selectOption(value);
    await page.locator('.decision').filter({ hasText: sentence }).waitFor();
  }
  await page.getByText('It is to be published on Wednesday').waitFor();
  await page.done();
}

/** Exports a user's data as a file, and erases the user; only after typing their id. */
export async function erase(scene, size) {
  const tenant = await scene.tenant();
  await tenant.message('ada', 'Hers');
  const page = await found(scene, tenant, { size });
  await tab(page, 'Data');
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  const download = await downloading;
  assert.equal(download.suggestedFilename(), 'ada.json');
  const text = await readFile(await download.path(), 'utf8');
  assert.ok(JSON.stringify(JSON.parse(text)).includes('Hers'));

  await page.getByRole('button', { name: 'Erase them …' }).click();
  const action = dialog(page).getByRole('button', { name: 'Erase for good' });
  assert.ok(await action.isDisabled());
  await dialog(page).getByLabel('To confirm, type ada').fill('ad');
  assert.ok(await action.isDisabled());
  await dialog(page).getByLabel('To confirm, type ada').fill('ada');
  await action.click();
  await said(page, 'ada is erased.');
  assert.equal((await tenant.ask('{ inboxUser(id: "ada") { id } }')).inboxUser, null);
  await page.goBack();
  await page.getByText('No user has this id.').waitFor();
  await page.done();
}
