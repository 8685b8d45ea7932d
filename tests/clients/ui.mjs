// The elements of ui/ in headless Chromium and partly in Firefox, on pages of another site, against the binary
// (`TIDINGS_BIN`, default: the debug build). `node ui.mjs bell keyboard` runs only these; `STEPS` and `SEED` control
// random steps.

import { Scene } from './ui/scene.mjs';
import { announcements, axe, following, forced, keyboard, languages, motion, names } from './ui/access.mjs';
import { bell, versions, withoutPopover } from './ui/bell.mjs';
import { expired, killed, refused, tooMany } from './ui/failures.mjs';
import { firefox } from './ui/firefox.mjs';
import { injection } from './ui/injection.mjs';
import { offline } from './ui/offline.mjs';
import { pictures, states } from './ui/pictures.mjs';
import { steps, stepsFrozen, stepsWithoutLocks } from './ui/steps.mjs';
import { tenTabs } from './ui/tabs.mjs';

const TESTS = {
  steps,
  firefox,
  stepsFrozen,
  axe,
  forced,
  motion,
  stepsWithoutLocks,
  refused,
  tooMany,
  bell,
  withoutPopover,
  versions,
  names,
  languages,
  following,
  keyboard,
  announcements,
  injection,
  tenTabs,
  offline,
  killed,
  expired,
};

/** Run only by name: they write pictures and check nothing. */
const PICTURES = { pictures, states };

/** How many tests run in parallel: they mostly wait. */
const LANES = 3;

const chosen = process.argv.slice(2);
const queue = Object.entries({ ...TESTS, ...PICTURES }).filter(([name]) =>
  chosen.length === 0 ? name in TESTS : chosen.includes(name),
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
console.log(`ui: ${((Date.now() - began) / 1000).toFixed(0)} s, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
