// Sign-in to the desk in headless Chromium with an independent provider (npm `oidc-provider`): sign in, send requests
// with only the cookie, sign out. Pages of other origins can make the browser send the cookie, but gain nothing.
// `CHROMIUM` names another browser than Debian's.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';

import axe from 'axe-core';
import { chromium } from 'playwright-core';

import { Server, freePort, token } from './server.mjs';

/** The accounts at the provider. */
const ACCOUNTS = {
  ada: { name: 'Ada Obi', email: 'ada@example.com', email_verified: true, groups: ['staff', 'operators'] },
  bo: { name: 'Bo <b>Berg</b>', email: 'bo@example.com', email_verified: true, groups: ['support'] },
  chen: { name: 'Chen', email: 'chen@example.com', email_verified: true, groups: ['staff'] },
  dan: { name: 'Dan', email: 'dan@example.com', email_verified: false, groups: ['operators'] },
};

const issuer = `http://127.0.0.1:${await freePort()}`;
const server = await Server.start((port) => ({
  TIDINGS_PUBLIC_URL: `http://127.0.0.1:${port}`,
  TIDINGS_OIDC_ISSUER: issuer,
  TIDINGS_OIDC_CLIENT_ID: 'tidings desk',
  TIDINGS_OIDC_CLIENT_SECRET: 'a secret: +/%',
  TIDINGS_OIDC_SCOPES: 'openid profile email groups',
  TIDINGS_OIDC_TENANT: 'acme',
  TIDINGS_OIDC_ADMINS: 'operators',
  TIDINGS_OIDC_SERVICES: 'support',
}));
const origin = `http://127.0.0.1:${server.port}`;

/** The provider. Hides its warnings about development keys and pages, and about the Node.js version. */
async function provide() {
  const { warn } = console;
  console.warn = () => {};
  const { default: Provider } = await import('oidc-provider');
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'tidings desk',
      client_secret: 'a secret: +/%',
      redirect_uris: [`${origin}/desk/session/callback`],
      post_logout_redirect_uris: [`${origin}/desk`],
    }],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'], groups: ['groups'] },
    findAccount: (_, id) => ACCOUNTS[id] && { accountId: id, claims: () => ({ sub: id, ...ACCOUNTS[id] }) },
    cookies: { keys: ['a key of the cookies of the provider'] },
    features: {
      devInteractions: { enabled: true },
      rpInitiatedLogout: {
        logoutSource: (ctx, form) => {
          ctx.body = `<!doctype html>${form}<button form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`;
        },
      },
    },
    pkce: { required: () => true },
    ttl: { Interaction: 600, Session: 3600, Grant: 3600, AccessToken: 600, IdToken: 600 },
  });
  const listening = provider.listen(Number(new URL(issuer).port), '127.0.0.1');
  await once(listening, 'listening');
  console.warn = warn;
  return listening;
}

const provider = await provide();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update',
    '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost',
  ],
});

/** Signs in at the provider and returns; gives the final response. */
async function signIn(page, login, to = '/desk/sent?q=a') {
  await page.goto(`${origin}/desk/session/begin?to=${encodeURIComponent(to)}`);
  assert.ok(page.url().startsWith(`${issuer}/interaction/`), page.url());
  await page.getByPlaceholder('Enter any login').fill(login);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  const isEnd = (response) => {
    const { pathname } = new URL(response.url());
    const isLed = pathname === '/desk/session/callback' && response.status() === 303;
    return response.url().startsWith(origin) && !isLed && response.request().isNavigationRequest();
  };
  const end = page.waitForResponse(isEnd);
  await page.getByRole('button', { name: 'Continue' }).click();
  await landed(page);
  return end;
}

/** Waits until a page of ours is shown, or the browser's error page. */
async function landed(page) {
  await page.waitForURL((url) => url.origin === origin || url.protocol === 'chrome-error:');
}

/** Sends an operation from a page of ours, authenticated by the cookie only. */
async function ask(page, query, headers = { 'x-tidings-desk': '1' }) {
  return page.evaluate(async ({ query, headers }) => {
    const answer = await fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    });
    return answer.json();
  }, { query, headers });
}

/** The current session, read in a page of ours. */
async function session(page) {
  await page.goto(`${origin}/desk/session`);
  return JSON.parse(await page.locator('body').innerText());
}

/** The first message of a page's WebSocket, or its close code. */
function socket(page, url) {
  return page.evaluate((url) => new Promise((resolve) => {
    const socket = new WebSocket(url, 'graphql-transport-ws');
    socket.onopen = () => socket.send('{"type":"connection_init"}');
    socket.onmessage = ({ data }) => resolve(JSON.parse(data).type);
    socket.onclose = ({ code }) => resolve(code);
  }), url);
}

const saveType = (code) => `mutation { saveMessageType(input: { code: "${code}", title: "T" }) { code } }`;

async function codes() {
  const { messageTypes } = await server.ask(token('acme', 'operator', 'admin'), '{ messageTypes { code } }');
  return messageTypes.map(({ code }) => code);
}

/** Signs in, sends requests, signs out, and signs in again. */
async function comesAndGoes() {
  const context = await browser.newContext();
  const page = await context.newPage();
  assert.deepEqual(await session(page), { signIn: true, session: null });
  assert.equal((await ask(page, '{ messageTypes { code } }')).errors[0].extensions.code, 'UNAUTHENTICATED');

  const end = await signIn(page, 'ada');
  assert.equal(end.url(), `${origin}/desk/sent?q=a`);
  const { signIn: isSetUp, session: told } = await session(page);
  const { expiresAt, ...who } = told;
  assert.deepEqual([isSetUp, who], [true, { tenant: 'acme', role: 'admin', sub: 'ada@example.com', name: 'Ada Obi' }]);
  const hours = (new Date(expiresAt) - Date.now()) / 3_600_000;
  assert.ok(hours > 7.9 && hours < 8.1, expiresAt);

  const cookies = await context.cookies(origin);
  const ours = cookies.filter(({ name }) => name.startsWith('tidings_'));
  assert.deepEqual(ours.map(({ name }) => name), ['tidings_session']);
  assert.deepEqual([ours[0].httpOnly, ours[0].sameSite], [true, 'Strict']);
  assert.ok(!(await page.evaluate(() => document.cookie)).includes('tidings'), 'no script sees it');

  assert.deepEqual((await ask(page, saveType('mine'))).data, { saveMessageType: { code: 'mine' } });
  assert.deepEqual(await codes(), ['mine']);
  assert.equal((await ask(page, saveType('bare'), {})).errors[0].extensions.code, 'UNAUTHENTICATED');
  assert.equal(await socket(page, `ws://127.0.0.1:${server.port}/graphql`), 'connection_ack');
  await attacked(page);

  // Sign-out: the provider asks for confirmation, because its own session ends too.
  const { to } = await page.evaluate(async () => {
    const answer = await fetch('/desk/session/end', { method: 'POST', headers: { 'x-tidings-desk': '1' } });
    return answer.json();
  });
  assert.ok(to.startsWith(`${issuer}/session/end?`), to);
  await page.goto(to);
  const back = page.waitForRequest((request) => request.url() === `${origin}/desk`);
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await back;
  await landed(page);
  assert.deepEqual(await session(page), { signIn: true, session: null });
  assert.equal((await ask(page, saveType('late'))).errors[0].extensions.code, 'UNAUTHENTICATED');
  assert.deepEqual(await codes(), ['mine']);

  // The provider asks for the login again.
  await signIn(page, 'bo', '/desk');
  const { role, name } = (await session(page)).session;
  assert.deepEqual([role, name], ['service', 'Bo <b>Berg</b>']);
  await context.close();
}

/** Attacks from pages of another origin (same site and cross site) in a signed-in user's tab. */
async function attacked(page) {
  const evil = createServer((_, answer) => answer.setHeader('content-type', 'text/html').end('<p>evil</p>')).listen(0, '127.0.0.1');
  await once(evil, 'listening');
  const { port } = evil.address();
  // Same site, so its requests carry the cookie; then cross site.
  for (const host of ['127.0.0.1', 'localhost']) {
    await page.goto(`http://${host}:${port}/`);
    const body = JSON.stringify({ query: saveType('evil') });
    const tried = await page.evaluate(async ({ origin, body }) => {
      const outcomes = [];
      for (const options of [
        { mode: 'no-cors', headers: { 'content-type': 'text/plain' } },
        { mode: 'cors', headers: { 'content-type': 'application/json' } },
        { mode: 'cors', headers: { 'content-type': 'application/json', 'x-tidings-desk': '1' } },
      ]) {
        const sent = fetch(`${origin}/graphql`, { method: 'POST', credentials: 'include', body, ...options });
        outcomes.push(await sent.then((answer) => answer.type, () => 'refused'));
      }
      const seen = fetch(`${origin}/desk/session`, { credentials: 'include' });
      outcomes.push(await seen.then((answer) => answer.text(), () => 'refused'));
      const ended = fetch(`${origin}/desk/session/end`, { method: 'POST', credentials: 'include', mode: 'no-cors' });
      outcomes.push(await ended.then((answer) => answer.type, () => 'refused'));
      return outcomes;
    }, { origin, body });
    assert.deepEqual(tried, ['opaque', 'refused', 'refused', 'refused', 'opaque'], host);
    assert.equal(await socket(page, `ws://127.0.0.1:${server.port}/graphql`), 1006, 'the socket is not opened');
    // A form submission with navigation.
    const posted = page.waitForResponse((response) => response.url() === `${origin}/graphql`);
    await page.evaluate(({ origin, body }) => {
      const form = Object.assign(document.createElement('form'), { method: 'post', action: `${origin}/graphql`, enctype: 'text/plain' });
      const [name, value] = body.split('code');
      form.append(Object.assign(document.createElement('input'), { name: `${name}code`, value }));
      document.body.append(form);
      form.submit();
    }, { origin, body });
    assert.equal((await posted).status(), 415);
    await page.waitForURL(`${origin}/graphql`);
  }
  evil.close();
  assert.deepEqual(await codes(), ['mine']);
  assert.notEqual((await session(page)).session, null, 'nobody was signed out');
}

/** Users that the provider accepts but the desk refuses, and a cancelled sign-in. */
async function staysOut() {
  for (const [login, words] of [
    ['chen', 'No value of your claim “groups” gives access to the desk.'],
    ['dan', 'The provider has not verified your e-mail address.'],
  ]) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const end = await signIn(page, login);
    assert.equal(end.status(), 403);
    await page.getByRole('heading', { name: 'You may not use the desk' }).waitFor();
    await page.getByText(words).waitFor();
    await page.evaluate(axe.source);
    assert.deepEqual((await page.evaluate(() => globalThis.axe.run())).violations.map(({ id }) => id), []);
    assert.equal(await page.getByRole('link', { name: 'Back to the desk' }).getAttribute('href'), `${origin}/desk`);
    assert.equal((await session(page)).session, null);
    await context.close();
  }
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${origin}/desk/session/begin`);
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByRole('heading', { name: 'The provider did not sign you in' }).waitFor();
  await page.getByText('access_denied').waitFor();
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await page.getByPlaceholder('Enter any login').waitFor();
  await context.close();
}

try {
  await comesAndGoes();
  await staysOut();
  console.log('signin: somebody came, asked and left by oidc-provider; pages of two other origins got nothing; three stayed out');
} finally {
  await browser.close();
  provider.closeAllConnections();
  provider.close();
  await server.remove();
}
