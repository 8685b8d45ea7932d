// Ten tabs of a user share one session; nothing is lost or doubled when the tab that holds it closes.

import assert from 'node:assert/strict';

import { metric, shown, until } from './scene.mjs';

const TABS = 10;
const SENDS = 1000;
const AT_ONCE = 50;

export async function tenTabs(scene) {
  const server = await scene.another();
  try {
    const tenant = await scene.tenant(server);
    const device = await scene.device(tenant, 'ada');
    const pages = [];
    for (let n = 0; n < TABS; n++) pages.push(await device.open());
    const sessions = () => metric(server, 'tidings_sessions');
    await until('one session', sessions, (count) => count === 1);
    await until(
      'a count in all',
      () => Promise.all(pages.map((page) => page.evaluate(() => window.events.some(({ name }) => name === 'overview')))),
      (all) => all.every(Boolean),
    );

    let closedAt;
    for (let sent = 0; sent < SENDS; sent += AT_ONCE) {
      await tenant.send(
        'ada',
        Array.from({ length: AT_ONCE }, (_, n) => `Item ${sent + n}`),
      );
      if (sent !== SENDS / 2) continue;
      const leader = pages.find(({ isLeader }) => isLeader);
      pages.splice(pages.indexOf(leader), 1);
      await leader.close();
      closedAt = Date.now();
    }
    await until(
      'another leader',
      () => pages.filter(({ isLeader }) => isLeader).length,
      (count) => count === 1,
      5000,
    );
    await until('one session again', sessions, (count) => count === 1, 5000);
    const took = Date.now() - closedAt;
    const counts = () => Promise.all(pages.map(async (page) => (await shown(page)).badge));
    await until('the count in all', counts, (all) => all.every((badge) => badge === SENDS));
    const heard = () =>
      Promise.all(
        pages.map((page) => page.evaluate(() => window.events.filter(({ name }) => name === 'item').map(({ title }) => title))),
      );
    const all = await until('all items in all', heard, (found) => found.every((titles) => titles.length >= SENDS));
    for (const titles of all) {
      assert.equal(titles.length, SENDS);
      assert.equal(new Set(titles).size, SENDS);
    }
    assert.ok(device.sockets <= 3, `${device.sockets} sockets were opened`);
    assert.deepEqual(device.complaints, []);
    await device.close();
    await until('no session', sessions, (count) => count === 0);
    return `${TABS} tabs, 1 session, ${SENDS} sends; ${took} ms after its tab was closed, during sends, the session is another's`;
  } finally {
    await server.remove();
  }
}
