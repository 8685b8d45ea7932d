// Builds the console into dist/, which is committed and becomes part of the binary; `--check` only compares.

import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { compressedSize, finish, list, noticesName } from '../web/dist.mjs';
import { licences } from '../web/licences.mjs';

const ROOT = dirname(fileURLToPath(import.meta.url));
const DIST = join(ROOT, 'dist');

/** The path under which the server serves dist/. */
const BASE = '/console/';

const ENTRIES = {
  main: 'src/main.jsx',
  'editor.worker': 'monaco-editor/esm/vs/editor/editor.worker.js',
  'graphql.worker': 'monaco-graphql/esm/graphql.worker.js',
  'json.worker': 'monaco-editor/esm/vs/language/json/json.worker.js',
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
    // GraphiQL imports prettier's parsers by old names, and then esbuild would read their CommonJS as ES modules.
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

/** The files of dist/ by name. Those that the server sends compressed end in `.gz`, but are not compressed yet. */
async function made() {
  const { files, outputs, inputs } = await bundle();
  const main = outputs.find(({ entryPoint }) => entryPoint === ENTRIES.main);
  // The main style sheet also has the rules of all parts that load later.
  for (const name of files.keys()) {
    if (extname(name) === '.css' && name !== basename(main.cssBundle)) files.delete(name);
  }
  const notices = Buffer.from(await licences('The console of Tidings contains', ROOT, inputs));
  files.set(noticesName(notices), notices);

  const address = { 'main.css': BASE + basename(main.cssBundle), 'licences.txt': BASE + noticesName(notices) };
  for (const [name, path] of Object.entries(ENTRIES)) {
    const { name: file } = outputs.find(({ entryPoint }) => entryPoint && (entryPoint === path || entryPoint.endsWith(`/${path}`)));
    address[`${name}.js`] = BASE + file;
  }
  const page = (await readFile(join(ROOT, 'index.html'), 'utf8')).replace(/\{(\w[\w.]+)\}/g, (slot, name) => address[name] ?? slot);

  const names = [...files.keys()].sort();
  const made = new Map(names.map((name) => [`${name}.gz`, files.get(name)]));
  made.set('index.html', Buffer.from(page));
  made.set('assets.rs', Buffer.from(list('console', names)));
  return made;
}

const files = await made();
await finish('console', DIST, files);
const total = [...files].filter(([name]) => name.endsWith('.gz')).reduce((sum, [, content]) => sum + compressedSize(content), 0);
console.log(`console: ${files.size - 2} assets, ${(total / 1e6).toFixed(2)} MB compressed`);
