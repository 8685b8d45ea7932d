// The console in a real browser, headless Chromium, with the network shut but for the servers here: it asks nobody else, keeps to its
// policy, runs what is prepared, in the demo and in a tenant that is new, and receives what is sent. `CHROMIUM` names another browser
// than Debian's.

import assert from 'node:assert/strict';

import { chromium } from 'playwright-core';

import { Server, start, token } from './server.mjs';

const TABS = {
  operator: [
    'DefineTypes', 'AnnounceToEveryone', 'FillGroup', 'AnnounceToGroup', 'Remind', 'Schedule', 'Statistics', 'Amend', 'Retract',
    'LookIntoInbox', 'SaveRule', 'ReportRows', 'Rules', 'ResumeRule',
  ],
  user: ['MyOverview', 'MyInbox', 'LiveItems', 'LiveOverview', 'MarkAllRead', 'Preferences', 'Subscribe'],
};

const server = await start();
const origin = new URL(server.url).origin;
const fresh = await Server.start({ TIDINGS_NO_UI: '1' });
const hosts = [new URL(origin).host, `127.0.0.1:${fresh.port}`];
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

const isOwn = (url) => ['http:', 'ws:'].includes(url.protocol) && hosts.includes(url.host);

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
/** Says yes to a link's token. Until then nobody is calling. */
async function signsIn(page, whom) {
  const question = page.getByRole('dialog', { name: 'Sign in as' });
  await question.getByRole('heading').filter({ hasText: whom }).waitFor();
  await stands(page, 'No token');
  await question.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function run(page, name) {
  await tab(page, name).click();
  await page.locator('.graphiql-query-editor .view-lines').filter({ hasText: name }).waitFor();
  await page.locator('.graphiql-execute-button').click();
}

/** Runs every tab of a window in its order as it stands; each has to answer without an error. Gives the answers by name. */
async function runAll(page, names) {
  const answers = {};
  for (const name of names) {
    const isLive = name.startsWith('Live');
    const asked = (request) => request.method() === 'POST' && request.postDataJSON()?.operationName === name;
    const answer = isLive ? undefined : page.waitForResponse((response) => asked(response.request()));
    await run(page, name);
    if (!isLive) {
      const { data, errors } = await (await answer).json();
      assert.equal(errors, undefined, `${name}: ${JSON.stringify(errors)}`);
      assert.ok(data, name);
      answers[name] = data;
      continue;
    }
    const stop = page.locator('.graphiql-execute-button[aria-label^="Stop"]');
    await stop.waitFor();
    if (name === 'LiveOverview') await shows(page, '"overviewChanged"');
    assert.equal(await page.locator('.graphiql-response').filter({ hasText: '"errors"' }).count(), 0, name);
    await stop.click();
  }
  return answers;
}

/** Types and rules as the tabs see them. */
async function defined(url, token) {
  const query = `{ messageTypes { code title group mandatory position readPolicy ttlSeconds template { title body link } icon ui }
    notificationRules { code type { code } key scan { source } audience { everyone userColumn groupColumn reminder { targetType targetId action } }
      resolve resolveAfter amend repeatAfterSeconds firstRun maxNew alarm { type } state } }`;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const { data } = await (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) })).json();
  assert.ok(data);
  return data;
}

async function tabsAre(page, names) {
  // A tab that is chosen before the editor is there is not shown in it.
  await page.locator('.graphiql-query-editor .view-lines').filter({ hasText: names[0] }).waitFor();
  assert.deepEqual(await page.locator('.graphiql-tab-button').allTextContents(), names);
}

try {
  // The operator's link signs in once it is told to, and leaves no token in the address.
  const operator = await open(`${origin}/console#token=${server.admin}`);
  await signsIn(operator, 'operator (ADMIN) of tenant orchard');
  await tabsAre(operator, TABS.operator);
  await stands(operator, 'Accepted');
  assert.equal(operator.url(), `${origin}/console`);
  assert.match(await operator.locator('.claims').innerText(), /orchard\s+operator\s+ADMIN\s+expires in 24 h/);
  const before = await defined(server.url, server.admin);
  const { ReportRows, Rules } = await runAll(operator, TABS.operator);
  assert.deepEqual(await defined(server.url, server.admin), before, 'the tabs leave the types and rules of the demo as they are');

  // In the demo a rule is at work: of the rows that the tab reports, one is new and one has changed, and another has gone.
  const { error, ...figures } = ReportRows.reportRuleRows;
  assert.deepEqual([error, figures], [null, { outcome: 'COMPLETE', rows: 2, raised: 1, amended: 1, resolved: 1 }]);
  const [{ runs, openNotifications }] = Rules.notificationRules;
  assert.deepEqual(runs.map(({ raised, resolved }) => [raised, resolved]), [[1, 1], [1, 1], [2, 0]]);
  assert.deepEqual(openNotifications.nodes.map(({ rowKey }) => rowKey.number), ['R-9', 'R-7']);

  // A user's has their bell and their live tabs, which hear of what the operator sends.
  const user = await open(`${origin}/console#token=${server.token}`);
  await signsIn(user, 'ada (USER) of tenant orchard');
  await tabsAre(user, TABS.user);
  const badge = user.locator('tidings-bell .badge');
  await badge.waitFor();
  const unread = Number(await badge.innerText());
  assert.ok(unread > 0, 'the demo has something unread');
  await run(user, 'LiveItems');
  await user.locator('.graphiql-execute-button[aria-label^="Stop"]').waitFor();
  await run(operator, 'AnnounceToGroup');
  await shows(operator, '"memberCount": 3');
  await shows(user, '"title": "Design review on Monday"');
  await badge.filter({ hasText: String(unread + 1) }).waitFor();
  await user.getByRole('button', { name: `Notifications, ${unread + 1} unread`, exact: true }).click();
  await user.locator('tidings-bell .item-unread').filter({ hasText: 'Design review on Monday' }).first().waitFor();
  await user.keyboard.press('Escape');
  await user.getByRole('dialog', { name: 'Notifications' }).waitFor({ state: 'hidden' });
  await run(operator, 'LookIntoInbox');
  await shows(operator, '"name": "Ada Obi"');

  // What was sent last is what is retracted.
  await run(operator, 'Retract');
  await shows(operator, '"title": "Design review on Monday"');
  await badge.filter({ hasText: String(unread) }).waitFor();

  // What the user reads elsewhere quiets the bell.
  await runAll(user, TABS.user);
  await badge.waitFor({ state: 'hidden' });

  // What is opened in the bell is read, and the page stays where it is. It goes by the theme of the page.
  await run(operator, 'Remind');
  await badge.filter({ hasText: '1' }).waitFor();
  await user.getByRole('button', { name: 'Notifications, 1 unread', exact: true }).click();
  // The list may be that of before for a moment.
  await user.locator('tidings-bell .item-unread').nth(1).waitFor({ state: 'detached' });
  await user.locator('tidings-bell .item-unread .open').first().click();
  await badge.waitFor({ state: 'hidden' });
  assert.equal(user.url(), `${origin}/console`);
  const scheme = () => user.evaluate(() => getComputedStyle(document.querySelector('tidings-bell')).colorScheme);
  for (const theme of ['dark', 'light']) {
    await user.evaluate((theme) => (document.body.className = `graphiql-${theme}`), theme);
    assert.equal(await scheme(), theme);
  }
  await user.keyboard.press('Escape');

  // The token outlives a reload, but not the window; nothing of it is in what outlives both.
  await user.reload();
  await stands(user, 'Accepted');
  assert.equal(await user.evaluate(() => localStorage.length), 0);

  // GraphiQL's own parts work: documentation, completion, marks, formatting, and the dialogs, which all bring styles along.
  await operator.getByRole('button', { name: 'Show Documentation Explorer' }).click();
  await operator.locator('.graphiql-doc-explorer').getByText('Mutation', { exact: true }).click();
  await operator.locator('.graphiql-doc-explorer').getByText('sendAnnouncement', { exact: true }).waitFor();
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

  // In a tenant that is new the tabs make what they need, in their order. A server that serves no elements has no bell here either.
  for (const [kind, signed] of [['operator', token('fresh', 'operator', 'admin')], ['user', token('fresh', 'ada')]]) {
    const window = await open(`http://127.0.0.1:${fresh.port}/console#token=${signed}`);
    await signsIn(window, 'of tenant fresh');
    await tabsAre(window, TABS[kind]);
    await runAll(window, TABS[kind]);
    assert.equal(await window.getByRole('button', { name: /^Notifications/ }).count(), 0);
  }
  assert.ok(complaints.length > 0 && complaints.every((text) => /40[14]/.test(text)), 'only of tokens, and of elements that are not there');

  assert.deepEqual(foreign, []);
  const count = TABS.operator.length + TABS.user.length;
  console.log(`console: ${count} prepared tabs, in the demo and in a new tenant; nothing asked of others, no complaints`);
} catch (error) {
  console.error({ foreign, complaints });
  throw error;
} finally {
  await browser.close();
  server.stop();
  await fresh.remove();
}
