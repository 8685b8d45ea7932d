// Builds the desk into dist/, which is committed and becomes part of the binary; `--check` only compares.

import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { compressedSize, finish, list, noticesName } from '../web/dist.mjs';
import { licences } from '../web/licences.mjs';

const ROOT = dirname(fileURLToPath(import.meta.url));
const DIST = join(ROOT, 'dist');

/** The path under which the server serves dist/. */
const BASE = '/desk/assets/';

/** Bytes of everything that the page loads, after gzip -9. */
const BUDGET = 80_000;

/** Removes indentation, which neither code nor templates need. Text with significant line starts must use escapes. */
const indentation = {
  name: 'indentation',
  setup({ onLoad }) {
    onLoad({ filter: /desk\/src\/.*\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(/^\s+/gm, ''),
      loader: 'js',
    }));
  },
};

async function bundle() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { main: 'src/main.js' },
    entryNames: '[name]-[hash]',
    // The texts of a language are a file that loads on demand.
    chunkNames: '[name]-[hash]',
    splitting: true,
    outdir: 'dist',
    bundle: true,
    minify: true,
    format: 'esm',
    target: ['chrome125', 'firefox125', 'safari17.5'],
    charset: 'utf8',
    legalComments: 'none',
    plugins: [indentation],
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
  return { files, inputs: Object.keys(metafile.inputs) };
}

/** The files of dist/ by name. Those that the server sends compressed end in `.gz`, but are not compressed yet. */
async function made() {
  const { files, inputs } = await bundle();
  const notices = Buffer.from(await licences('The desk of Tidings contains', ROOT, inputs));
  files.set(noticesName(notices), notices);
  const names = [...files.keys()].sort();
  const address = Object.fromEntries(names.map((name) => [`${name.split('-')[0]}${extname(name)}`, BASE + name]));
  const page = (await readFile(join(ROOT, 'index.html'), 'utf8')).replace(/\{(\w[\w.]+)\}/g, (slot, name) => address[name] ?? slot);
  const made = new Map(names.map((name) => [`${name}.gz`, files.get(name)]));
  made.set('index.html', Buffer.from(page));
  made.set('assets.rs', Buffer.from(list('desk', names)));
  return made;
}

const files = await made();
await finish('desk', DIST, files);
const loaded = [...files].filter(([name]) => /\.(js|css)\.gz$|\.html$/.test(name));
const bytes = loaded.reduce((sum, [, content]) => sum + compressedSize(content), 0);
console.log(`desk: ${(bytes / 1000).toFixed(1)} kB compressed, of ${BUDGET / 1000}`);
if (bytes > BUDGET) {
  console.error('the desk is larger than it may be');
  process.exitCode = 1;
}
