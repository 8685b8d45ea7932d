// Runs all clients in parallel, each with its own servers; prints each one's output when it has ended.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

async function run(name) {
  const script = fileURLToPath(new URL(`${name}.mjs`, import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  const [code] = await once(child, 'close');
  process.stdout.write(said);
  return code;
}

const codes = await Promise.all(['relay', 'apollo', 'urql'].map(run));
process.exit(codes.every((code) => code === 0) ? 0 : 1);
