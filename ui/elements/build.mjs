// Builds the elements into dist/, which is committed and becomes part of the server. `--check` only compares; `--plain`
// writes the uncompressed files of the npm package into module/.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build, transform } from 'esbuild';
import { minify } from 'terser';

import { compressedSize, finish, kindOf, list, noticesName, write } from '../../web/dist.mjs';
import { licences } from '../../web/licences.mjs';
import { measure, table } from './sizes.mjs';

const ROOT = dirname(fileURLToPath(import.meta.url));
const DIST = join(ROOT, 'dist');
const TERSER = createRequire(import.meta.url)('terser/package.json').version;
const TARGET = ['chrome125', 'firefox125', 'safari17.5'];

/** The stable address for pages. It only loads files with hashes in their names. */
const STABLE = 'tidings.js';

/** Other stable names, each a self-contained file: the service worker's part, and the script that subscribes. */
const PUSH = { 'push.js': ['src/push.ts', 'iife'], 'push-subscribe.js': ['src/push-subscribe.ts', 'esm'] };

/** Style sheets become strings for `adoptedStyleSheets`. */
const sheets = {
  name: 'sheets',
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code, warnings } = await transform(await readFile(path, 'utf8'), { loader: 'css', minify: true, target: TARGET });
      // Browsers ignore invalid CSS silently, so fail here.
      if (warnings.length > 0) throw new Error(`${path}: ${warnings[0].location?.line}: ${warnings[0].text}`);
      // esbuild keeps the spaces of custom properties.
      return { contents: code.trim().replace(/([,:]) /g, '$1'), loader: 'text' };
    });
    // One export, because esbuild's own JSON modules export every key.
    onLoad({ filter: /locales\/elements\/[\w-]+\.json$/ }, async ({ path }) => {
      const texts = JSON.parse(await readFile(path, 'utf8'), withoutEqualForms);
      return { contents: `export default ${JSON.stringify(texts)}`, loader: 'js' };
    });
    // Removes indentation, which neither code nor templates need.
    onLoad({ filter: /src\/\w+\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace(/^\s+/gm, '').replace(/>\n</g, '><'),
      loader: 'ts',
    }));
  },
};

/** A text without the plural forms that equal `other`, to which the elements fall back. */
function withoutEqualForms(_, value) {
  if (typeof value !== 'object' || !value.other) return value;
  const forms = Object.entries(value).filter(([form, text]) => form === 'other' || text !== value.other);
  return forms.length === 1 ? value.other : Object.fromEntries(forms);
}

/** Bundles one self-contained file. */
async function alone([entry, format]) {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format,
    target: TARGET,
    charset: 'utf8',
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
  });
  return Buffer.from(await smaller(outputFiles[0].text));
}

/** Makes esbuild's output 3 % smaller. */
async function smaller(text) {
  const { code } = await minify(text, {
    module: true,
    ecma: 2022,
    format: { comments: false },
    compress: { passes: 3, unsafe_arrows: true, hoist_props: true, pure_getters: true },
  });
  return `${code}\n`;
}

async function bundle() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { tidings: 'src/index.ts' },
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    outdir: 'dist',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: TARGET,
    charset: 'utf8',
    // Includes terser's version in the file hashes, because esbuild computes them before terser runs.
    banner: { js: `/*! terser ${TERSER} */` },
    legalComments: 'none',
    plugins: [sheets],
    metafile: true,
    write: false,
    logLevel: 'warning',
  });
  const renamed = withOneHash(metafile.outputs);
  const files = new Map();
  for (const { path, text } of outputFiles) files.set(renamed(basename(path)), Buffer.from(await smaller(renamed(text))));
  const outputs = new Map(Object.entries(JSON.parse(renamed(JSON.stringify(metafile.outputs)))).map(([path, output]) => [basename(path), output]));
  return { files, outputs, inputs: Object.keys(metafile.inputs) };
}

/**
 * A function that renames the files of the languages in a text, so that all have the same hash. The first load names each
 * file, and different hashes do not compress.
 */
function withOneHash(outputs) {
  const names = Object.keys(outputs).filter((path) => isLanguage(outputs[path])).map((path) => basename(path));
  const hash = createHash('sha256').update(names.sort().join()).digest('hex').slice(0, 8);
  return (text) => names.reduce((text, name) => text.replaceAll(name, name.replace(/\w+(?=\.js$)/, hash)), text);
}

const isLanguage = ({ entryPoint }) => entryPoint?.startsWith('../locales/');

/** The files of `outputs` that the browser needs before `name` runs, with `name` first. */
function needed(outputs, name) {
  const found = new Set([name]);
  for (const at of found) {
    for (const { path, kind } of outputs.get(at).imports) if (kind === 'import-statement') found.add(basename(path));
  }
  return [...found];
}

/** The served files by name, and the parts that count for the size limits. */
async function made() {
  const { files, outputs, inputs } = await bundle();
  const first = needed(outputs, STABLE);
  const notices = Buffer.from(await licences('The elements of Tidings contain', ROOT, inputs));
  for (const [name, of] of Object.entries(PUSH)) files.set(name, await alone(of));
  files.set(noticesName(notices), notices);

  const panel = [...outputs].find(([, { entryPoint }]) => entryPoint === 'src/panel.ts')[0];
  const locales = [...outputs].filter(([, output]) => isLanguage(output)).map(([name]) => name);
  const later = needed(outputs, panel).filter((name) => !first.includes(name));
  const size = (name) => compressedSize(files.get(name));
  return { files, hashed: first[1], sizes: measure({ first, later, locales, push: Object.keys(PUSH), size }) };
}

/** What the server and pages need to know about each file. */
function manifest(files, hashed) {
  const list = [...files]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, content]) => ({
      name,
      type: kindOf(name),
      bytes: content.length,
      // A stable name changes its content with each version, so it has no integrity hash.
      ...(name === STABLE || name in PUSH ? { immutable: false } : { immutable: true, integrity: `sha384-${createHash('sha384').update(content).digest('base64')}` }),
    }));
  return `${JSON.stringify({ entry: STABLE, hashed, files: list }, undefined, 2)}\n`;
}

const { files, hashed, sizes } = await made();
if (process.argv.includes('--plain')) {
  await write(join(ROOT, 'module'), files);
} else {
  const about = Buffer.from(manifest(files, hashed));
  const dist = new Map(
    [...files].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, content]) => [`${name}.gz`, content]),
  );
  dist.set('manifest.json', about);
  dist.set('assets.rs', Buffer.from(list('ui/elements', [...files.keys()].sort())));
  await finish('ui/elements', DIST, dist);
}
console.log(table(sizes));
if (sizes.some(({ bytes, budget }) => bytes > budget)) {
  console.error('ui/elements is above its budget');
  process.exitCode = 1;
}
