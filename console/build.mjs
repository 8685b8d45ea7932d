// Builds the console into dist/, which is committed and becomes part of the binary; `--check` only compares.
//
// The same sources and package-lock.json give the same files on every machine. How they are compressed may differ from one
// Node.js to the next, so that the check compares what is within.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';

import { build } from 'esbuild';

import { licences } from './licences.mjs';

const ROOT = dirname(fileURLToPath(import.meta.url));
const DIST = join(ROOT, 'dist');

/** Where the server offers what is in dist/. */
const BASE = '/console/';

const ENTRIES = {
  main: 'src/main.jsx',
  'editor.worker': 'monaco-editor/esm/vs/editor/editor.worker.js',
  'graphql.worker': 'monaco-graphql/esm/graphql.worker.js',
  'json.worker': 'monaco-editor/esm/vs/language/json/json.worker.js',
};

const KINDS = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.ttf': 'font/ttf',
  '.txt': 'text/plain; charset=utf-8',
};

async function bundle() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    assetNames: '[name]-[hash]',
    outdir: 'dist',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: ['chrome125', 'firefox125', 'safari17.5'],
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
    // GraphiQL names prettier's parsers by their old names, whose CommonJS it then reads as ES modules.
    alias: { 'prettier/parser-babel': 'prettier/plugins/babel', 'prettier/parser-graphql': 'prettier/plugins/graphql' },
    loader: { '.graphql': 'text', '.ttf': 'file' },
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [relative(DIST, path), Buffer.from(contents)]));
  const outputs = Object.entries(metafile.outputs).map(([path, output]) => ({ name: basename(path), ...output }));
  return { files, outputs, inputs: Object.keys(metafile.inputs) };
}

/** The files of dist/ by name; those that are served compressed end in `.gz`, and are not compressed yet. */
async function made() {
  const { files, outputs, inputs } = await bundle();
  const main = outputs.find(({ entryPoint }) => entryPoint === ENTRIES.main);
  // The main style sheet has the rules of all parts that are loaded later, too.
  for (const name of files.keys()) {
    if (extname(name) === '.css' && name !== basename(main.cssBundle)) files.delete(name);
  }
  const notices = Buffer.from(await licences(ROOT, inputs));
  const noticesName = `licences-${createHash('sha256').update(notices).digest('hex').slice(0, 8)}.txt`;
  files.set(noticesName, notices);

  const address = { 'main.css': BASE + basename(main.cssBundle), 'licences.txt': BASE + noticesName };
  for (const [name, path] of Object.entries(ENTRIES)) {
    const { name: file } = outputs.find(({ entryPoint }) => entryPoint && (entryPoint === path || entryPoint.endsWith(`/${path}`)));
    address[`${name}.js`] = BASE + file;
  }
  const page = (await readFile(join(ROOT, 'index.html'), 'utf8')).replace(/\{(\w[\w.]+)\}/g, (slot, name) => address[name] ?? slot);

  const names = [...files.keys()].sort();
  const made = new Map(names.map((name) => [`${name}.gz`, files.get(name)]));
  made.set('index.html', Buffer.from(page));
  made.set('assets.rs', Buffer.from(list(names)));
  return made;
}

/** The list of assets as Rust has it: name, media type and gzipped content. */
function list(names) {
  const entries = names.map((name) => `    ("${name}", "${KINDS[extname(name)]}", include_bytes!("${name}.gz")),`);
  return `// Made by console/build.mjs.\n[\n${entries.join('\n')}\n]\n`;
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
    console.error(`console/dist is not what its sources build to (run 'npm run build --prefix console'):\n  ${wrong.join('\n  ')}`);
    process.exitCode = 1;
  }
} else {
  await write(files);
}
const total = [...files].filter(([name]) => name.endsWith('.gz')).reduce((sum, [, content]) => sum + gzipSync(content, { level: 9 }).length, 0);
console.log(`console: ${files.size - 2} assets, ${(total / 1e6).toFixed(2)} MB compressed`);
