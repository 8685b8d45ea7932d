// The published packages of ui/: packed, and installed in an empty project.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const UI = fileURLToPath(new URL('../../../ui/', import.meta.url));

const TSC = join(UI, 'react/node_modules/typescript/bin/tsc');

async function run(program, args, cwd) {
  return promisify(execFile)(program, args, { cwd }).catch(({ message, stdout }) => {
    throw new Error(`${message}\n${stdout}`);
  });
}

const json = async (path) => JSON.parse(await readFile(join(UI, path), 'utf8'));

export class Installed {
  static async make() {
    const made = new Installed();
    made.folder = await mkdtemp(join(tmpdir(), 'tidings-packages-'));
    made.tarballs = [];
    // One after the other, because each builds the store.
    for (const name of ['client', 'elements', 'react']) {
      const { stdout } = await run('npm', ['pack', '--json', '--silent', '--pack-destination', made.folder], join(UI, name));
      // Scripts that run before packing print to the same output.
      const [packed] = Object.values(JSON.parse(stdout.slice(stdout.search(/^[[{]$/m))));
      made.tarballs.push(packed);
    }
    const { dependencies, devDependencies } = await json('examples/react/package.json');
    const others = Object.entries({ ...dependencies, ...devDependencies }).map((of) => of.join('@'));
    await writeFile(join(made.folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    const files = made.tarballs.map(({ filename }) => `./${filename}`);
    await run('npm', ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', ...files, ...others], made.folder);
    // For the pages; their frameworks are installed there.
    const place = join(UI, 'examples/node_modules/@tidings');
    await rm(place, { recursive: true, force: true });
    await cp(join(made.folder, 'node_modules/@tidings'), place, { recursive: true });
    return made;
  }

  write(name, text) {
    return writeFile(join(this.folder, name), text);
  }

  run(program, ...args) {
    return run(program, args, this.folder);
  }

  remove() {
    return rm(this.folder, { recursive: true, force: true });
  }
}

/** Tarballs contain what they need and no more, and Node.js can import everything. */
export async function imported({ packages }) {
  for (const { name, files } of packages.tarballs) {
    const paths = files.map(({ path }) => path);
    for (const path of ['LICENSE', 'README.md', 'package.json']) assert.ok(paths.includes(path), `${name} has no ${path}`);
    const odd = paths.filter((path) => !/^(dist|module|types|operations)\/|^(LICENSE|README\.md|package\.json)$/.test(path));
    assert.deepEqual(odd, [], name);
  }
  await packages.write(
    'program.mjs',
    `import { Tidings } from '@tidings/client';
import { Inbox, request } from '@tidings/client/operations';
import { Sender } from '@tidings/client/sender';
import { Tidings as Bundled, TidingsBell } from '@tidings/elements';
import { Bell, TidingsProvider, useInbox } from '@tidings/react';
import { renderToString } from 'react-dom/server';
import { createElement } from 'react';

const tree = createElement(TidingsProvider, { server: 'https://tidings.example', token: () => '' }, createElement(Bell, { theme: 'dark' }));
console.log([Tidings, request, Sender, Bundled, TidingsBell, useInbox].map((one) => typeof one).join(), typeof Inbox, renderToString(tree));`,
  );
  const { stdout } = await packages.run(process.execPath, 'program.mjs');
  assert.equal(stdout, `${Array(6).fill('function')} string <tidings-bell theme="dark"></tidings-bell>\n`);
  return packages.tarballs.map(({ name, size }) => `${name} ${Math.round(size / 1000)} kB`).join(', ');
}

const PROGRAM = `import { Tidings, type Item } from '@tidings/client';
import { Inbox, request } from '@tidings/client/operations';
import { Sender } from '@tidings/client/sender';
import '@tidings/elements';
import type { TidingsBell, Texts } from '@tidings/elements';
import { Bell, TidingsProvider, useInbox, useOverview, type BellElement } from '@tidings/react';
import { createRef } from 'react';

const access = { server: 'https://tidings.example', token: () => 'a token' };
const tidings = new Tidings({ ...access, cap: 99 });
export const titles: string[] = tidings.inbox({ read: false }).get().items.map(({ title }) => title);
export const cursors = async () => (await request(access, Inbox, { first: 20 })).viewer.inbox.edges.map(({ cursor }) => cursor.length);
export const send = () => new Sender(access).send([{ message: { type: 'a', receiver: 'ada', content: { title: 'Hello' } } }]);
export const texts: Partial<Texts> = { title: 'Updates' };

const bell = document.querySelector('tidings-bell')!;
const same: TidingsBell = bell;
same.renderItem = ({ body }) => body;
same.store = tidings;

const ref = createRef<BellElement>();
export const toggle = () => ref.current?.toggle();
export const tree = (
  <TidingsProvider tidings={tidings}>
    <Bell ref={ref} placement="top-end" onOpen={({ detail }) => detail.item.link} />
  </TidingsProvider>
);
export function Look({ one }: { one: Item }) {
  const { unread } = useOverview();
  const { items, markRead } = useInbox({ types: ['a'] });
  return <button onClick={() => markRead({ ids: [one.id] })}>{items.length + unread.count}</button>;
}

// @ts-expect-error: there is no such state
tidings.inbox({ state: 'DELETED' });
// @ts-expect-error: there is no such place
export const elsewhere = <Bell placement="left" />;
// @ts-expect-error: it wants a store or options
export const nothing = <TidingsProvider />;
`;

const OPTIONS = { target: 'es2022', lib: ['es2023', 'dom', 'dom.iterable'], strict: true, jsx: 'react-jsx', types: [], noEmit: true };
const BUNDLER = { ...OPTIONS, module: 'esnext', moduleResolution: 'bundler' };

async function check(packages, name, compilerOptions, files) {
  await packages.write(`${name}.json`, JSON.stringify({ compilerOptions, files }));
  await packages.run(process.execPath, TSC, '--project', `${name}.json`);
}

/** A program that uses all packages type-checks, declarations included, with the types of both React versions. */
export async function typed({ packages }) {
  await packages.write('program.tsx', PROGRAM);
  const older = join(UI, 'examples/react-18/node_modules/@types');
  const paths = (name) => ({ [name]: [`${older}/${name}`], [`${name}/*`]: [`${older}/${name}/*`] });
  const react18 = { ...BUNDLER, paths: { ...paths('react'), ...paths('react-dom') } };
  const example = ['app', 'main', 'server'].map((name) => join(UI, `examples/react/${name}.tsx`));
  await check(packages, 'nodenext', { ...OPTIONS, module: 'nodenext' }, ['program.tsx']);
  await check(packages, 'bundler', BUNDLER, ['program.tsx', ...example]);
  await check(packages, 'react-18', react18, ['program.tsx', ...example]);
}

/** The code in the READMEs and docs/ui.md is correct: React code type-checks, other code equals that of the pages. */
export async function printed({ packages }) {
  const page = await readFile(join(UI, '../docs/ui.md'), 'utf8');
  for (const [name, text] of Object.entries({ readme: await readFile(join(UI, 'react/README.md'), 'utf8'), page })) {
    await packages.write(`${name}.jsx`, text.match(/```jsx\n(.*?)```/s)[1]);
  }
  await check(packages, 'printed', { ...BUNDLER, allowJs: true, checkJs: true, noImplicitAny: false }, ['readme.jsx', 'page.jsx']);
  for (const path of ['vue/App.vue', 'angular/main.ts', 'svelte/App.svelte']) {
    const [tag] = (await readFile(join(UI, 'examples', path), 'utf8')).replace(' v-if="isIn"', '').match(/<tidings-bell[^]*?[^=]>/);
    assert.ok(page.includes(tag), `docs/ui.md has no ${tag}`);
  }
}
