// Reads a page of the documentation from top to bottom and does what it says, block by block:
//
// ```sh, or no language    shell commands, all in one shell that starts in an empty folder. If a comment mentions
//                          Ctrl-C, or for `serve --demo`, they run in the background
// ```graphql               operations; the comment before each names its caller: admin, service, or user and an id.
//                          A variable takes the value of an earlier response with that name. If the comment says
//                          "within a minute" (一分钟内), the operation is repeated until its response matches
// ```json                  responses to the block before: of its last operation, or of each
// ```text                  output of the block before, or new output of the background job
// any other language       a file; the comment on its first line names it
//
// Responses must match exactly, except that `…` stands for any text without white space, and any instant matches any.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { parse } from 'graphql';

import { BINARY } from './server.mjs';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Time limits of every wait, and of compilations, in milliseconds. */
const PATIENCE = 60_000;
const COMPILING = 900_000;

/** The only environment variables kept from the machine. */
const KEPT = { PATH: `${dirname(BINARY)}:${process.env.PATH}`, TMPDIR: tmpdir() };

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** The fenced code blocks of a page. */
export function blocks(page) {
  const found = [];
  const fence = /^```(\w*)\n(.*?)^```$/gms;
  for (const { index, 1: language, 2: text } of page.matchAll(fence)) {
    found.push({ language: language || 'sh', text, line: page.slice(0, index).split('\n').length });
  }
  const fences = page.match(/^\s*(```|~~~)/gm)?.length ?? 0;
  assert.equal(fences, 2 * found.length, 'every fence begins at the margin, and is closed');
  return found;
}

/** Waits until `look` returns something truthy, and returns that. */
export async function until(look, what, patience = PATIENCE) {
  for (const end = Date.now() + patience; ; await pause(20)) {
    const found = await look();
    if (found) return found;
    if (Date.now() >= end) throw new Error(`${typeof what === 'function' ? what() : what}${patience ? `, after ${patience} ms` : ''}`);
  }
}

export const answers = (url) => until(() => fetch(url).then(({ ok }) => ok, () => false), `${url} does not answer`);

/** A free port of this machine. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** A shell that keeps variables, folder and background jobs from block to block. */
class Shell {
  #count = 0;
  #said = '';

  constructor(folder, settings) {
    this.folder = folder;
    this.notes = `${folder}.blocks`;
    const flags = ['--noprofile', '--norc', '-e', '-o', 'pipefail'];
    this.child = spawn('bash', flags, { cwd: folder, env: { ...KEPT, ...settings }, stdio: ['pipe', 'pipe', 'inherit'] });
    this.child.stdin.on('error', () => {});
    this.child.stdout.on('data', (chunk) => (this.#said += chunk));
    this.ended = once(this.child, 'exit').then(() => (this.isOver = true));
    // Each job is a process group, and the shell kills all of them when it exits.
    this.child.stdin.write('set -m\ntrap \'for job in $(jobs -p); do kill -KILL -- "-$job" || true; done 2>/dev/null\' EXIT\n');
  }

  /** Runs commands, in the background if `goesOn`, else until they end; returns a function that reads their output. */
  async run(text, { goesOn = false } = {}) {
    await mkdir(this.notes, { recursive: true });
    const number = ++this.#count;
    const place = join(this.notes, String(number));
    await writeFile(`${place}.sh`, text);
    this.child.stdin.write(`. '${place}.sh' >'${place}.out' 2>'${place}.err'${goesOn ? ' & going=$!' : ''}\necho done ${number}\n`);
    const isDone = () => this.isOver || this.#said.includes(`done ${number}\n`);
    await until(isDone, `still running:\n${text}`, /cargo|go run/.test(text) ? COMPILING : PATIENCE);
    const read = (kind) => readFile(`${place}.${kind}`, 'utf8');
    if (this.isOver) throw new Error(`a command failed:\n${text}\n${await read('out')}${await read('err')}`);
    return () => read('out');
  }

  /** Does what Ctrl-C does to the background job, which must exit with 0. */
  async interrupt() {
    await this.run('kill -INT -- "-$going"\nwait "$going"\n');
  }

  async end() {
    this.child.stdin.end();
    await this.ended;
    await rm(this.notes, { recursive: true, force: true });
  }
}

/** Whether a response matches the page. */
export function fits(said, is) {
  if (typeof said === 'string') {
    if (typeof is !== 'string') return false;
    if (INSTANT.test(said) && INSTANT.test(is)) return true;
    const pattern = said.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\S+');
    return new RegExp(`^${pattern}$`).test(is);
  }
  if (typeof said !== 'object' || said === null || typeof is !== 'object' || is === null) return said === is;
  if (Array.isArray(said) !== Array.isArray(is)) return false;
  const names = Object.keys(said);
  return names.length === Object.keys(is).length && names.every((name) => name in is && fits(said[name], is[name]));
}

/** The consecutive JSON values of a text. */
function values(text) {
  const found = [];
  let begun = '';
  for (const line of text.split('\n')) {
    begun += `${line}\n`;
    try {
      found.push(JSON.parse(begun));
      begun = '';
    } catch {
      // The value continues on the next line.
    }
  }
  assert.equal(begun.trim(), '', 'no JSON');
  return found;
}

/** The operations of a block, each with the comment before it and its caller. */
function operations(text) {
  const { definitions } = parse(text);
  let end = 0;
  let caller;
  return definitions.map((definition) => {
    const comment = text.slice(end, definition.loc.start);
    ({ end } = definition.loc);
    const [, role, user] = comment.match(/^#\s*(?:(admin|service)|user\s+(\w+))\b/m) ?? [];
    if (role || user) caller = { role: role ?? 'user', user };
    if (!caller) throw new Error(`who asks? ${comment}`);
    return { ...caller, comment, definition, query: text.slice(definition.loc.start, end) };
  });
}

/** The first event of a subscription. */
async function firstEvent(answer) {
  let text = '';
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const data = text.match(/^data: (.+)\n\n/m);
    if (data) return JSON.parse(data[1]);
  }
  throw new Error(`no event:\n${text}`);
}

export class Reader {
  #remembered = {};
  #last = {};
  #files = new Map();
  counts = { commands: 0, operations: 0, answers: 0, files: 0 };
  leftOut = [];

  /**
   * A reader of `page`, a path in the repository. `token(role, user)` makes tokens, and `url()` is the API's address.
   * `leaves` lists commands to leave out, with reasons; `says` changes printed text before it is typed. `packages` is a
   * folder of npm packages to install, and `own` adds more by name and folder. `shown` lists files that no other block
   * needs to use. `after` is called with each completed block.
   */
  constructor(page, { token, url, settings = {}, leaves = [], says = (text) => text, packages, own = {}, shown = [], after = () => {} }) {
    Object.assign(this, { page, token, url, settings, leaves, says, packages, own, shown, after });
  }

  /** The output of the last block of commands so far. */
  printed() {
    return this.#last.printed();
  }

  /** Does everything on the page; throws at the first difference. */
  async read() {
    const folder = await mkdtemp(join(tmpdir(), 'tidings-reader-'));
    await mkdir(join(folder, 'home'));
    await mkdir(join(folder, 'work'));
    if (this.packages) await this.#install(join(folder, 'work', 'node_modules'));
    this.shell = new Shell(join(folder, 'work'), { HOME: join(folder, 'home'), ...this.settings });
    let place = this.page;
    try {
      const text = await readFile(join(ROOT, this.page), 'utf8');
      const found = blocks(text);
      for (const [index, block] of found.entries()) {
        place = `${this.page}:${block.line}`;
        const next = found[index + 1];
        const expected = next?.language === 'json' ? values(this.says(next.text)) : [];
        await this.#follow({ ...block, text: this.says(block.text), expected });
        await this.after(block, this);
      }
      for (const [name, line] of this.#files) {
        if (this.shown.includes(name)) continue;
        // Used by its own name, or by that of its folder.
        const names = [basename(name), ...(name.includes('/') ? [`${name.split('/')[0]}/`] : [])];
        const isUsed = found.some((block) => block.line !== line && names.some((name) => block.text.includes(name)));
        assert.ok(isUsed, `nothing uses ${name}, of line ${line}`);
      }
      await links(this.page, text);
    } catch (error) {
      throw new Error(`${place}: ${error.message}`, { cause: error });
    } finally {
      await this.shell.end();
      await rm(folder, { recursive: true, force: true });
    }
    const { commands, operations, answers, files } = this.counts;
    console.log(`${this.page}: ${commands} blocks of commands, ${operations} operations, ${files} files, ${answers} answers as printed`);
    for (const { line, why } of this.leftOut) console.log(`  left out: ${line} (${why})`);
  }

  async #install(modules) {
    const given = (await readdir(join(ROOT, this.packages))).map((name) => [name, join(this.packages, name)]);
    for (const [name, from] of [...given, ...Object.entries(this.own)]) {
      const place = join(modules, name);
      await mkdir(dirname(place), { recursive: true });
      await symlink(join(ROOT, from), place);
    }
  }

  #follow(block) {
    const follow = { sh: this.#type, graphql: this.#ask, json: this.#compare, text: this.#watch }[block.language] ?? this.#write;
    return follow.call(this, block);
  }

  async #type({ text }) {
    const [kept, left] = [[], []];
    for (const line of text.split('\n')) {
      const reason = this.leaves.find(({ command }) => command.test(line));
      if (reason) left.push({ line: line.trim().replace(/\s+/g, ' '), why: reason.why });
      else kept.push(line);
    }
    this.leftOut.push(...left);
    const commands = kept.join('\n');
    if (!commands.trim()) return;
    this.counts.commands += 1;
    const goesOn = /serve --demo|#.*Ctrl-C/.test(commands);
    // The address stays in use until the server on it ends.
    if (/\bserve\b/.test(commands) && this.going) {
      await this.shell.interrupt();
      this.going = undefined;
    }
    const printed = await this.shell.run(commands, { goesOn });
    this.#last = { printed, goesOn, seen: 0 };
    if (goesOn) this.going = this.#last;
  }

  async #ask({ text, expected }) {
    const asked = operations(text);
    assert.ok([0, 1, asked.length].includes(expected.length), 'one answer for the last operation, or one for each');
    for (const [place, operation] of asked.entries()) {
      const one = expected.at(place - asked.length);
      let said;
      const isSo = async () => {
        said = await this.#answer(operation);
        return one === undefined || fits(one, said);
      };
      // Retries only if the comment says "within a minute" or "second"; otherwise the first response counts.
      const patience = /within a (second|minute)|一(秒|分钟)内/.test(operation.comment) ? PATIENCE * 1.5 : 0;
      await until(isSo, () => `not what is answered to ${operation.query}\n${JSON.stringify(said)}`, patience);
      if (said.errors && one === undefined) throw new Error(`${operation.query}\n${JSON.stringify(said.errors)}`);
      this.#remember(said);
      this.counts.operations += 1;
    }
    this.counts.answers += expected.length;
    this.#last = { isCompared: expected.length > 0 };
  }

  async #answer(operation) {
    const isLive = operation.definition.operation === 'subscription';
    const abort = new AbortController();
    const answer = await fetch(this.url(), {
      method: 'POST',
      headers: {
        accept: isLive ? 'text/event-stream' : 'application/json',
        authorization: `Bearer ${await this.token(operation.role, operation.user)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query: operation.query, variables: this.#variables(operation) }),
      signal: abort.signal,
    });
    const { data, errors } = await (isLive ? firstEvent(answer) : answer.json());
    abort.abort();
    const told = errors?.map(({ message, extensions }) => ({ message, extensions }));
    return { ...(data && { data }), ...(told && { errors: told }) };
  }

  #variables({ definition }) {
    const names = (definition.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
    return Object.fromEntries(names.map((name) => {
      if (name === 'tomorrow') return [name, new Date(Date.now() + 86_400_000).toISOString()];
      if (!(name in this.#remembered)) throw new Error(`no answer so far has a ${name}`);
      return [name, this.#remembered[name]];
    }));
  }

  /** Remembers values for variables of later operations: the first of each name, from the newest response with it. */
  #remember(answer) {
    const newest = {};
    JSON.stringify(answer, (name, value) => {
      if (['string', 'number'].includes(typeof value) && !(name in newest)) newest[name] = value;
      return value;
    });
    Object.assign(this.#remembered, newest);
  }

  async #compare({ text }) {
    if (!this.#last.printed) {
      // Responses to operations, which were compared when the operations ran.
      assert.ok(this.#last.isCompared, 'answers to what?');
      return;
    }
    const is = JSON.parse(await this.printed());
    assert.ok(fits(JSON.parse(text), is), `not what is printed:\n${JSON.stringify(is)}`);
    this.counts.answers += 1;
  }

  async #watch({ text }) {
    const source = this.#last.printed ? this.#last : this.going;
    assert.ok(source, 'printed by what?');
    const lines = async () => (await source.printed()).slice(source.seen).split('\n');
    const said = text.trim().split('\n');
    const isSo = async () => {
      const is = (await lines()).slice(0, source.goesOn ? said.length : -1);
      return fits(said, is) || (source.goesOn ? false : assert.fail(`not what was printed:\n${is.join('\n')}`));
    };
    let printed = '';
    await until(async () => ((printed = await source.printed()), isSo()), () => `still not what is printed:\n${printed}`);
    source.seen += (await lines()).slice(0, said.length).join('\n').length + 1;
    this.counts.answers += 1;
  }

  async #write({ language, text, line }) {
    const name = text.split('\n', 1)[0].match(/(?:\/\/|#|--|<!--)\s*([\w./-]+\.\w+)/)?.[1];
    assert.ok(name, `the first line of a block of ${language} names its file in a comment`);
    const place = join(this.shell.folder, name);
    assert.ok(!relative(this.shell.folder, place).startsWith('..'));
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, text);
    this.#files.set(name, line);
    this.#last = {};
    this.counts.files += 1;
  }
}

/** Fails if a link of the page leads to a missing file or heading of the repository. */
export async function links(page, text) {
  const anchors = (text) => {
    const headings = text.replace(/^```.*?^```$/gms, '').match(/^#+ .+$/gm) ?? [];
    return headings.map((heading) => heading.replace(/^#+ /, '').toLowerCase().replace(/[^\p{L}\p{M}\p{N}_\- ]/gu, '').replaceAll(' ', '-'));
  };
  for (const [, link] of text.replace(/^```.*?^```$/gms, '').matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^https?:/.test(link)) continue;
    const [path, anchor] = link.split('#');
    const target = path ? join(ROOT, dirname(page), path) : join(ROOT, page);
    const found = await readFile(target, 'utf8').catch(() => assert.fail(`the link ${link} leads to no file`));
    if (anchor) assert.ok(anchors(found).includes(anchor), `the link ${link} leads to no chapter`);
  }
}
