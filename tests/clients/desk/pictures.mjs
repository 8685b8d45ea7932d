// Takes the pictures of docs/desk.md in the demo; `PICTURES` names another folder.

import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { start } from '../server.mjs';
import { dialog } from './scene.mjs';

const FOLDER = process.env.PICTURES ?? fileURLToPath(new URL('../../../docs/desk/', import.meta.url));

/** Operations that prepare the demo for the pictures. */
const DONE = [
  ['service', 'mutation { sendAnnouncement(input: { type: "team", audience: { groups: ["design"] }, content: { title: "Mock-ups are due on Thursday", body: "In the shared folder." } }) { replayed } }'],
  ['admin', 'mutation { sendAnnouncement(input: { type: "release", audience: { everyone: true }, publishAt: "2031-03-05T08:30:00Z", content: { title: "Orchard 5 is coming", body: "A first look." } }) { replayed } }'],
  ['admin', 'mutation { addUserGroupMembers(code: "design", users: ["hana"]) { code } }'],
  ['admin', 'mutation { createWebhookEndpoint(input: { url: "https://hooks.example.com/tidings", events: [NOTIFICATION_PUBLISHED] }) { endpoint { id } } }'],
  ['service', 'mutation { sendMessage(input: { type: "direct", receiver: "ben", sender: "gus", content: { title: "Can you call me back?" } }) { replayed } }'],
  ['admin', 'mutation { saveDefaultPreferences(actions: [{ code: "like", enabled: false }]) { types { code } } }'],
];

export async function pictures(scene) {
  await mkdir(FOLDER, { recursive: true });
  const demo = await start();
  const origin = new URL(demo.url).origin;
  const ask = async (as, query) => (await (await fetch(demo.url, {
    method: 'POST', headers: { authorization: `Bearer ${demo[as]}`, 'content-type': 'application/json' }, body: JSON.stringify({ query }),
  })).json()).data;
  try {
    for (const [as, query] of DONE) await ask(as, query);
    const { inboxUsers } = await ask('service', '{ inboxUsers(ids: ["ada", "ben", "chen", "fay"]) { overview { total { count } } } }');
    if (inboxUsers.length !== 4) throw new Error('the demo has other people');
    const { sentNotifications } = await ask('admin', '{ sentNotifications(first: 50) { nodes { id shown { title } } } }');
    const idOf = (title) => sentNotifications.nodes.find(({ shown }) => shown.title === title).id;
    const taken = async (name, path, { size = 'desktop', colorScheme = 'light', locale = 'en-GB', height = size === 'phone' ? 844 : 800, act } = {}) => {
      const viewport = { width: size === 'phone' ? 390 : 1180, height };
      const page = await scene.open(null, { signed: demo.admin, origin, path: `/desk/${path}`, options: { colorScheme, locale, viewport } });
      await page.waitForLoadState('networkidle');
      await act?.(page);
      await page.waitForTimeout(400);
      await page.screenshot({ path: `${FOLDER}/${name}.png` });
      await page.done();
    };
    await taken('compose', 'compose', { act: async (page) => {
      await page.getByLabel('Type', { exact: true }).selectOption('release');
      await page.getByRole('radio', { name: 'Groups' }).check();
      await page.getByRole('checkbox', { name: /Design/ }).check();
      await page.getByLabel('Title', { exact: true }).fill('Orchard 4.2');
      await page.getByLabel('Body', { exact: true }).fill('Boards can be shared by link, and search finds what is in pictures.');
      await page.getByLabel('Link', { exact: true }).fill('/changelog/4.2');
    } });
    await taken('send', 'compose', { size: 'phone', act: async (page) => {
      await page.getByLabel('Title', { exact: true }).fill('Orchard 4.2');
      await page.getByRole('button', { name: 'Send …' }).click();
      await dialog(page).waitFor();
    } });
    await taken('sent', 'sent');
    await taken('chinese', 'sent', { locale: 'zh-CN', height: 620 });
    await taken('sent-phone', 'sent', { size: 'phone', colorScheme: 'dark' });
    await taken('notification', `sent/${idOf('Mock-ups are due on Thursday')}?user=ada`);
    await taken('user', 'users/ada');
    await taken('why', `users/emil?tab=why&notification=${idOf('Design lunch on Friday')}`, { size: 'phone' });
    await taken('type', 'catalogue/types/comment', { colorScheme: 'dark', act: async (page) => {
      await page.getByLabel('Of this sample').fill('{ "params": { "document": "Pricing 2027", "text": "Finance agrees." }, "sender": "dara",\n  "target": { "type": "document", "externalId": "pricing-2027" } }');
      await page.getByLabel('Body of items').fill('“{{ params.text }}”\n{% if params.urgent %}Now');
      await page.locator('#template-body-wrong').waitFor();
    } });
    await taken('deliveries', 'deliveries', { height: 620 });
    await taken('audit', 'audit', { height: 620 });
    await taken('now', 'now', { size: 'phone', colorScheme: 'dark', act: (page) => page.waitForTimeout(11_000) });
  } finally {
    demo.stop();
  }
}
