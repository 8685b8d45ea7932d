// Compose: drafts, audiences, previews, times, and sending exactly once.

import assert from 'node:assert/strict';

import { dialog, said, until } from './scene.mjs';

const fill = async (page, fields) => {
  for (const [label, value] of Object.entries(fields)) await page.getByLabel(label, { exact: true }).fill(value);
};

const preview = (page) => page.getByRole('complementary', { name: 'Preview' });

/** To groups: size, preview, a reload in the middle, and a double click on the send button. */
export async function composeAndSend(scene, size) {
  const tenant = await scene.tenant();
  const page = await scene.open(tenant, { size });
  await page.getByRole('link', { name: 'Compose' }).first().click();
  await page.getByRole('button', { name: 'Send …' }).click();
  await page.getByText('A title is needed.').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), 'title', 'the focus is where something is missing');

  await page.getByRole('radio', { name: 'Groups' }).check();
  await page.getByRole('checkbox', { name: 'Schools 2' }).check();
  await fill(page, { Title: 'Term begins', Body: 'On Monday.', Link: '/terms/7' });
  await preview(page).getByText('Term begins').waitFor();
  await preview(page).getByText('2 people').waitFor();
  assert.equal(await preview(page).getByRole('link', { name: '/terms/7' }).getAttribute('href'), '/terms/7');

  await page.reload();
  await preview(page).getByText('Term begins').waitFor();
  assert.equal(await page.getByLabel('Body', { exact: true }).inputValue(), 'On Monday.');
  assert.ok(await page.getByRole('checkbox', { name: 'Schools 2' }).isChecked());
  const kept = await page.evaluate(() => JSON.stringify(Object.entries({ ...sessionStorage, ...localStorage }).filter(([key]) => key.includes('draft'))));
  assert.ok(kept.includes('Term begins') && !kept.includes('eyJ'), 'a draft has no token in it');
  assert.equal(await page.evaluate(() => localStorage.length), 0);

  await page.getByRole('button', { name: 'Send …' }).dblclick();
  await dialog(page).getByText('2 people').waitFor();
  assert.equal((await tenant.sent()).length, 0);
  await dialog(page).getByRole('button', { name: 'Send' }).dblclick({ noWaitAfter: true });
  await page.getByText('Sent to 2 people.').waitFor();
  await said(page, 'Sent.');
  const [sent, ...others] = await tenant.sent();
  assert.deepEqual(others, []);
  assert.deepEqual([sent.title, sent.body, sent.link, sent.audience.groups], ['Term begins', 'On Monday.', '/terms/7', [{ code: 'schools' }]]);
  assert.deepEqual([await tenant.titles('ada'), await tenant.titles('chen')], [['Term begins'], []]);

  // The next draft is new, and the page links to the sent notification.
  assert.equal(await page.getByLabel('Title', { exact: true }).inputValue(), '');
  await page.getByRole('link', { name: 'Look at it' }).click();
  await page.getByRole('heading', { name: 'Term begins' }).waitFor();
  await page.done();
}

/** The response is lost, the page is reloaded, and sending again does not send twice. */
export async function lostAnswer(scene, size) {
  const tenant = await scene.tenant();
  const page = await scene.open(tenant, { size, path: '/desk/compose' });
  await fill(page, { Title: 'Only once' });
  let isLost = false;
  await page.route('**/graphql', async (route) => {
    if (isLost || !route.request().postData().includes('mutation Announce')) return route.continue();
    isLost = true;
    await route.fetch();
    return route.abort();
  });
  const send = async () => {
    await page.getByRole('button', { name: 'Send …' }).click();
    await dialog(page).getByText('Everyone: 4 people').waitFor();
    await dialog(page).getByRole('button', { name: 'Send' }).click();
  };
  await send();
  await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
  assert.equal((await tenant.sent()).length, 1);
  await page.reload();
  await preview(page).getByText('Only once').waitFor();
  await send();
  await page.getByText('This had been sent already, and was not sent again.').waitFor();
  assert.equal((await tenant.sent()).length, 1);
  assert.deepEqual(await tenant.titles('ada'), ['Only once']);

  // After a lost response and a change of the draft, sending is refused; the user can make it a new notification.
  isLost = false;
  await fill(page, { Title: 'Unnoticed' });
  await send();
  await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
  await fill(page, { Title: 'Changed' });
  await send();
  const anew = page.getByRole('button', { name: 'Treat it as a new one' });
  await anew.waitFor();
  assert.deepEqual(await tenant.titles('ada'), ['Unnoticed', 'Only once']);
  await anew.click();
  await send();
  await page.getByText('Sent to Everyone: 4 people').waitFor();
  assert.deepEqual(await tenant.titles('ada'), ['Changed', 'Unnoticed', 'Only once']);
  page.complaints.splice(0, page.complaints.length, ...page.complaints.filter((text) => !text.includes('ERR_FAILED')));
  await page.done();
}

/** To users: found by name, pasted as a table, removed again; with fields for the params of the type's template. */
export async function named(scene, size) {
  const tenant = await scene.tenant();
  const page = await scene.open(tenant, { size, path: '/desk/compose' });
  await page.getByLabel('Type', { exact: true }).selectOption({ label: 'Orders' });
  assert.equal(await page.getByLabel('Title', { exact: true }).count(), 0, 'the template writes the title');
  await fill(page, { number: '1207', state: 'on its way', Body: 'It takes two days.' });
  await preview(page).getByText('Order 1207 is on its way').waitFor();
  assert.equal(await preview(page).getByRole('link').getAttribute('href'), '/orders/1207');

  await page.getByRole('radio', { name: 'Named people' }).check();
  await page.getByRole('combobox', { name: 'Search' }).fill('Dara');
  await page.getByRole('option', { name: /Dara Novak/ }).click();
  await page.getByText('Paste a list or a CSV').click();
  await page.getByLabel(/^Ids, by commas/).fill('name,id\n"Weiss, Ben",ben\nAda,ada\nAda,ada\nEmil,emil');
  await page.getByRole('button', { name: 'Add them' }).click();
  await said(page, '3 people added.');
  await preview(page).getByText('Not known yet: emil.').waitFor();
  await page.getByRole('button', { name: 'Remove emil' }).click();
  await preview(page).getByText('3 people').waitFor();
  await page.getByRole('button', { name: 'Send …' }).click();
  await dialog(page).getByText('3 people').waitFor();
  await dialog(page).getByRole('button', { name: 'Send' }).click();
  await page.getByText('Sent to 3 people.').waitFor();
  for (const [id, titles] of [['ada', ['Order 1207 is on its way']], ['ben', ['Order 1207 is on its way']], ['dara', ['Order 1207 is on its way']], ['chen', []]])
    assert.deepEqual(await tenant.titles(id), titles, id);

  // One user gets a message, not an announcement, so that the recipient stays on record.
  await fill(page, { number: '8', state: 'here' });
  await page.getByRole('radio', { name: 'Named people' }).check();
  await page.getByRole('combobox', { name: 'Search' }).fill('chen');
  await page.keyboard.press('Enter');
  await preview(page).getByText('1 person').waitFor();
  await page.getByRole('button', { name: 'Send …' }).click();
  await dialog(page).getByRole('button', { name: 'Send' }).click();
  await page.getByText('Sent to 1 person.').waitFor();
  const last = (await tenant.sent()).at(-1);
  assert.deepEqual([last.kind, last.shown.title], ['MESSAGE', 'Order 8 is here']);

  // An error of the server appears at its field.
  await page.getByLabel('Type', { exact: true }).selectOption({ label: 'News' });
  await fill(page, { Title: 'A link that is none', Link: 'javascript:alert(1)' });
  await page.getByRole('button', { name: 'Send …' }).click();
  await dialog(page).getByRole('button', { name: 'Send' }).click();
  const link = page.getByLabel('Link', { exact: true });
  await until('the focus at the link', () => link.evaluate((field) => field === document.activeElement && field.getAttribute('aria-invalid')), (seen) => seen === 'true');
  assert.match(await page.locator('#link-wrong').innerText(), /link/i);
  assert.equal((await tenant.sent()).length, 2);
  await page.done();
}

/** Times in another time zone; a past time is refused before sending. */
export async function schedule(scene, size) {
  const tenant = await scene.tenant();
  const page = await scene.open(tenant, { size, path: '/desk/compose' });
  await fill(page, { Title: 'Later' });
  await page.getByRole('radio', { name: 'Later' }).check();
  await page.getByLabel('Date and time').fill('2020-01-01T09:00');
  await page.getByRole('button', { name: 'Schedule …' }).click();
  await page.getByText('This is in the past.').waitFor();
  await page.getByLabel('Date and time').fill('2031-03-05T09:30');
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
  await page.getByText('00:30 UTC').waitFor();
  await page.getByText('More', { exact: true }).click();
  await fill(page, { Sender: 'ben', Expires: '2031-03-06T09:30', 'Further params, as JSON': '[1]' });
  await page.getByRole('button', { name: 'Schedule …' }).click();
  await page.getByText('This is no object of JSON.').waitFor();
  await fill(page, { 'Further params, as JSON': '{ "rows": [1, 2] }' });
  await page.getByRole('button', { name: 'Schedule …' }).click();
  await dialog(page).getByText('Asia/Tokyo').waitFor();
  await dialog(page).getByRole('button', { name: 'Schedule' }).click();
  await page.getByText('Scheduled for Everyone: 4 people').waitFor();
  const [sent] = await tenant.sent();
  assert.deepEqual([sent.status, sent.publishAt, sent.expiresAt, sent.sender], ['SCHEDULED', '2031-03-05T00:30:00.000Z', '2031-03-06T00:30:00.000Z', { id: 'ben' }]);
  assert.deepEqual(await tenant.titles('ada'), []);
  await page.done();
}

/** A draft whose preview has flaws cannot be sent: not by click, by Enter, or around the page. After the fix it can. */
export async function flawed(scene, size) {
  const tenant = await scene.tenant();
  const save = (title, link) => tenant.ask('mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }', {
    i: { code: 'invoice', title: 'Invoices', position: 9, template: { title, link } },
  });
  await save('{{ params.lines[0].name }}', '/invoices/{{ params.invoice.id }}');
  for (const role of ['admin', 'service']) {
    const page = await scene.open(tenant, { size, role, path: '/desk/compose' });
    const mutations = [];
    page.on('request', (request) => request.postData()?.includes('mutation ') && mutations.push(request.postDataJSON()));
    const [send, reason] = [page.getByRole('button', { name: 'Send …' }), page.locator('#flawed')];
    await page.getByLabel('Type', { exact: true }).selectOption({ label: 'Invoices' });
    await page.getByText('This cannot be sent: the type’s template has flaws in its title and link').waitFor();
    assert.equal(await send.isDisabled(), true);
    assert.equal(await send.getAttribute('aria-describedby'), 'flawed');
    assert.equal(await reason.getByRole('link').count(), role === 'admin' ? 1 : 0, 'operators are led to the template');
    assert.equal(await preview(page).locator('.problem').count(), 2);
    await page.getByRole('radio', { name: 'Everyone' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('More', { exact: true }).click();
    const extra = 'Further params, as JSON';
    await fill(page, { [extra]: '{ "lines": [{ "name": "Paper" }] }' });
    await page.getByText('has flaws in its link').waitFor();
    assert.equal(await send.isDisabled(), true);
    await page.settled();
    assert.equal(await dialog(page).count(), 0);
    assert.deepEqual([mutations, await tenant.sent()], [[], []]);

    await fill(page, { [extra]: '{ "lines": [{ "name": "Paper" }], "invoice": { "id": "7" } }' });
    await reason.waitFor({ state: 'detached' });
    await send.click();
    await dialog(page).getByText('Paper').waitFor();
    if (role === 'service') {
      await dialog(page).getByRole('button', { name: 'Send' }).click();
      await page.getByText('Sent to Everyone: 4 people').waitFor();
      assert.deepEqual((await tenant.sent()).map(({ shown }) => shown), [{ title: 'Paper', link: '/invoices/7' }]);
      assert.deepEqual(mutations.map(({ variables }) => variables.input.strict), [true]);
    } else {
      // An operator changes the template while the dialog is open: the server refuses.
      await save('{{ params.lines[0].title }}', '/invoices');
      await dialog(page).getByRole('button', { name: 'Send' }).click();
      await page.getByRole('alert').getByText(/makes the template of "[^"]*" fail: title/).waitFor();
      await page.getByText('has flaws in its title').waitFor();
      assert.equal(await send.isDisabled(), true);
      assert.deepEqual(await tenant.sent(), []);
      await save('{{ params.lines[0].name }}', '/invoices/{{ params.invoice.id }}');
    }
    await page.done();
  }
}
