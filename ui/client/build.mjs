// Builds dist/: modules of ES2022 with their types, not minified, for those who bundle do that. Fails where the whole store is larger
// than it may be in a page.

import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

/** Bytes of the store as a page gets it: minified and compressed. */
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
// What all three need is in files of its own, so that a `Failure` is the same whichever it comes from.
await build({ ...common, entryPoints: ['src/index.ts', 'src/typed.ts', 'src/sender.ts'], outdir: 'dist', splitting: true, chunkNames: 'chunk-[hash]' });
