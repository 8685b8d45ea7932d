// Starts servers for tests: a demo, or a server whose database survives restarts.

import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The binary under test. */
export const BINARY = process.env.TIDINGS_BIN ?? fileURLToPath(new URL('../../target/debug/tidings', import.meta.url));

/** The time limit until the server is ready, in milliseconds. */
const PATIENCE = 60_000;

/** The secret that signs tokens. */
export const SECRET = 'the secret of the clients, 32 bytes and more';

/** Starts the demo; returns its address, tokens of a user, a service and an operator, and a function to stop it. */
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

/** A token as a backend signs it (RFC 7519, HS256), valid for `seconds`. */
export function token(tenant, sub, role = 'user', seconds = 3600) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { tenant, sub, role, exp: Math.floor(Date.now() / 1000) + seconds };
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`;
}

/** A server with its own SQLite database that can be stopped in any way and restarted at the same address. */
export class Server {
  /**
   * Starts a server. `settings` are environment variables, or a function of the port that returns them; `binary` may
   * name another binary.
   */
  static async start(settings = {}, binary = BINARY) {
    const server = new Server();
    server.folder = await mkdtemp(join(tmpdir(), 'tidings-clients-'));
    server.port = await freePort();
    Object.assign(server, { settings: typeof settings === 'function' ? settings(server.port) : settings, binary });
    await server.run();
    return server;
  }

  /** Settings for commands that use the same database. */
  get own() {
    return { DATABASE_URL: `sqlite://${join(this.folder, 'tidings.db')}?mode=rwc`, TIDINGS_SECRET: SECRET };
  }

  /** Starts the server, or restarts it after its end. */
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

  /** The environment of its commands. */
  environment() {
    return {
      PATH: process.env.PATH,
      TIDINGS_LISTEN: `127.0.0.1:${this.port}`,
      TIDINGS_LOG: 'error',
      ...this.own,
      ...this.settings,
    };
  }

  /** Stops it with a signal and returns its exit code. */
  async end(signal) {
    this.child.kill(signal);
    const [code] = await this.ended;
    return code;
  }

  /** The response to an operation. */
  async answer(token, query, variables = {}) {
    const answer = await fetch(`http://127.0.0.1:${this.port}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    return answer.json();
  }

  /** The data of an operation; throws if there are errors. */
  async ask(token, query, variables = {}) {
    const { data, errors } = await this.answer(token, query, variables);
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  }

  /** Stops the server and deletes its data. */
  async remove() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.end('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A currently free port. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
