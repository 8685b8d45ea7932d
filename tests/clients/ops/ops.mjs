// What operators copy, held against the binary (`TIDINGS_BIN`, else the debug build) and against the programs that read it: the
// dashboard and the alerts, the image's recipe, the compose files, the unit and the chart. What needs a program that is not
// installed (promtool, prometheus, caddy, systemd-analyze) is said to be skipped; `node ops.mjs chart metrics` does these parts alone.

import { chart } from './chart.mjs';
import { metrics } from './metrics.mjs';
import { samples } from './samples.mjs';

const PARTS = { samples, metrics, chart };

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PARTS));
if (unknown.length) throw new Error(`there is no part ${unknown}, but ${Object.keys(PARTS)}`);

const count = { passed: 0, failed: 0, skipped: 0 };

/** One check: it passes where nothing is thrown, and is skipped where it gives a reason. */
async function check(name, what) {
  try {
    const reason = await what();
    count[typeof reason === 'string' ? 'skipped' : 'passed'] += 1;
    console.log(typeof reason === 'string' ? `skip  ${name}: ${reason}` : `ok    ${name}`);
  } catch (error) {
    count.failed += 1;
    console.log(`FAIL  ${name}\n${error.stack.replace(/^/gm, '      ')}`);
  }
}

for (const [name, part] of Object.entries(PARTS)) {
  if (wanted.length === 0 || wanted.includes(name)) await part(check);
}
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exit(count.failed === 0 && count.passed > 0 ? 0 : 1);
