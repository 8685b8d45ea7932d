// Builds dist/: an ES2022 module with types, not minified, because users bundle it. Fails if it exceeds its size limit,
// which does not include React and the store.

import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

/** The size limit in bytes, minified and compressed. */
const BUDGET = 1_500;

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const common = {
  absWorkingDir: ROOT,
  entryPoints: ['src/index.ts'],
  bundle: true,
  packages: 'external',
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  logLevel: 'warning',
};

const { outputFiles: [{ contents }] } = await build({ ...common, minify: true, write: false });
const size = gzipSync(contents, { level: 9 }).length;
console.log(`@tidings/react: ${contents.length} bytes minified, ${size} compressed, of ${BUDGET}`);
if (size > BUDGET) {
  console.error('the hooks are larger than they may be');
  process.exit(1);
}

await rm(`${ROOT}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${ROOT}node_modules/typescript/bin/tsc`, '--emitDeclarationOnly'], { cwd: ROOT, stdio: 'inherit' });
// Tells frameworks with server rendering that this is code for the browser.
await build({ ...common, outdir: 'dist', banner: { js: "'use client';" } });
