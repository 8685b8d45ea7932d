// Deliveries and rules: the state of destinations, failures and retries, pausing.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';

import { PATIENCE, dialog, said, until } from './scene.mjs';

/** An endpoint fails, is fixed, and receives what it missed. */
export async function deliveries(scene, size) {
  const tenant = await scene.tenant();
  const taken = [];
  let status = 410;
  const receiver = createServer((request, response) => {
    if (status < 300) taken.push(request.headers['webhook-id']);
    request.resume().on('end', () => response.writeHead(status).end());
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${receiver.address().port}/hook`;
  await tenant.ask('mutation($i: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $i) { endpoint { id } } }', { i: { url, events: ['NOTIFICATION_PUBLISHED'] } });
  const id = await tenant.message('ada', 'Heard elsewhere');
  const state = async () => (await tenant.ask('{ outboundDeliveries { nodes { id state lastStatus } } }')).outboundDeliveries.nodes;
  await until('an endpoint that was given up', async () => (await tenant.ask('{ webhookEndpoints { state } }')).webhookEndpoints[0].state, (found) => found === 'DISABLED');

  const page = await scene.open(tenant, { size, path: '/desk/deliveries' });
  await page.locator('.lane').getByText(url).waitFor();
  await page.locator('.lane').getByText('Disabled').waitFor();
  await page.getByRole('cell', { name: /410/ }).waitFor();
  status = 204;
  await page.getByRole('button', { name: 'Resume' }).click();
  await said(page, 'It sends again.');
  await page.getByLabel('Notification').fill(id);
  const again = page.getByRole('button', { name: /^Send again: Notification published/ });
  // Failed deliveries are due again after some seconds.
  await until('what was missed', () => taken.length, (length) => length > 0, 2 * PATIENCE);
  await until('it is delivered', state, (all) => all.every((of) => of.state === 'DELIVERED'));

  // A test delivery, and a repeated delivery.
  await page.getByRole('button', { name: 'Test' }).click();
  await said(page, 'A test is on its way');
  await until('the test', () => taken.length, (length) => length > 1);
  await page.reload();
  const before = taken.length;
  await again.click();
  await said(page, '1 go out again.');
  await until('it again', () => taken.length, (length) => length > before);
  receiver.close();
  await page.done();
}

/** A rule is paused and resumed, and the page shows its runs. */
export async function rules(scene, size) {
  const tenant = await scene.tenant();
  await tenant.ask(`mutation { saveNotificationRule(input: { code: "late", type: "order", key: ["number"], audience: { userColumn: "who" }, firstRun: RAISE }) { code } }`);
  await tenant.ask('mutation { reportRuleRows(input: { rule: "late", rows: [{ number: 7, state: "late", who: "ada" }] }) { raised } }');
  const page = await scene.open(tenant, { size, path: '/desk/rules' });
  await page.getByText('The last 1 runs').click();
  await page.getByRole('cell', { name: 'Complete' }).waitFor();
  const state = async () => (await tenant.ask('{ notificationRules { state } }')).notificationRules[0].state;
  for (const [act, expected] of [['Pause', 'PAUSED'], ['Resume', 'ACTIVE']]) {
    await page.getByRole('button', { name: act }).click();
    await until(expected, state, (found) => found === expected);
    await page.getByText(expected === 'PAUSED' ? 'Paused' : 'Active', { exact: true }).waitFor();
  }
  assert.equal(await dialog(page).count(), 0);
  await page.done();
}
