// Builds the pages of ui/examples as their frameworks do: with esbuild and the compilers of Vue and Svelte.

import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { UI } from './packages.mjs';

const EXAMPLES = join(UI, 'examples');
const { build } = createRequire(join(UI, 'react/'))('esbuild');
const require = createRequire(join(EXAMPLES, 'vue/'));

const vue = {
  name: 'vue',
  setup({ onLoad }) {
    const { compileScript, parse } = require('vue/compiler-sfc');
    const templateParseOptions = { isCustomElement: (tag) => tag.startsWith('tidings-') };
    onLoad({ filter: /\.vue$/ }, async ({ path }) => {
      const { descriptor, errors } = parse(await readFile(path, 'utf8'), { filename: path, templateParseOptions });
      if (errors.length > 0) throw errors[0];
      return { contents: compileScript(descriptor, { id: 'app', inlineTemplate: true }).content };
    });
  },
};

const svelte = {
  name: 'svelte',
  setup({ onLoad }) {
    const { compile } = require('svelte/compiler');
    onLoad({ filter: /\.svelte$/ }, async ({ path }) => {
      const { js, warnings } = compile(await readFile(path, 'utf8'), { filename: path, dev: true });
      if (warnings.length > 0) throw new Error(warnings[0].message);
      return { contents: js.code };
    });
  },
};

/** Aliases that resolve react and react-dom to the version of this example. */
function react(name) {
  const { resolve } = createRequire(join(EXAMPLES, name, '/'));
  return Object.fromEntries(['react', 'react-dom'].map((one) => [one, dirname(resolve(`${one}/package.json`))]));
}

const options = (name) => ({
  absWorkingDir: EXAMPLES,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  // Development builds, because only these report misuse of the framework.
  define: { 'process.env.NODE_ENV': '"development"', __VUE_OPTIONS_API__: 'false', __VUE_PROD_DEVTOOLS__: 'false', __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'true' },
  conditions: ['svelte', 'module', 'development'],
  jsx: 'automatic',
  alias: name.startsWith('react') ? react(name) : {},
  tsconfigRaw: { compilerOptions: { experimentalDecorators: true, useDefineForClassFields: false } },
  plugins: name === 'vue' ? [vue] : name === 'svelte' ? [svelte] : [],
  logLevel: 'error',
  write: false,
});

/** The files of a page by name, built if it has sources. */
export async function built(name, packages) {
  const folder = name.replace('-18', '');
  const names = await readdir(join(EXAMPLES, folder));
  const files = new Map();
  for (const file of names.filter((file) => file.endsWith('.html'))) files.set(file, await readFile(join(EXAMPLES, folder, file), 'utf8'));
  if (name === 'htmx') files.set('htmx.js', await readFile(require.resolve('htmx.org/dist/htmx.js'), 'utf8'));
  const main = names.find((file) => file.startsWith('main.'));
  if (main) {
    const { outputFiles } = await build({ ...options(name), entryPoints: [`${folder}/${main}`], outdir: 'out', splitting: true });
    for (const { path, text } of outputFiles) files.set(basename(path), text);
  }
  if (names.includes('server.tsx')) {
    const rendered = await render(name, folder, packages);
    files.set('index.html', files.get('index.html').replace(/<main>.*<\/main>/, () => `<main>${rendered}</main>`));
  }
  return files;
}

/** The HTML that the server-side example renders in Node.js, without a DOM. */
async function render(name, folder, packages) {
  const { outputFiles: [{ text }] } = await build({
    ...options(name),
    stdin: { contents: `import { render } from './server.tsx'; process.stdout.write(render());`, resolveDir: join(EXAMPLES, folder) },
    platform: 'node',
    format: 'cjs',
    define: { 'process.env.NODE_ENV': '"development"', 'import.meta.url': '"file:///server.js"' },
  });
  await packages.write(`${name}.cjs`, text);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [`${name}.cjs`], { cwd: packages.folder });
  if (stderr) throw new Error(stderr);
  return stdout;
}
