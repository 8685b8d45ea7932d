// Servers that go, tokens that expire or are refused, and users with too many sessions: it resumes, and does not hammer.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { openBell, shown, until } from './scene.mjs';

const inside = (page, selector) => page.locator(`tidings-bell ${selector}`);

/** Killed and started again: it says so, and has what was sent in between. */
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

/** A token expires: the next one is asked for, and nothing is missed. */
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

/** Nobody takes the token: it says so, asks again more and more seldom, and goes on once there is a good one. */
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

/** As many sessions as a user may have, 1013: the second device has its counts all the same, and leaves the server alone. */
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
