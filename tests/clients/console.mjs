// The console in a real browser, headless Chromium, with the network shut but for the demo server: it asks nobody else, keeps
// to its policy, runs what is prepared, and receives what is sent. `CHROMIUM` names another browser than Debian's.

import assert from 'node:assert/strict';

import { chromium } from 'playwright-core';

import { start } from './server.mjs';

const TABS = {
  operator: [
    'DefineType', 'AnnounceToEveryone', 'FillGroup', 'AnnounceToGroup', 'Schedule', 'Statistics', 'Amend', 'Retract',
    'LookIntoInbox',
  ],
  user: ['MyOverview', 'MyInbox', 'LiveItems', 'LiveOverview', 'MarkAllRead', 'Preferences', 'Subscribe'],
};

const server = await start();
const origin = new URL(server.url).origin;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  ],
});

/** What must not happen, and did. */
const foreign = [];
const complaints = [];

const isOwn = (url) => ['http:', 'ws:'].includes(url.protocol) && url.host === new URL(origin).host;

/** A window of its own, whose requests to others are refused and noted. */
async function open(address) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  await context.route((url) => !isOwn(url), (route) => {
    foreign.push(route.request().url());
    return route.abort();
  });
  await context.addInitScript(() => addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
    console.error(`policy violated: ${violatedDirective} ${blockedURI}`);
  }));
  const page = await context.newPage();
  page.on('websocket', (socket) => isOwn(new URL(socket.url())) || foreign.push(socket.url()));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(address);
  return page;
}

const tab = (page, name) => page.locator(`.graphiql-tab-button[title="${name}"]`);
const shows = (page, text) => page.locator('.graphiql-response').filter({ hasText: text }).waitFor();
const stands = (page, text) => page.locator('.standing').filter({ hasText: text }).waitFor();

/** Opens a prepared tab, and runs what stands in it. */
async function run(page, name) {
  await tab(page, name).click();
  await page.locator('.graphiql-query-editor .view-lines').filter({ hasText: name }).waitFor();
  await page.locator('.graphiql-execute-button').click();
}

async function tabsAre(page, names) {
  await tab(page, names[0]).waitFor();
  assert.deepEqual(await page.locator('.graphiql-tab-button').allTextContents(), names);
}

try {
  // The operator's link is ready to use, and leaves no token in the address.
  const operator = await open(`${origin}/console#token=${server.admin}`);
  await tabsAre(operator, TABS.operator);
  await stands(operator, 'Accepted');
  assert.equal(operator.url(), `${origin}/console`);
  assert.match(await operator.locator('.claims').innerText(), /orchard\s+operator\s+ADMIN\s+expires in 24 h/);
  await run(operator, 'DefineType');
  await shows(operator, '"readPolicy": "MANUAL"');
  await tab(operator, 'Schedule').click();
  await operator.locator('.graphiql-query-editor .view-lines').filter({ hasText: /publishAt:\s"\d{4}-\d\d-\d\dT/ }).waitFor();
  await run(operator, 'Schedule');
  await shows(operator, '"status": "SCHEDULED"');
  await run(operator, 'Statistics');
  await shows(operator, '"deliveredCount"');
  await run(operator, 'FillGroup');
  await shows(operator, '"memberCount": 2');

  // A user's has their bell and their live tabs, which hear of what the operator sends.
  const user = await open(`${origin}/console#token=${server.token}`);
  await tabsAre(user, TABS.user);
  await run(user, 'MyOverview');
  await shows(user, '"unseen"');
  const badge = user.locator('.badge');
  const before = Number(await badge.innerText());
  assert.ok(before > 0, 'the demo has something unread');
  await run(user, 'LiveItems');
  await user.locator('.graphiql-execute-button[aria-label^="Stop"]').waitFor();
  await run(operator, 'AnnounceToGroup');
  await shows(operator, '"status": "PUBLISHED"');
  await shows(user, '"title": "All hands on Friday"');
  await badge.filter({ hasText: String(before + 1) }).waitFor();
  await user.getByRole('button', { name: /^Notifications/ }).click();
  await user.locator('#latest li.unread').filter({ hasText: 'All hands on Friday' }).waitFor();
  await run(operator, 'LookIntoInbox');
  await shows(operator, '"name": "Ada Obi"');

  // What the user reads elsewhere quiets the bell.
  await user.keyboard.press('Escape');
  await run(user, 'MarkAllRead');
  await shows(user, '"changedCount"');
  await badge.waitFor({ state: 'detached' });

  // The token outlives a reload, but not the window; nothing of it is in what outlives both.
  await user.reload();
  await stands(user, 'Accepted');
  assert.equal(await user.evaluate(() => localStorage.length), 0);

  // GraphiQL's own parts work: documentation, completion, marks, formatting, and the dialogs, which all bring styles along.
  await operator.getByRole('button', { name: 'Show Documentation Explorer' }).click();
  await operator.locator('.graphiql-doc-explorer').getByText('Mutation', { exact: true }).click();
  await operator.locator('.graphiql-doc-explorer').getByText('sendAnnouncement').waitFor();
  await operator.getByRole('button', { name: 'New tab' }).click();
  const editor = operator.locator('.graphiql-query-editor .view-lines');
  await editor.click();
  await operator.keyboard.type('{ nothing { code } messag');
  await operator.locator('.suggest-widget').getByText('messageTypes').first().waitFor();
  await operator.locator('.graphiql-query-editor .squiggly-error').first().waitFor();
  await operator.keyboard.press('Escape');
  await operator.keyboard.type('eTypes { code }');
  await operator.getByRole('button', { name: /^Prettify/ }).click();
  await operator.locator('.graphiql-query-editor .line-numbers').getByText('8', { exact: true }).waitFor();
  await operator.locator('.graphiql-editor-tools').getByText('Variables').click();
  await operator.locator('.graphiql-editor-tool .view-lines').first().click();
  await operator.keyboard.type('[1, 2');
  await operator.locator('.graphiql-editor-tool .squiggly-error').first().waitFor();
  await editor.click({ button: 'right' });
  await operator.getByRole('menuitem', { name: /^Command Palette/ }).waitFor();
  await operator.keyboard.press('Escape');
  await operator.getByRole('button', { name: 'Open settings dialog' }).click();
  await operator.getByRole('button', { name: 'Dark', exact: true }).click();
  await operator.locator('body.graphiql-dark').waitFor();
  await operator.keyboard.press('Escape');
  await operator.getByRole('button', { name: 'Reset tabs' }).click();
  await tabsAre(operator, TABS.operator);

  // A link replaces nobody's token without asking.
  const question = user.getByRole('dialog', { name: 'Replace who is calling?' });
  const role = user.locator('.claims .role');
  for (const [answer, then] of [['Keep', 'USER'], ['Replace', 'ADMIN']]) {
    await user.goto(`${origin}/console#token=${server.admin}`);
    await question.getByText('operator (ADMIN) at orchard').waitFor();
    assert.equal(user.url(), `${origin}/console`);
    assert.equal(await role.innerText(), 'USER');
    await question.getByRole('button', { name: answer, exact: true }).click();
    await question.waitFor({ state: 'detached' });
    assert.equal(await role.innerText(), then);
  }

  assert.deepEqual(complaints, []);

  // A token that is refused, and none at all, are told; the browser itself complains of each 401.
  const field = operator.getByLabel('Token', { exact: true });
  await field.fill(`${server.admin.slice(0, -4)}AAAA`);
  await stands(operator, 'Refused');
  await field.fill('');
  await stands(operator, 'No token');
  await field.fill(`Bearer ${server.admin}`);
  await stands(operator, 'Accepted');
  assert.equal(await field.inputValue(), server.admin);

  // Another kind of caller has other tabs.
  await field.fill(server.token);
  await tabsAre(operator, TABS.user);
  await operator.getByRole('button', { name: /^Notifications/ }).waitFor();
  assert.deepEqual(complaints.filter((text) => !text.includes('401')), []);

  assert.deepEqual(foreign, []);
  console.log(`console: ${TABS.operator.length + TABS.user.length} prepared tabs, a query, a subscription; nothing asked of others, no complaints`);
} catch (error) {
  console.error({ foreign, complaints });
  throw error;
} finally {
  await browser.close();
  server.stop();
}
