// Access: roles, links, tokens, and cookie sessions.

import assert from 'node:assert/strict';

import { token } from '../server.mjs';
import { dialog, until } from './scene.mjs';

const PLACES = { compose: 'Compose', sent: 'Sent', users: 'Users', catalogue: 'Catalogue', deliveries: 'Deliveries', rules: 'Rules', audit: 'Audit log', now: 'Now' };

/** The pages of each role. */
const MATRIX = { admin: Object.keys(PLACES), service: Object.keys(PLACES).filter((place) => !['rules', 'audit', 'now'].includes(place)), user: [] };

/** Each role sees links to its pages only, and the server refuses none of the requests of these pages. */
export async function roles(scene) {
  const tenant = await scene.tenant();
  let count = 0;
  for (const [role, allowed] of Object.entries(MATRIX)) {
    const page = await scene.open(tenant, { role });
    if (role === 'user') {
      await page.getByRole('heading', { name: 'The desk is not for users' }).waitFor();
      await page.getByText('in the bell of your application').waitFor();
      assert.equal(await page.getByRole('navigation').count(), 0);
    } else {
      const links = await page.getByRole('navigation', { name: 'Desk' }).getByRole('link').allInnerTexts();
      assert.deepEqual(links, [...allowed.map((place) => PLACES[place]), 'Advanced'], role);
    }
    for (const place of Object.keys(PLACES)) {
      const answers = [];
      page.on('response', (answer) => answer.url().endsWith('/graphql') && answers.push(answer.json().catch(() => ({}))));
      await page.goto(`${scene.origin}/desk/${place}`);
      await page.locator('h1').waitFor();
      await page.settled();
      const codes = (await Promise.all(answers)).flatMap(({ errors = [] }) => errors.map(({ extensions }) => extensions.code));
      assert.deepEqual(codes, [], `${role} at ${place}`);
      const isOpen = (await page.locator(`main desk-${place}`).count()) === 1;
      assert.equal(isOpen, allowed.includes(place), `${role} at ${place}`);
      if (!isOpen) assert.deepEqual(answers, [], `${role} asks nothing at ${place}`);
      count++;
    }
    await page.done();
  }
  // The catalogue shows no buttons that the role may not use.
  const service = await scene.open(tenant, { role: 'service', path: '/desk/catalogue/types/news' });
  assert.ok(await service.getByLabel('Title', { exact: true }).isDisabled());
  assert.equal(await service.getByRole('button', { name: 'Save' }).count(), 0);
  await service.done();
  return `${count} pairs of a role and a page`;
}

/**
 * A link's token is removed from the address and replaces a caller only after confirmation. A refused token signs out
 * with a message.
 */
export async function links(scene) {
  const tenant = await scene.tenant();
  const page = await scene.open(tenant, { path: '/desk/users/ada?tab=why' });
  await until('an address without a token', () => page.url(), (url) => url === `${scene.origin}/desk/users/ada?tab=why`);
  await page.reload();
  await page.getByRole('heading', { name: 'Ada Obi' }).waitFor();
  const who = page.locator('.who-name');
  for (const [answer, then] of [['Keep', 'root'], ['Replace', 'other']]) {
    await page.goto(`${scene.origin}/desk/sent#token=${token(tenant.name, 'other', 'service')}`);
    await dialog(page).getByText(`other (SERVICE) at ${tenant.name}`).waitFor();
    assert.match(await who.innerText(), /^root/);
    assert.ok(!page.url().includes('token'));
    await dialog(page).getByRole('button', { name: answer }).click();
    await until(then, () => who.innerText(), (text) => text.startsWith(then));
  }
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.equal(await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }).includes('eyJ')), false, 'nothing is left of the token');

  // Pasted with "Bearer" and spaces.
  await page.getByLabel('Token of a service or an operator').fill(` Bearer ${token(tenant.name, 'root', 'admin')} `);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await until('root', () => who.innerText(), (text) => text.startsWith('root'));
  await page.getByRole('heading', { name: 'Sent' }).waitFor();
  await page.done();

  const refused = await scene.open(tenant, { signed: `${token(tenant.name, 'root', 'admin').slice(0, -4)}AAAA` });
  await refused.getByRole('alert').getByText('The server does not take this any more').waitFor();
  await refused.getByRole('heading', { name: 'Sign in' }).waitFor();
  refused.complaints.splice(0, refused.complaints.length, ...refused.complaints.filter((text) => !text.includes('401')));
  await refused.done();
}

/**
 * A cookie session: the page sends the header that other origins cannot send, and no token. Provider and session
 * endpoints are mocked here; they have their own tests.
 */
export async function cookies(scene) {
  const tenant = await scene.tenant();
  const page = await scene.open(tenant, { role: null });
  let session = null;
  const ended = [];
  await page.route('**/desk/session', (route) => route.fulfill({ json: { signIn: true, session } }));
  await page.route('**/desk/session/end', (route) => {
    ended.push(route.request().headers()['x-tidings-desk']);
    session = null;
    return route.fulfill({ json: { to: `${scene.origin}/desk/now` } });
  });
  const asked = [];
  await page.route('**/graphql', (route) => {
    const headers = route.request().headers();
    asked.push([headers.authorization, headers['x-tidings-desk']]);
    return route.continue({ headers: { ...headers, authorization: `Bearer ${tenant.admin}` } });
  });
  await page.goto(`${scene.origin}/desk/users/ada`);
  const begin = page.getByRole('link', { name: 'Sign in with your organisation' });
  assert.equal(await begin.getAttribute('href'), '/desk/session/begin?to=%2Fdesk%2Fusers%2Fada');

  session = { tenant: tenant.name, role: 'admin', sub: 'u-1', name: 'Grace', expiresAt: new Date(Date.now() + 3_600_000).toISOString() };
  await page.reload();
  await page.getByRole('heading', { name: 'Ada Obi' }).waitFor();
  assert.match(await page.locator('.who-name').innerText(), /^Grace/);
  assert.ok(asked.length > 0 && asked.every(([authorization, header]) => authorization === undefined && header === '1'), JSON.stringify(asked));
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  // The page goes where the server says.
  await until('the end of the session', () => page.url(), (url) => url === `${scene.origin}/desk/now`);
  assert.deepEqual(ended, ['1']);
  await page.done();
}
