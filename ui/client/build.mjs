// Builds dist/: ES2022 modules with types, not minified, because users bundle them. Fails if the whole store exceeds
// its size limit.

import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

/** The size limit of the store in bytes, minified and compressed. */
const BUDGET = 9_100;

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const common = { absWorkingDir: ROOT, bundle: true, format: 'esm', target: 'es2022', legalComments: 'none', logLevel: 'warning' };

const { outputFiles: [{ contents }] } = await build({ ...common, entryPoints: ['src/index.ts'], minify: true, write: false });
const size = gzipSync(contents, { level: 9 }).length;
console.log(`@tidings/client: ${contents.length} bytes minified, ${size} compressed, of ${BUDGET}`);
if (size > BUDGET) {
  console.error('the store is larger than it may be');
  process.exit(1);
}

await rm(`${ROOT}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${ROOT}node_modules/typescript/bin/tsc`, '--emitDeclarationOnly'], { cwd: ROOT, stdio: 'inherit' });
// Code that all three share goes into separate chunks, so that there is only one `Failure` class.
await build({ ...common, entryPoints: ['src/index.ts', 'src/typed.ts', 'src/sender.ts'], outdir: 'dist', splitting: true, chunkNames: 'chunk-[hash]' });
