// Backends with our own clients (clients/python, clients/rust) against the binary. Each is a program that runs once per
// step below, through a proxy that counts requests, drops responses and kills the server meanwhile.

import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as ask } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { SECRET, Server, token } from './server.mjs';

/** The number of notifications sent while responses are lost: three requests. */
const MANY = 2500;

/** Requests per minute of a service; an empty token bucket then gains one token in two seconds. */
const RATE = 30;

/** The time limit of a program, in milliseconds. */
const PATIENCE = 120_000;

/** The proxy between a program and the server. */
class Line {
  /** The faults of the next requests; `undefined` for none. */
  mishaps = [];
  /** Every request with its time in milliseconds, and its response if there was one. */
  requests = [];
  /** Whether the server is down. */
  isDown = false;

  static async open(server) {
    const line = new Line();
    line.server = server;
    line.door = createServer((request, response) => line.take(request, response)).listen(0, '127.0.0.1');
    await once(line.door, 'listening');
    line.url = `http://127.0.0.1:${line.door.address().port}/graphql`;
    return line;
  }

  async take(request, response) {
    const seen = { at: Date.now() };
    this.requests.push(seen);
    const parts = [];
    for await (const part of request) parts.push(part);
    if (this.isDown) return request.socket.destroy();
    const mishap = this.mishaps.shift();
    try {
      if (mishap === 'busy') return response.writeHead(503, { 'retry-after': '1' }).end('a proxy says so');
      const answered = this.forward(request, Buffer.concat(parts));
      answered.catch(() => undefined);
      if (mishap === 'ended') {
        // Kills the server about halfway. The client must find out whether the request was applied.
        await sleep(40);
        await this.restart(request);
      } else if (mishap === 'lost') {
        assert.equal((await answered).status, 200);
        await this.restart(request);
      } else {
        const { status, headers, body } = await answered;
        Object.assign(seen, { status, retryAfter: headers['retry-after'], answeredAt: Date.now() });
        response.writeHead(status, headers).end(body);
      }
    } catch {
      request.socket.destroy(); // no server there
    }
  }

  /** Kills the server, cuts the connection, and restarts the server after a while. */
  async restart(request) {
    this.isDown = true;
    await this.server.end('SIGKILL');
    request.socket.destroy();
    await sleep(500);
    await this.server.run();
    this.isDown = false;
  }

  forward({ method, headers }, body) {
    return new Promise((resolve, reject) => {
      const url = `http://127.0.0.1:${this.server.port}/graphql`;
      const forwarded = ask(url, { method, headers, agent: false }, async (answer) => {
        try {
          const parts = [];
          for await (const part of answer) parts.push(part);
          resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) });
        } catch (error) {
          reject(error);
        }
      });
      forwarded.on('error', reject).end(body);
    });
  }

  /** The requests since the last call. */
  since() {
    return this.requests.splice(0);
  }

  close() {
    this.door.close();
    this.door.closeAllConnections();
  }
}

/** Runs one step of a program and returns the JSON that it prints. */
async function step(program, line, name) {
  const { command, args = [], ...options } = program;
  const env = { ...process.env, ...options.env, TIDINGS_URL: line.url, TIDINGS_SECRET: SECRET };
  const child = spawn(command, [...args, name], { ...options, env, stdio: ['ignore', 'pipe', 'inherit'], timeout: PATIENCE });
  let said = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  const [code] = await once(child, 'close');
  assert.equal(code, 0, `${name} ended with ${code}: ${said}`);
  return JSON.parse(said);
}

/** How often each title was sent, and the number of unread items of the user `crowd`. */
async function sent(server, who) {
  const list = `query($after: String) { sentNotifications(first: 200, after: $after, filter: { types: ["many"] }) {
    nodes { title } pageInfo { hasNextPage endCursor } } }`;
  const titles = new Map();
  for (let after, page; page?.pageInfo.hasNextPage !== false; after = page.pageInfo.endCursor) {
    page = (await server.ask(who, list, { after })).sentNotifications;
    for (const { title } of page.nodes) titles.set(title, (titles.get(title) ?? 0) + 1);
  }
  const { inboxUser } = await server.ask(who, '{ inboxUser(id: "crowd") { overview { unread { count } } } }');
  return { titles, unread: inboxUser.overview.unread.count };
}

const STEPS = {
  /** Every operation once; errors with code and field; another tenant. */
  async operations({ line, run }) {
    assert.deepEqual(await run('operations'), { operations: 35 });
    assert.ok(line.since().length > 35);
  },

  /** Sends 2,500 while one response is lost and the server is killed during two other requests: each arrives once. */
  async many({ server, line, run }) {
    line.mishaps.push('busy', 'ended', undefined, 'lost', undefined, 'ended');
    const { outcomes, replayed } = await run('many');
    const requests = line.since();
    assert.equal(outcomes, MANY);
    // The chunk whose response was lost had been sent. For the two cut off, it depends on when the server died.
    assert.ok([1000, 1500, 2000, 2500].includes(replayed), `${replayed} were sent before`);
    assert.ok(requests[1].at - requests[0].at >= 1000, 'a proxy said to wait for a second');
    const { titles, unread } = await sent(server, token('shop', 'watch', 'service'));
    assert.equal(titles.size, MANY);
    assert.deepEqual([...titles].filter(([, count]) => count !== 1), []);
    assert.equal(unread, MANY);
  },

  /** If the client has a sender that batches inputs of many tasks: only the invalid input is refused. */
  async sender({ line, run, hasSender }) {
    if (!hasSender) return;
    assert.deepEqual(await run('sender'), { sent: 1999, refused: ['BadUserInput message.type'] });
    assert.ok(line.since().length < 12, 'requests of many each');
  },

  /** A wrong token is not retried. */
  async refused({ line, run }) {
    assert.deepEqual(await run('refused'), { code: 'UNAUTHENTICATED' });
    assert.equal(line.since().length, 1);
  },

  /**
   * Without patience, calls up to the rate limit without retries. With patience, retries as late as the server says.
   */
  async limited({ server, line, run }) {
    await server.end('SIGTERM');
    server.settings = { TIDINGS_STAFF_RATE: `${RATE}` };
    await server.run();
    assert.deepEqual(await run('limited'), { code: 'RATE_LIMITED' });
    const requests = line.since();
    const hasty = requests.findIndex(({ status }) => status === 429);
    assert.ok(hasty >= RATE, `only ${hasty} were let in`);
    const patient = requests.slice(hasty + 1);
    assert.deepEqual([patient[0].status, patient.at(-1).status], [429, 200]);
    for (const [index, { answeredAt, retryAfter }] of patient.slice(0, -1).entries()) {
      const waited = patient[index + 1].at - answeredAt;
      assert.ok(waited >= 1000 * retryAfter, `waited ${waited} ms of ${retryAfter} s`);
    }
  },
};

/** Whether a program passes all steps. `program` is the arguments of `spawn` and `hasSender`. */
export async function passes(name, program) {
  const server = await Server.start({ TIDINGS_KEY: '07'.repeat(32) });
  const line = await Line.open(server);
  const began = Date.now();
  try {
    const { hasSender, ...spawned } = program;
    for (const [named, act] of Object.entries(STEPS)) {
      await act({ server, line, hasSender, run: (name) => step(spawned, line, name) }).catch((error) => {
        throw new Error(`${named}: ${error.message}`);
      });
    }
    console.log(`${name}: its operations, ${MANY} sent once over three restarts, retries and errors pass, in ${Date.now() - began} ms`);
    return true;
  } catch (error) {
    console.error(`${name}: ${error.message}`);
    return false;
  } finally {
    line.close();
    await server.remove();
  }
}
