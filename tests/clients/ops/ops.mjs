// Checks the samples for operators (dashboard, alerts, Containerfile, compose files, systemd unit, Helm chart) against
// the binary (`TIDINGS_BIN`, default: the debug build) and the programs that read them. Skips checks with a missing
// program (promtool, prometheus, caddy, systemd-analyze). `node ops.mjs chart metrics` runs only these parts.

import { chart } from './chart.mjs';
import { metrics } from './metrics.mjs';
import { samples } from './samples.mjs';

const PARTS = { samples, metrics, chart };

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PARTS));
if (unknown.length) throw new Error(`there is no part ${unknown}, but ${Object.keys(PARTS)}`);

const count = { passed: 0, failed: 0, skipped: 0 };

/** Runs one check: it passes unless it throws, and is skipped if it returns a reason. */
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
