// Follows README.md and docs/getting-started.md from top to bottom with only the binary, and tests the page of the
// second in headless Chromium. Compares the translations with the originals, and the tables of settings with `tidings
// serve --help`. `CHROMIUM` names another browser than Debian's; `go` and `cargo` must be on the PATH.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFile, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { chromium } from 'playwright-core';

import { ROOT, Reader, answers, freePort, until } from './markdown.mjs';
import { environment } from './python/environment.mjs';
import { BINARY } from './server.mjs';
import { translations } from './translations.mjs';

await translations();

const PAGES = ['README.md', 'docs/getting-started.md'];

/** Replacements for the ports that the pages print. */
const [server, app] = [await freePort(), await freePort()];
const here = (text) => text.replaceAll('127.0.0.1:8080', `127.0.0.1:${server}`)
  .replaceAll('127.0.0.1:3000', `127.0.0.1:${app}`).replaceAll('listen(3000', `listen(${app}`)
  .replaceAll('cargo run --release -- serve', 'tidings serve').replaceAll('/path/to/tidings/', ROOT);

/** Builds our JavaScript client, and prepares a Python environment for our Python client. */
execFileSync('npm', ['run', 'build', '--silent', '--prefix', join(ROOT, 'ui/client')], { stdio: ['ignore', 'ignore', 'inherit'] });
const python = await environment(join(import.meta.dirname, 'python/backend'));

const LEAVES = [
  { command: /^cargo test --workspace/, why: 'this is one of the tests' },
  { command: /^cargo install --path \./, why: 'the binary under test is on the PATH' },
  { command: /^npm install graphql-ws ws$/, why: 'the packages that tests/clients has locked are there' },
  { command: /^npm (ci|install) .*ui\/client/, why: 'the package is built already, and there' },
  { command: /^pip install /, why: 'it is there, with packages that tests/clients has locked' },
];

/** A token from the command that the page shows, signed with the shell's secret. */
async function token(role, user) {
  const who = user ? `--user ${user}` : `--role ${role}`;
  return (await (await reader.shell.run(`tidings token --tenant acme ${who}`))()).trim();
}

async function ask(as, query, variables) {
  const headers = { authorization: `Bearer ${await token(...as)}`, 'content-type': 'application/json' };
  const answer = await fetch(reader.url(), { method: 'POST', headers, body: JSON.stringify({ query, variables }) });
  const { data, errors } = await answer.json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

/** Waits for the effect of the last block, or checks more than the page prints. */
async function after({ language, text }) {
  if (language === 'sh' && text.includes('serve')) await answers(`http://127.0.0.1:${server}/readyz`);
  if (text.includes('serve --demo')) await greeted();
  if (language === 'toml') {
    const [, folder] = text.match(/^# (\w+)\/Cargo\.toml$/m);
    await copyFile(join(ROOT, 'Cargo.lock'), join(reader.shell.folder, folder, 'Cargo.lock'));
  }
  if (text.includes('node app.mjs')) {
    await answers(`http://127.0.0.1:${app}`);
    await look();
  }
  if (text.includes('python3 mint.py')) await accepted();
}

/** The demo prints what the page says: links, three tokens, and a working request. */
async function greeted() {
  const greeting = await until(async () => (await reader.printed()).match(/.*-d '.*'\n/s)?.[0], 'the demo prints no call');
  for (const name of ['console', 'desk']) assert.match(greeting, new RegExp(`^ {2}${name} +http://\\S+/${name}#token=\\S+$`, 'm'));
  for (const name of ['user', 'service', 'admin']) assert.match(greeting, new RegExp(`^ {2}${name} +\\S+$`, 'm'));
  const printed = await reader.shell.run(greeting.match(/^ {2}curl .*?'\n/ms)[0].replace(/\\\n/g, ' '));
  const { data, errors } = JSON.parse(await printed());
  assert.equal(errors, undefined);
  assert.ok(data.viewer.overview.unread.count > 0);
}

/** Every token printed by the programs in other languages is valid for ada. */
async function accepted() {
  const tokens = (await reader.printed()).trim().split('\n');
  for (const token of tokens) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const query = '{ viewer { user { id } } }';
    const answer = await fetch(reader.url(), { method: 'POST', headers, body: JSON.stringify({ query }) });
    assert.deepEqual(await answer.json(), { data: { viewer: { user: { id: 'ada' } } } });
  }
  console.log(`tokens: ${tokens.length} languages`);
}

/** Tests the page of docs/getting-started.md from its own origin. */
async function look() {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-background-networking', '--disable-component-update',
      '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost',
    ],
  });
  const complaints = [];
  try {
    const page = await browser.newPage({ viewport: { width: 1000, height: 700 } });
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(`http://127.0.0.1:${app}`);
    const bell = (count) => page.getByRole('button', { name: `Notifications, ${count} unread`, exact: true });
    const titles = async (...names) => {
      let shown;
      const areSo = async () => isDeepStrictEqual(shown = await page.locator('#items .title').allTextContents(), names);
      await until(areSo, () => `the titles are ${JSON.stringify(shown)}, not ${JSON.stringify(names)}`);
    };

    // State left by the blocks before: one item, already read.
    await bell(0).click();
    await titles('ben commented on Pricing');
    assert.equal(await page.locator('#count').isVisible(), false);

    // The bell rings.
    await ask(['admin'], 'mutation { saveMessageType(input: { code: "billing", title: "Billing", position: 1 }) { code } }');
    const send = 'mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { id } } }';
    const message = (type, content) => ({ message: { type, receiver: 'ada', content } });
    const inputs = [message('billing', { title: 'An invoice', link: '/invoices/10' }), message('billing', { title: '<b>Bold</b>' }),
      { message: { type: 'comment', receiver: 'ada', sender: 'ben', content: { params: { document: 'Plans' } } } }];
    const { sendNotifications: sent } = await ask(['service'], send, { inputs });
    await bell(3).waitFor();
    await titles('ben commented on Plans', '<b>Bold</b>', 'An invoice', 'ben commented on Pricing');
    assert.equal(await page.getByRole('link', { name: 'An invoice' }).getAttribute('href'), '/invoices/10');

    // Filters by type, marks one item by its id, and marks all that are shown.
    await page.getByLabel('Which').selectOption({ label: 'Billing (2)' });
    await titles('<b>Bold</b>', 'An invoice');
    await page.locator('li', { hasText: 'An invoice' }).getByTitle('Mark as read').click();
    await bell(2).waitFor();
    await page.locator('li:not(.unread)', { hasText: 'An invoice' }).waitFor();
    await page.getByRole('button', { name: 'Mark all as read' }).click();
    await bell(1).waitFor();
    await page.getByLabel('Which').selectOption('');
    await page.locator('li.unread', { hasText: 'commented on Plans' }).waitFor();

    // Changes by others appear on the page. Retracts everything, so that the rest of the page starts clean.
    for (const { notification } of sent) {
      await ask(['service'], 'mutation($id: ID!) { retractSentNotification(id: $id) { status } }', notification);
    }
    await bell(0).waitFor();
    await titles('ben commented on Pricing');

    assert.deepEqual(complaints, []);

    // The same page from an origin that the server does not allow gets nothing.
    await page.goto(`http://localhost:${app}`);
    await page.locator('#state').getByText('Not connected', { exact: false }).waitFor({ state: 'attached' });
    assert.equal(await page.locator('#items li').count(), 0);
    console.log('page: counts, lists, filters, marks and rings from another origin; no complaints');
  } catch (error) {
    console.error({ complaints });
    throw error;
  } finally {
    await browser.close();
  }
}

/** The settings in the program's help: variable and default of each option. */
function help() {
  const text = execFileSync(BINARY, ['serve', '--help'], { env: { PATH: process.env.PATH }, encoding: 'utf8' });
  const options = text.split(/^ +(?:-\w, |    )--(?=[a-z])/m).slice(1);
  const settings = new Map(options.map((option) => {
    const name = option.match(/^[\w-]+/)[0];
    return [name, { variable: option.match(/\[env: (\w+)=?/)?.[1] ?? '', standard: option.match(/\[default: [`"]?([^\]`"]*)[`"]?\]/)?.[1] ?? 'none' }];
  }));
  settings.delete('help');
  // Settings without a value in the help may be read from a file.
  return { settings, secrets: [...text.matchAll(/\[env: (\w+)\]/g)].map(([, name]) => name).sort() };
}

/** The settings in the documentation's tables. */
async function tables() {
  const found = new Map();
  const secrets = [];
  for (const path of ['docs/configuration.md', 'docs/limits.md']) {
    const text = await readFile(join(ROOT, path), 'utf8');
    secrets.push(...[...text.matchAll(/^\| `(\w+)_FILE` \| `\1` \|$/gm)].map(([, name]) => name));
    for (const row of text.matchAll(/^\|.*\| `--[a-z-]+` \|.*$|^\| `--[a-z-]+` \|.*$/gm)) {
      const cells = row[0].split('|').map((cell) => cell.trim().replace(/^`|`$/g, ''));
      const place = cells.findIndex((cell) => cell.startsWith('--'));
      const [option, variable, standard] = cells.slice(place, place + 3);
      const name = option.slice(2);
      const number = standard.replaceAll(',', '');
      const setting = { variable, standard: /^\d+$/.test(number) ? number : standard || 'none' };
      if (found.has(name)) assert.deepEqual(setting, found.get(name), `${path} has --${name} otherwise`);
      found.set(name, setting);
    }
  }
  return { settings: found, secrets: secrets.sort() };
}

async function settings() {
  const { settings: is, secrets } = help();
  const { settings: said, secrets: files } = await tables();
  assert.deepEqual(files, secrets, 'secrets that may be kept in files');
  const names = [...new Set([...is.keys(), ...said.keys()])].sort();
  const differ = names.filter((name) => !isDeepStrictEqual(is.get(name), said.get(name)));
  const [told, tabled] = [is, said].map((settings) => (name) => JSON.stringify(settings.get(name)));
  const wrong = differ.map((name) => `--${name}: the program says ${told(name)}, the tables ${tabled(name)}`);
  assert.deepEqual(wrong, [], 'settings that the tables of docs/configuration.md and docs/limits.md have otherwise');
  console.log(`settings: ${is.size} options and ${files.length} files of secrets, as the program tells them`);
}

const readerOf = (page) => new Reader(page, {
  token,
  url: () => `http://127.0.0.1:${server}/graphql`,
  settings: {
    // The Rust toolchain and build cache, because HOME is another folder.
    CARGO_HOME: process.env.CARGO_HOME ?? join(homedir(), '.cargo'),
    RUSTUP_HOME: process.env.RUSTUP_HOME ?? join(homedir(), '.rustup'),
    CARGO_TARGET_DIR: process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target/clients'),
    PATH: `${dirname(BINARY)}:${python}:${process.env.PATH}`,
    PYTHONPATH: join(ROOT, 'clients/python/src'),
    TIDINGS_LISTEN: `127.0.0.1:${server}`,
    TIDINGS_LOG: 'error',
  },
  leaves: LEAVES,
  packages: 'tests/clients/node_modules',
  own: { '@tidings/client': 'ui/client' },
  // README.md only shows the page; docs/getting-started.md also serves it.
  shown: page === 'README.md' ? ['bell.html'] : [],
  says: here,
  after,
});
let reader;
for (const page of PAGES) {
  reader = readerOf(page);
  await reader.read();
}
await settings();
console.log('readme: runs as printed');
