// Accessibility: axe in both themes and sizes, and a walk through the page by keyboard only.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { until } from './scene.mjs';

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

async function audit(page, what) {
  const { passes, violations } = await page.evaluate(async () => {
    const { violations, passes } = await axe.run(document);
    return {
      passes: passes.length,
      violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join(' | ')}`),
    };
  });
  assert.deepEqual(violations, [], what);
  return passes;
}

/**
 * axe finds nothing on any page, light on desktop and dark on phone; also with missing fields, an open dialog, and
 * signed out.
 */
export async function axe(scene, size) {
  const colorScheme = size === 'phone' ? 'dark' : 'light';
  const tenant = await scene.tenant();
  const sent = await tenant.message('ada', 'Hello', { content: { body: 'A body.', link: '/x' }, sender: 'ben' });
  const planned = await tenant.announce('Planned', { groups: ['schools'] }, { publishAt: '2031-01-01T00:00:00Z' });
  await tenant.ask(`mutation { saveNotificationRule(input: { code: "late", type: "order", key: ["number"], audience: { userColumn: "who" } }) { code }
    saveSubscriptionReason(code: "create", actions: ["comment"]) { code } saveViewCode(code: "chat", open: true) { code } }`);
  const pages = ['compose', 'sent', `sent/${sent}?user=ada`, `sent/${planned}`, 'users', 'users/ada', 'users/ada?tab=listens', 'users/ada?tab=preferences', `users/ada?tab=why&notification=${sent}`,
    'users/ada?tab=data', 'users/nobody', 'catalogue', 'catalogue/types/order', 'catalogue/types/+', 'catalogue/reasons', 'catalogue/targets', 'catalogue/groups', 'catalogue/defaults', 'catalogue/views', 'deliveries', 'rules', 'audit', 'now'];
  let passes = 0;
  const page = await scene.open(tenant, { size, options: { colorScheme, bypassCSP: true }, path: '/desk/users' });
  await page.evaluate(AXE);
  for (const place of pages) {
    await page.visit(place);
    passes += await audit(page, `${place}, ${colorScheme}`);
  }
  await page.visit('compose');
  await page.getByRole('radio', { name: 'Named people' }).check();
  await page.getByRole('radio', { name: 'Later' }).check();
  await page.getByRole('combobox', { name: 'Search' }).fill('a');
  await page.getByRole('listbox').getByRole('option').first().waitFor();
  passes += await audit(page, `a list of users, ${colorScheme}`);
  await page.getByRole('listbox').getByRole('option').first().click();
  await page.getByRole('button', { name: 'Schedule …' }).click();
  await page.getByText('A title is needed.').waitFor();
  passes += await audit(page, `what is missing, ${colorScheme}`);
  await page.visit(`sent/${sent}`);
  await page.getByRole('button', { name: 'Amend' }).click();
  passes += await audit(page, `amending, ${colorScheme}`);
  await page.getByRole('button', { name: 'Retract …' }).click();
  passes += await audit(page, `a question, ${colorScheme}`);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  passes += await audit(page, `signed out, ${colorScheme}`);
  await page.done();
  return `0 findings in ${pages.length + 5} states, ${colorScheme}, ${size} (${passes} rules passed)`;
}

/** Composes, sends, views and retracts by keyboard. The focus is never lost and always visible. */
export async function keyboard(scene) {
  const tenant = await scene.tenant();
  const page = await scene.open(tenant, { path: '/desk/sent' });
  const focus = () => page.evaluate(() => {
    const at = document.activeElement;
    return `${at.localName} ${at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? at.innerText}`.trim();
  });
  const isAt = (expected) => until(`the focus at ${expected}`, focus, (found) => found === expected);
  const press = async (...keys) => {
    for (const key of keys) {
      await page.keyboard.press(key);
      const { name, isSeen } = await page.evaluate(() => {
        const at = document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(at);
        return { name: at.outerHTML.slice(0, 80), isSeen: at === document.body || at.matches('h1, main') || (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) };
      });
      assert.ok(isSeen, `what has the focus after ${key} is seen: ${name}`);
    }
  };
  await press('Tab');
  await isAt('a Skip to the content');
  await press('Enter');
  await until('the content', () => page.evaluate(() => document.activeElement.id), (id) => id === 'main');
  await press('Tab');
  await isAt('a Compose');
  await press('Enter');
  await isAt('h1 Compose');
  await page.getByLabel('Type', { exact: true }).waitFor();
  await press('Tab');
  await isAt('select Type');
  await press('Tab');
  await isAt('input Everyone');
  await press('ArrowRight', 'ArrowRight', 'Tab');
  await isAt('input Search');
  await page.keyboard.type('Ad');
  await page.getByRole('option', { name: /Ada Obi/ }).waitFor();
  await press('ArrowDown');
  assert.equal(await page.getByRole('combobox', { name: 'Search' }).getAttribute('aria-activedescendant'), 'person-list-0');
  await press('Enter', 'Tab');
  await isAt('summary Paste a list or a CSV');
  await press('Tab');
  await isAt('button Remove ada');
  await press('Tab');
  await isAt('input Title');
  await page.keyboard.type('By keys');
  await press('Enter');
  await page.getByRole('dialog').waitFor();
  // The dialog traps the focus.
  await isAt('button Cancel');
  await press('Tab');
  await isAt('button Send');
  await press('Enter');
  await isAt('a Look at it');
  assert.deepEqual(await tenant.titles('ada'), ['By keys']);
  await press('Enter');
  await isAt('h1 By keys');
  await press('Tab', 'Tab');
  await isAt('button Retract …');
  await press('Enter');
  await isAt('button Keep it');
  await press('Tab', 'Enter');
  await isAt('h1 By keys');
  assert.deepEqual(await tenant.titles('ada'), []);
  await page.done();
}
