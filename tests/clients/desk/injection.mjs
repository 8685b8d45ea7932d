// Texts with markup: they stay text on every page, under the page's content security policy and Trusted Types.

import assert from 'node:assert/strict';

import { dialog, until } from './scene.mjs';

const TEXTS = [
  '<img src=x onerror="window.hacked = 1">',
  '<script>window.hacked = 1</script>',
  '"><svg onload=window.hacked=1>',
  "' onclick='window.hacked=1",
  '${window.hacked = 1} {{constructor.constructor("window.hacked=1")()}}',
  '&lt;b&gt;not bold&lt;/b&gt; <b>nor this</b>',
  'invoice\u202Efdp.exe \u2066 \u202Dabc',
  'nobreak'.repeat(25),
];

/** The same as readers see them: the server closes what a title leaves open, so that it cannot turn the page's text. */
const SEEN = TEXTS.map((text) => (text.includes('\u202E') ? `${text}\u202C\u2069\u202C` : text)).sort();

/** Checks that no script runs, no foreign elements appear, and the page does not get wider. */
async function harmless(page, what) {
  const found = await page.evaluate(() => ({
    hacked: window.hacked,
    made: [...document.body.querySelectorAll('img, script, iframe, object, b[onclick], [onload], [onerror], [onclick], style, [style]')].map((one) => one.outerHTML),
    links: [...document.querySelectorAll('a[href]')].map((link) => link.protocol).filter((protocol) => !/^https?:$/.test(protocol)),
    isWide: document.documentElement.scrollWidth > innerWidth,
  }));
  assert.deepEqual(found, { hacked: undefined, made: [], links: [], isWide: false }, what);
}

export async function injection(scene) {
  const tenant = await scene.tenant();
  const [first] = TEXTS;
  // Puts hostile texts into every field that users or backends can set.
  const people = TEXTS.map((text, place) => ({ id: place === 0 ? first : `p${place}`, name: text, locale: 'en' }));
  await tenant.ask('mutation($i: [UserProfileInput!]!) { saveUserProfiles(inputs: $i) { id } }', { i: people });
  for (const [place, text] of TEXTS.entries()) {
    await tenant.ask('mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }', { i: { code: place === 0 ? first : `t${place}`, title: text, group: text.slice(0, 100), position: 9 } });
    await tenant.ask('mutation($c: String!, $t: String) { saveUserGroup(code: $c, title: $t) { code } }', { c: `g${place} ${text.slice(0, 90)}`, t: text });
    await tenant.ask('mutation($c: String!, $u: [ID!]!) { addUserGroupMembers(code: $c, users: $u) { code } }', { c: `g${place} ${text.slice(0, 90)}`, u: [first] });
    await tenant.message(first, text, { sender: people[place].id, content: { body: text, link: '/orders' } });
  }
  await tenant.ask('mutation($c: String!, $a: [String!]!) { saveSubscriptionReason(code: $c, actions: $a) { code } }', { c: first, a: [first] });
  await tenant.ask('mutation($c: String!) { saveViewCode(code: $c, open: true) { code } saveTargetType(code: $c, subscriptionPolicy: OPEN) { code } }', { c: first });
  await tenant.asService('mutation($c: String!) { joinView(key: { code: $c, externalId: $c }, users: [$c]) { view { id } } }'.replace('$c: String!', '$c: String!, $u: ID!').replace('externalId: $c', 'externalId: $u').replace('[$c]', '[$u]'), { c: first, u: first });
  await tenant.asService('mutation($t: String!, $u: ID!) { subscribeTopic(input: { target: { type: $t, externalId: $u }, what: { actions: [$t] }, who: { user: $u } }) { createdCount } }', { t: first, u: first });
  await tenant.ask('mutation($t: String!) { saveDefaultPreferences(actions: [{ code: $t, enabled: false }]) { types { code } } }', { t: first });

  const page = await scene.open(tenant, { size: 'phone' });
  const id = encodeURIComponent(first);
  const [{ id: sent }] = await tenant.sent();
  const pages = ['sent', `sent/${sent}?user=${id}`, 'users', `users/${id}`, `users/${id}?tab=listens`, `users/${id}?tab=preferences`, `users/${id}?tab=views`, `users/${id}?tab=why&notification=${sent}`,
    'catalogue', `catalogue/types/${id}`, 'catalogue/reasons', 'catalogue/targets', 'catalogue/groups', 'catalogue/defaults', 'catalogue/views', 'deliveries', 'rules', 'audit', 'now', `users/${encodeURIComponent('<b>nobody</b>')}`];
  for (const place of pages) {
    await page.visit(place);
    await harmless(page, place);
  }
  const titles = async (place, selector) => {
    await page.visit(place);
    await until(`${TEXTS.length} texts`, () => page.locator(selector).count(), (count) => count === TEXTS.length);
    return (await page.locator(selector).evaluateAll((all) => all.map((one) => one.textContent))).sort();
  };
  assert.deepEqual(await titles('sent', 'tbody th > a bdi'), SEEN);
  assert.deepEqual(await titles(`users/${id}`, '.items .item-title bdi'), SEEN);

  // The same for text typed here, in the preview and in the dialog.
  await page.visit('compose');
  for (const text of TEXTS) {
    await page.getByLabel('Title', { exact: true }).fill(text);
    await page.getByLabel('Body', { exact: true }).fill(text);
    await page.locator('.item-title').filter({ hasText: text }).waitFor();
    await harmless(page, 'compose');
  }
  await page.getByLabel('Link', { exact: true }).fill('javascript:window.hacked=1');
  await page.getByRole('button', { name: 'Send …' }).click();
  await dialog(page).waitFor();
  await harmless(page, 'the question');
  await page.keyboard.press('Escape');
  await page.done();
  return `${TEXTS.length} texts on ${pages.length + 1} pages`;
}
