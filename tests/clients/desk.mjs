// The desk in headless Chromium against the binary (`TIDINGS_BIN`, default: the debug build). Performs each flow as a
// user, on desktop and phone sizes, and checks it through the API. `node desk.mjs compose keyboard` runs only these.

import { Scene } from './desk/scene.mjs';
import { axe, keyboard } from './desk/access.mjs';
import { catalogue, groups } from './desk/catalogue.mjs';
import { chinese, switching } from './desk/chinese.mjs';
import { composeAndSend, flawed, lostAnswer, named, schedule } from './desk/compose.mjs';
import { cookies, links, roles } from './desk/doors.mjs';
import { injection } from './desk/injection.mjs';
import { deliveries, rules } from './desk/outbound.mjs';
import { pictures } from './desk/pictures.mjs';
import { amend, filters, reached, reschedule, retract } from './desk/sent.mjs';
import { erase, inbox, support, why } from './desk/users.mjs';
import { audit, now } from './desk/watch.mjs';

const SIZES = ['desktop', 'phone'];

/** Flows run at both sizes. */
const FLOWS = { axe, composeAndSend, flawed, lostAnswer, named, schedule, filters, amend, reached, reschedule, retract, inbox, support, why, erase, catalogue, groups, deliveries, rules, audit, now, chinese };

const TESTS = {
  injection,
  ...Object.fromEntries(Object.entries(FLOWS).flatMap(([name, flow]) => SIZES.map((size) => [`${name}, ${size}`, (scene) => flow(scene, size)]))),
  keyboard,
  roles,
  cookies,
  links,
  switching,
};

/** Runs only by name: it writes pictures and checks nothing. */
const PICTURES = { pictures };

/** How many tests run in parallel: they mostly wait. */
const LANES = 3;

const chosen = process.argv.slice(2);
const queue = Object.entries({ ...TESTS, ...PICTURES }).filter(([name]) =>
  chosen.length === 0 ? name in TESTS : chosen.some((wanted) => name === wanted || name.startsWith(`${wanted},`)),
);
const scene = await Scene.start();
const began = Date.now();
let failed = 0;

async function lane() {
  for (let next; (next = queue.shift());) {
    const [name, test] = next;
    const began = Date.now();
    try {
      const said = await test(scene);
      console.log(`ok ${name}, ${((Date.now() - began) / 1000).toFixed(1)} s${said ? `: ${said}` : ''}`);
    } catch (error) {
      failed++;
      console.error(`failed: ${name}\n${error.stack}`);
    }
  }
}

try {
  await Promise.all(Array.from({ length: LANES }, lane));
} finally {
  await scene.stop();
}
console.log(`desk: ${((Date.now() - began) / 1000).toFixed(0)} s, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
