// Tidings in urql's Graphcache, with a real server (`TIDINGS_BIN`, default: the debug build).

import { Report } from './report.mjs';
import { capped, listening, mutations, seen, sevens } from './scenarios.mjs';
import { Device } from './urql/device.mjs';
import { startServer, World } from './world.mjs';

const report = new Report('urql');
const server = await startServer();

let tenants = 0;

/** Runs a test with a device in a new tenant. */
function test(name, run) {
  return report.test(name, async () => {
    tenants += 1;
    const device = new Device(await World.of(server, `tenant-${tenants}`));
    try {
      await run(device);
    } finally {
      await device.close();
    }
  });
}

await test('a user, views and targets called 7 are told apart', sevens);
await test('mutations change the cache without a refetch', mutations);
await test('what was looked at is read and seen in the cache', seen);
await test('counts that stop early leave the others', capped);
await test('a subscription changes the viewer in the cache', listening);

await server.remove();
process.exit(report.close());
