// Servers of their own for whoever wants one: a demo, or one over a database that outlives it.

import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** What is started. */
export const BINARY = process.env.TIDINGS_BIN ?? fileURLToPath(new URL('../../target/debug/tidings', import.meta.url));

/** How long the server may take to say that it is ready, in milliseconds. */
const PATIENCE = 60_000;

/** What its tokens are signed with. */
export const SECRET = 'the secret of the clients, 32 bytes and more';

/** Starts the demo; gives its address, tokens of a user, a service and an operator, and a way to stop it. */
export async function start() {
  if (process.env.TIDINGS_URL) {
    return { url: process.env.TIDINGS_URL, token: process.env.TIDINGS_TOKEN, stop() {} };
  }
  const child = spawn(BINARY, ['serve', '--demo'], {
    env: { PATH: process.env.PATH, TIDINGS_LISTEN: '127.0.0.1:0', TIDINGS_LOG: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const text = await new Promise((resolve, reject) => {
    let text = '';
    const late = setTimeout(() => reject(new Error(`not ready after ${PATIENCE} ms:\n${text}`)), PATIENCE);
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}:\n${text}`)));
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (/^ {2}admin .+\n/m.test(text)) {
        clearTimeout(late);
        resolve(text);
      }
    });
  });
  child.removeAllListeners('exit');
  const said = (name) => text.match(new RegExp(`^ {2}${name} +(\\S+)$`, 'm'))[1];
  const url = said('console').replace(/\/console.*/, '/graphql');
  return { url, token: said('user'), service: said('service'), admin: said('admin'), stop: () => child.kill() };
}

/** A token as a partner's backend signs it (RFC 7519, HS256), valid for so many seconds. */
export function token(tenant, sub, role = 'user', seconds = 3600) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { tenant, sub, role, exp: Math.floor(Date.now() / 1000) + seconds };
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`;
}

/** A server over an SQLite database of its own, that can be ended in any way and started again at the same address. */
export class Server {
  /**
   * With further settings, as variables of the environment, or what gives them for the server's port, and by another binary where that is
   * wanted.
   */
  static async start(settings = {}, binary = BINARY) {
    const server = new Server();
    server.folder = await mkdtemp(join(tmpdir(), 'tidings-clients-'));
    server.port = await freePort();
    Object.assign(server, { settings: typeof settings === 'function' ? settings(server.port) : settings, binary });
    await server.run();
    return server;
  }

  /** What a command over its database has to be set to, too. */
  get own() {
    return { DATABASE_URL: `sqlite://${join(this.folder, 'tidings.db')}?mode=rwc`, TIDINGS_SECRET: SECRET };
  }

  /** Starts it, once more after it was ended. */
  async run() {
    this.child = spawn(this.binary, ['serve'], { env: this.environment(), stdio: ['ignore', 'ignore', 'inherit'] });
    this.ended = once(this.child, 'exit');
    for (const until = Date.now() + PATIENCE; ; await sleep(20)) {
      const answer = await fetch(`http://127.0.0.1:${this.port}/readyz`).catch(() => undefined);
      if (answer?.ok) return;
      if (this.child.exitCode !== null) throw new Error(`the server ended with ${this.child.exitCode}`);
      if (Date.now() > until) throw new Error(`the server is not ready after ${PATIENCE} ms`);
    }
  }

  /** The settings that its commands get. */
  environment() {
    return {
      PATH: process.env.PATH,
      TIDINGS_LISTEN: `127.0.0.1:${this.port}`,
      TIDINGS_LOG: 'error',
      ...this.own,
      ...this.settings,
    };
  }

  /** Ends it by a signal, and gives its exit code. */
  async end(signal) {
    this.child.kill(signal);
    const [code] = await this.ended;
    return code;
  }

  /** What is answered to a request. */
  async answer(token, query, variables = {}) {
    const answer = await fetch(`http://127.0.0.1:${this.port}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    return answer.json();
  }

  /** The data that a request gives; it fails where there is none. */
  async ask(token, query, variables = {}) {
    const { data, errors } = await this.answer(token, query, variables);
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  }

  /** Ends it for good, and removes what it stored. */
  async remove() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.end('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A port that nobody has at the moment. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
