// The console in headless Chromium, which reaches only the servers started here. The page contacts no other server,
// obeys its content security policy, runs nothing by itself, and opens without a mutation; its examples leave a
// tenant's data unchanged. `CHROMIUM` names another browser than Debian's.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { chromium } from 'playwright-core';

import { start } from './server.mjs';

const FIRST = 'MessageTypes';

/** The examples by the roles that may run them. */
const EXAMPLES = {
  operator: [
    'SentNotifications', 'InboxOfUser', 'Rules', 'SaveMessageType', 'FillGroup', 'AnnounceToGroup', 'Remind', 'Amend', 'Retract',
    'SaveRule', 'ReportRows', 'ResumeRule',
  ],
  user: ['MyOverview', 'MyInbox', 'LiveItems', 'LiveOverview', 'MarkRead', 'Preferences', 'Subscribe'],
};

/**
 * Examples that may be refused: they name a missing notification, or an action that only the backend may subscribe to.
 */
const MAY_BE_REFUSED = ['Amend', 'Retract', 'Subscribe'];

/** `CONSOLE_DIST` names a folder to take the page from, so that the binary need not be rebuilt. */
const DIST = process.env.CONSOLE_DIST && resolve(process.env.CONSOLE_DIST);

const server = await start();
const origin = new URL(server.url).origin;
const { host } = new URL(origin);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    // A page that no server has sent cannot open sockets otherwise.
    ...(DIST ? ['--disable-features=LocalNetworkAccessChecks'] : []),
  ],
});

/** Requests to other servers, and errors: both must stay empty. */
const foreign = [];
const complaints = [];

const isOwn = (url) => ['http:', 'ws:'].includes(url.protocol) && url.host === host;

/** Content types of the assets from that folder. */
const TYPES = { css: 'text/css', js: 'text/javascript', ttf: 'font/ttf' };

async function fromDist(route) {
  const { pathname } = new URL(route.request().url());
  const name = pathname.slice('/console/'.length);
  if (name) return route.fulfill({ body: gunzipSync(await readFile(`${DIST}/${name}.gz`)), contentType: TYPES[name.split('.').at(-1)] });
  const { headers } = await fetch(`${origin}/console`);
  const nonce = headers.get('content-security-policy').match(/'nonce-([^']+)'/)[1];
  const page = (await readFile(`${DIST}/index.html`, 'utf8')).replaceAll('{nonce}', nonce);
  return route.fulfill({ headers: Object.fromEntries(headers), body: page });
}

/** Opens a window; requests to other servers are blocked and recorded. */
async function open(address) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  await context.route((url) => !isOwn(url), (route) => {
    foreign.push(route.request().url());
    return route.abort();
  });
  if (DIST) await context.route((url) => /^\/console(\/|$)/.test(url.pathname), fromDist);
  await context.addInitScript(() => addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
    console.error(`policy violated: ${violatedDirective} ${blockedURI}`);
  }));
  const page = await context.newPage();
  // The names of the operations that the page has sent over HTTP.
  page.asked = [];
  page.on('request', (request) => {
    // Ignore the desk, where one of the tests starts.
    if (request.method() !== 'POST' || !page.url().startsWith(`${origin}/console`)) return;
    const { query, operationName } = request.postDataJSON();
    // GraphiQL fetches the schema.
    if (!query.includes('__schema')) page.asked.push(operationName);
  });
  page.sockets = 0;
  page.on('websocket', () => page.sockets++);
  page.on('websocket', (socket) => isOwn(new URL(socket.url())) || foreign.push(socket.url()));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(address);
  return page;
}

const tab = (page, name) => page.locator(`.graphiql-tab-button[title="${name}"]`);
const shows = (page, text) => page.locator('.graphiql-response').filter({ hasText: text }).waitFor();
const stands = (page, text) => page.locator('.standing').filter({ hasText: text }).waitFor();

/** Accepts the token of a link. Until then there is no caller. */
async function signsIn(page, whom) {
  const question = page.getByRole('dialog', { name: 'Sign in as' });
  await question.getByRole('heading').filter({ hasText: whom }).waitFor();
  await stands(page, 'No token');
  await question.getByRole('button', { name: 'Sign in', exact: true }).click();
}

const editor = (page) => page.locator('.graphiql-query-editor .view-lines');
const play = (page) => page.locator('.graphiql-execute-button').click();

/** The list shows `SaveMessageType` as `Save message type`. */
const words = (name) => name.replace(/(?<!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Opens an example in a tab. */
async function insert(page, name) {
  await page.locator('.examples').getByRole('button', { name: new RegExp(`^${words(name)} (query|mutation|subscription)$`) }).click();
  await editor(page).filter({ hasText: name }).waitFor();
}

/** Inserts each example and runs it unchanged. Returns the responses by name. */
async function runAll(page, names) {
  const answers = {};
  for (const name of names) {
    await insert(page, name);
    const isLive = name.startsWith('Live');
    const asked = (request) => request.method() === 'POST' && request.postDataJSON()?.operationName === name;
    const answer = isLive ? undefined : page.waitForResponse((response) => asked(response.request()));
    await play(page);
    if (!isLive) {
      const { data, errors } = await (await answer).json();
      if (!MAY_BE_REFUSED.includes(name)) assert.equal(errors, undefined, `${name}: ${JSON.stringify(errors)}`);
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

async function ask(token, query) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const { data, errors } = await (await fetch(server.url, { method: 'POST', headers, body: JSON.stringify({ query }) })).json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

/** The demo data that an example could change by accident. */
async function held() {
  const isOwn = ({ code }) => !code.startsWith('example-');
  const { messageTypes, notificationRules, userGroups, sentNotifications } = await ask(server.admin, `{
    messageTypes { code title group mandatory position readPolicy ttlSeconds template { title body link } icon ui }
    notificationRules { code type { code } key scan { source } audience { everyone userColumn groupColumn reminder { targetType targetId action } }
      resolve resolveAfter amend repeatAfterSeconds firstRun maxNew alarm { type } state rowCount }
    userGroups { code title memberCount }
    sentNotifications(first: 100, filter: { types: ["release", "team", "comment", "review", "direct"] }) { nodes { id title status } }
  }`);
  const { viewer } = await ask(server.token, `{ viewer {
    overview { unread { count } total { count } } subscriptions(first: 100) { nodes { target { type externalId } action } }
    preferences { types { code enabled } }
  } }`);
  viewer.preferences.types = viewer.preferences.types.filter(isOwn);
  viewer.subscriptions.nodes = viewer.subscriptions.nodes.filter(({ target }) => !target.type.startsWith('example-'));
  return { sentNotifications, viewer, types: messageTypes.filter(isOwn), rules: notificationRules.filter(isOwn), groups: userGroups.filter(isOwn) };
}

/** Opens the desk and follows its link “Advanced”. */
async function fromDesk(page) {
  await page.goto(`${origin}/desk#token=${server.admin}`);
  await page.getByRole('link', { name: /Advanced/ }).first().click();
  await page.waitForURL(/\/console$/);
}

async function tabsAre(page, names) {
  // A tab selected before the editor is ready is not shown in it.
  await page.locator('.graphiql-query-editor .view-lines').filter({ hasText: names[0] }).waitFor();
  assert.deepEqual(await page.locator('.graphiql-tab-button').allTextContents(), names);
}

/** Checks a freshly opened page: one harmless query, no mutation, nothing run. */
async function isHarmless(page) {
  await tabsAre(page, [FIRST]);
  assert.doesNotMatch(await editor(page).innerText(), /mutation/);
  assert.deepEqual(page.asked, []);
}

try {
  // The operator's link signs in after confirmation, and leaves no token in the address.
  const operator = await open(`${origin}/console#token=${server.admin}`);
  await signsIn(operator, 'operator (ADMIN) of tenant orchard');
  await stands(operator, 'Accepted');
  assert.equal(operator.url(), `${origin}/console`);
  assert.match(await operator.locator('.claims').innerText(), /orchard\s+operator\s+ADMIN\s+expires in 24 h/);
  await isHarmless(operator);

  // The initial query only reads, and works for every role.
  const user = await open(`${origin}/console#token=${server.token}`);
  await signsIn(user, 'ada (USER) of tenant orchard');
  await stands(user, 'Accepted');
  for (const page of [operator, user]) {
    await isHarmless(page);
    await play(page);
    await shows(page, '"messageTypes"');
    assert.deepEqual(page.asked, [FIRST]);
    assert.equal(await page.locator('tidings-bell').count(), 0);
  }

  // A click on an example inserts it but does not run it; the editor's previous text stays in its tab.
  const before = await held();
  const all = [...EXAMPLES.operator, ...EXAMPLES.user];
  assert.equal(await operator.locator('.examples button').count(), all.length);
  for (const name of all) await insert(operator, name);
  // GraphiQL settles within half a second.
  await operator.waitForTimeout(1_000);
  assert.deepEqual(operator.asked, [FIRST], 'nothing has run but the first query');
  assert.equal(operator.sockets, 0, 'nor over a socket');
  assert.deepEqual(await operator.locator('.graphiql-tab-button').allTextContents(), [FIRST, ...all]);
  assert.deepEqual(await held(), before);

  // After a reload in the same browser tab, the page shows no mutation; the tab with it still exists.
  await tab(operator, 'SaveMessageType').click();
  await editor(operator).filter({ hasText: 'mutation SaveMessageType' }).waitFor();
  await operator.waitForTimeout(1_000);
  for (const again of [() => operator.reload(), () => fromDesk(operator)]) {
    operator.asked.length = 0;
    await again();
    await editor(operator).filter({ hasText: FIRST }).waitFor();
    assert.deepEqual(operator.asked, []);
    assert.ok((await operator.locator('.graphiql-tab-button').allTextContents()).includes('SaveMessageType'));
    await tab(operator, 'SaveMessageType').click();
    await editor(operator).filter({ hasText: 'mutation SaveMessageType' }).waitFor();
    await operator.waitForTimeout(1_000);
  }

  // Running all examples unchanged does not alter the demo's data.
  const { ReportRows } = await runAll(operator, EXAMPLES.operator);
  const { error, ...figures } = ReportRows.reportRuleRows;
  assert.deepEqual([error, figures], [null, { outcome: 'COMPLETE', rows: 1, raised: 1, amended: 0, resolved: 0 }]);
  await runAll(user, EXAMPLES.user);
  assert.deepEqual(await held(), before, 'the examples change nothing but what they have made');

  // A subscription receives new items.
  await insert(user, 'LiveItems');
  await play(user);
  await user.locator('.graphiql-execute-button[aria-label^="Stop"]').waitFor();
  await ask(server.service, 'mutation { sendMessage(input: { type: "direct", receiver: "ada", content: { title: "Heard live" } }) { replayed } }');
  await shows(user, '"title": "Heard live"');

  // The token survives a reload but not the window; nothing of it is in permanent storage.
  await user.reload();
  await stands(user, 'Accepted');
  assert.equal(await user.evaluate(() => localStorage.length), 0);

  // GraphiQL's own parts work: documentation, completion, markers, formatting, and dialogs. All of them insert styles.
  await operator.getByRole('button', { name: 'Show Documentation Explorer' }).click();
  await operator.locator('.graphiql-doc-explorer').getByText('Mutation', { exact: true }).click();
  await operator.locator('.graphiql-doc-explorer').getByText('sendAnnouncement', { exact: true }).waitFor();
  await operator.getByRole('button', { name: 'New tab' }).click();
  await editor(operator).click();
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
  await editor(operator).click({ button: 'right' });
  await operator.getByRole('menuitem', { name: /^Command Palette/ }).waitFor();
  await operator.keyboard.press('Escape');
  await operator.getByRole('button', { name: 'Open settings dialog' }).click();
  await operator.getByRole('button', { name: 'Dark', exact: true }).click();
  await operator.locator('body.graphiql-dark').waitFor();
  await operator.keyboard.press('Escape');

  // A link does not replace the caller without asking.
  const question = user.getByRole('dialog', { name: 'Replace the caller?' });
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

  // Until a link's token is accepted, GraphiQL sends requests without one.
  assert.deepEqual(complaints.filter((text) => !text.includes('401')), []);

  // The page reports a refused and a missing token; the browser itself logs each 401.
  const field = operator.getByLabel('Token', { exact: true });
  await field.fill(`${server.admin.slice(0, -4)}AAAA`);
  await stands(operator, 'Refused');
  await field.fill('');
  await stands(operator, 'No token');
  await field.fill(`Bearer ${server.admin}`);
  await stands(operator, 'Accepted');
  assert.equal(await field.inputValue(), server.admin);

  assert.ok(complaints.length > 0 && complaints.every((text) => text.includes('401')), 'only of tokens');

  assert.deepEqual(foreign, []);
  console.log(`console: ${all.length} examples, inserted and run; nothing asked of others, no complaints`);
} catch (error) {
  console.error({ foreign, complaints });
  throw error;
} finally {
  await browser.close();
  server.stop();
}
