// Packs and installs the packages of ui/ as users do, and runs the pages of ui/examples, the bell in each framework, in
// headless Chromium against the binary (`TIDINGS_BIN`, default: the debug build). `node frameworks.mjs react vue` runs
// only these.

import { built } from './frameworks/build.mjs';
import { imported, Installed, printed, typed } from './frameworks/packages.mjs';
import { page, Stage } from './frameworks/page.mjs';

const PAGES = ['react', 'react-18', 'vue', 'angular', 'svelte', 'htmx', 'plain'];
const TESTS = {
  imported,
  typed,
  printed,
  ...Object.fromEntries(PAGES.map((name) => [name, async ({ stage, packages }) => page(stage, name, await built(name, packages))])),
};

/** How many tests run in parallel, each with its own server. */
const LANES = 2;

const chosen = process.argv.slice(2);
const queue = Object.entries(TESTS).filter(([name]) => chosen.length === 0 || chosen.includes(name));
let [passed, failed] = [0, 0];
const began = Date.now();
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;

async function lane(packages) {
  const stage = await Stage.start();
  try {
    for (let next; (next = queue.shift()); ) {
      const [name, test] = next;
      const began = Date.now();
      try {
        const said = await test({ stage, packages });
        console.log(`ok ${name}, ${seconds(began)}${said ? `: ${said}` : ''}`);
        passed++;
      } catch (error) {
        console.error(`failed: ${name}\n${error.stack}`);
        failed++;
      }
    }
  } finally {
    await stage.stop();
  }
}

const packages = await Installed.make();
console.log(`packed and installed, ${seconds(began)}`);
try {
  await Promise.all(Array.from({ length: LANES }, () => lane(packages)));
} finally {
  await packages.remove();
}
console.log(`frameworks: ${passed} passed, ${failed} failed, ${seconds(began)}`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
