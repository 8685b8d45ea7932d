// Builds dist/: a module of ES2022 with its types, not minified, for those who bundle do that. Fails where it is larger than it may be in
// a page; React and the store are counted with themselves.

import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

/** Bytes as a page gets it: minified and compressed. */
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
// Frameworks that render on a server have to know that all of it is for the browser, too.
await build({ ...common, outdir: 'dist', banner: { js: "'use client';" } });
