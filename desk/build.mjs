// Builds the desk into dist/, which is committed and becomes part of the binary; `--check` only compares.
//
// The same sources and package-lock.json give the same files on every machine. How they are compressed may differ from one
// Node.js to the next, so that the check compares what is within.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';

import { build } from 'esbuild';

import { licences } from './licences.mjs';

const ROOT = dirname(fileURLToPath(import.meta.url));
const DIST = join(ROOT, 'dist');

/** Where the server offers what is in dist/. */
const BASE = '/desk/assets/';

/** Bytes of all that the page loads, after gzip -9. */
const BUDGET = 80_000;

const KINDS = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};

/** Templates need no indentation, and code neither; what must keep its lines has them written out. */
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

/** The files of dist/ by name; those that are served compressed end in `.gz`, and are not compressed yet. */
async function made() {
  const { files, inputs } = await bundle();
  const notices = Buffer.from(await licences(ROOT, inputs));
  files.set(`licences-${createHash('sha256').update(notices).digest('hex').slice(0, 8)}.txt`, notices);
  const names = [...files.keys()].sort();
  const address = Object.fromEntries(names.map((name) => [`${name.split('-')[0]}${extname(name)}`, BASE + name]));
  const page = (await readFile(join(ROOT, 'index.html'), 'utf8')).replace(/\{(\w[\w.]+)\}/g, (slot, name) => address[name] ?? slot);
  const made = new Map(names.map((name) => [`${name}.gz`, files.get(name)]));
  made.set('index.html', Buffer.from(page));
  made.set('assets.rs', Buffer.from(list(names)));
  return made;
}

/** The list of assets as Rust has it: name, media type and gzipped content. */
function list(names) {
  const entries = names.map((name) => `    ("${name}", "${KINDS[extname(name)]}", include_bytes!("${name}.gz")),`);
  return `// Made by desk/build.mjs.\n[\n${entries.join('\n')}\n]\n`;
}

async function write(files) {
  await rm(DIST, { recursive: true, force: true });
  await mkdir(DIST);
  for (const [name, content] of files) {
    await writeFile(join(DIST, name), name.endsWith('.gz') ? gzipSync(content, { level: 9 }) : content);
  }
}

/** The names of files that are not what the sources build to. */
async function differing(files) {
  const committed = existsSync(DIST) ? await readdir(DIST) : [];
  const differing = committed.filter((name) => !files.has(name));
  for (const [name, content] of files) {
    const found = committed.includes(name) && (await readFile(join(DIST, name)));
    if (!found || !content.equals(name.endsWith('.gz') ? gunzipSync(found) : found)) differing.push(name);
  }
  return differing;
}

const files = await made();
if (process.argv.includes('--check')) {
  const wrong = await differing(files);
  if (wrong.length > 0) {
    console.error(`desk/dist is not what its sources build to (run 'npm run build --prefix desk'):\n  ${wrong.join('\n  ')}`);
    process.exitCode = 1;
  }
} else {
  await write(files);
}
const loaded = [...files].filter(([name]) => /\.(js|css)\.gz$|\.html$/.test(name));
const bytes = loaded.reduce((sum, [, content]) => sum + gzipSync(content, { level: 9 }).length, 0);
console.log(`desk: ${(bytes / 1000).toFixed(1)} kB compressed, of ${BUDGET / 1000}`);
if (bytes > BUDGET) {
  console.error('the desk is larger than it may be');
  process.exitCode = 1;
}
