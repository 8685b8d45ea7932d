// Server crashes, expired or refused tokens, and too many sessions: the page recovers without flooding the server.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { openBell, shown, until } from './scene.mjs';

const inside = (page, selector) => page.locator(`tidings-bell ${selector}`);

/** The server is killed and restarted: the page says so, and then shows items sent in between. */
export async function killed(scene) {
  const server = await scene.another();
  try {
    const tenant = await scene.tenant(server);
    await tenant.send('ada', ['Before']);
    const device = await scene.device(tenant, 'ada');
    const page = await device.open();
    await openBell(page);
    await server.end('SIGKILL');
    await inside(page, '.banner.offline').waitFor();
    assert.equal((await shown(page)).items.length, 1, 'what was there stays');
    await server.run();
    await tenant.send('ada', ['After']);
    await until(
      'what came after',
      () => page.evaluate(() => window.titles()),
      (titles) => titles.join() === 'After,Before',
    );
    await inside(page, '.banner').waitFor({ state: 'detached' });
    await until(
      'the count',
      async () => (await shown(page)).badge,
      (badge) => badge === 2,
    );
    assert.ok(device.sockets < 15, `${device.sockets} sockets were opened`);
    const text = `${device.sockets} sockets, ${device.tokens} tokens`;
    await device.close();
    return text;
  } finally {
    await server.remove();
  }
}

/** A token expires: the page asks for the next one and misses nothing. */
export async function expired(scene) {
  const tenant = await scene.tenant();
  const device = await scene.device(tenant, 'ada');
  device.seconds = 4;
  const page = await device.open();
  await openBell(page);
  await sleep(6000);
  await tenant.send('ada', ['Later']);
  await until(
    'what came later',
    async () => (await shown(page)).badge,
    (badge) => badge === 1,
  );
  assert.ok(device.tokens >= 2 && device.tokens <= 12, `${device.tokens} tokens in 6 s of 4 s each`);
  const text = `${device.tokens} tokens, ${device.sockets} sockets`;
  await device.close();
  return text;
}

/** The token is refused: the page says so, asks for another at growing intervals, and continues with a valid one. */
export async function refused(scene) {
  const tenant = await scene.tenant();
  await tenant.send('ada', ['Hello']);
  const device = await scene.device(tenant, 'ada');
  device.refuse = true;
  const page = await device.open();
  await page.getByRole('button', { name: 'Notifications' }).click();
  await inside(page, '.state').filter({ hasText: 'Please sign in again' }).waitFor();
  await sleep(4000);
  assert.ok(device.tokens <= 8, `${device.tokens} tokens in 4 s`);
  const asked = device.tokens;
  device.refuse = false;
  await until(
    'what there is',
    async () => (await shown(page)).badge,
    (badge) => badge === 1,
    40_000,
  );
  await device.close();
  return `${asked} tokens asked for in 4 s`;
}

/** Close code 1013, too many sessions: the second device still shows counts, and does not flood the server. */
export async function tooMany(scene) {
  const server = await scene.another({ TIDINGS_SESSIONS_PER_USER: '1' });
  try {
    const tenant = await scene.tenant(server);
    const first = await scene.device(tenant, 'ada');
    const one = await first.open();
    await until(
      'a session',
      () => first.sockets,
      (sockets) => sockets === 1,
    );
    const second = await scene.device(tenant, 'ada');
    const other = await second.open();
    await tenant.send('ada', ['Hello']);
    await until(
      'the count of the first',
      async () => (await shown(one)).badge,
      (badge) => badge === 1,
    );
    await sleep(4000);
    assert.ok(second.sockets <= 6, `${second.sockets} sockets in 4 s`);
    assert.ok(second.tokens <= 8, `${second.tokens} tokens in 4 s`);
    const text = `${second.sockets} sockets in 4 s`;
    await first.close();
    await until(
      'the count of the second',
      async () => (await shown(other)).badge,
      (badge) => badge === 1,
      45_000,
    );
    await second.close();
    return text;
  } finally {
    await server.remove();
  }
}
