// The nginx and Caddy of docs/operate/proxy.md in front of two nodes over one PostgreSQL. The nodes restart one after
// the other under load: no request may fail, and no session may miss an item. The configurations are the text of the
// documentation except for addresses and certificates. Needs `nginx`, `caddy`, `openssl` and `psql`; `TIDINGS_BIN`
// names the binary, `TIDINGS_TEST_POSTGRES` another database server than the local one.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';

import { CLIENTS } from './live/clients.mjs';
import { blocks, freePort, ROOT, until } from './markdown.mjs';
import { Server, token } from './server.mjs';

/** Restarts per node, and the time between a restart and the next, in milliseconds. */
const ROUNDS = 2;
const APART = 3_000;

/** The time limit of a response, in milliseconds. */
const PATIENCE = 10_000;

/** The pause of clients between requests, and the idle time of connections before a burst, in milliseconds. */
const REST = 10;
const LONG_REST = 700;

const DATABASE = `tidings_balancers_${process.pid}`;
const POSTGRES = process.env.TIDINGS_TEST_POSTGRES ?? 'postgres://postgres@127.0.0.1:5432';
const SETTINGS = { DATABASE_URL: `${POSTGRES}/${DATABASE}`, TIDINGS_RATE: '0', TIDINGS_SOCKET_RATE: '0' };

const TENANT = 'orchard';
const SERVICE = token(TENANT, 'shop', 'service');
const SMALL = '{ __typename }';
const OVERVIEW = '{ viewer { overview { cursor } } }';
const SEND = 'mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed } }';
const ITEMS = 'subscription Items($after: String) { itemReceived(after: $after) { cursor node { title } } }';
const LIST = `query($after: String) { viewer { inbox(first: 200, after: $after) {
  nodes { title } pageInfo { hasNextPage endCursor } } } }`;

/** Created once, because it takes longer than a request. */
const secureContext = createSecureContext();

// The certificate is self-signed, made for this run.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
// Debian installs nginx there.
process.env.PATH += ':/usr/sbin';

function run(command, ...args) {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error) throw error;
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr}`);
}

/** Replaces each of these strings; each must occur exactly once. */
function replaced(text, pairs) {
  return Object.entries(pairs).reduce((text, [before, after]) => {
    assert.equal(text.split(before).length, 2, `docs/operate/proxy.md has "${before}" once`);
    return text.replace(before, () => after);
  }, text);
}

/** How to configure and start each balancer. `nodes` maps the documentation's node addresses to ours. */
const BALANCERS = {
  nginx: {
    language: 'nginx',
    version: ['nginx', '-v'],
    configure: (text, { folder, port, nodes }) => `
      daemon off;
      user root;
      worker_processes 2;
      pid ${folder}/nginx.pid;
      events {}
      http {
        access_log off;
        ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`).join(' ')}
        ${replaced(text, {
          ...nodes,
          'listen 443 ssl http2;': `listen 127.0.0.1:${port} ssl http2;`,
          'server_name tidings.example;': 'server_name 127.0.0.1;',
          '/etc/ssl/tidings.example.pem': `${folder}/certificate`,
          '/etc/ssl/tidings.example.key': `${folder}/key`,
        })}
      }`,
    command: (file, folder) => ['nginx', '-e', 'stderr', '-p', folder, '-c', file],
  },
  Caddy: {
    language: 'caddyfile',
    version: ['caddy', 'version'],
    configure: (text, { folder, port, nodes }) => `
      {
        admin off
        auto_https disable_redirects
        grace_period 1s
      }
      ${replaced(text, {
        ...nodes,
        'tidings.example {': `https://127.0.0.1:${port} {\n    tls ${folder}/certificate ${folder}/key`,
      })}`,
    command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
};

/** A running balancer, and the results of all requests through it. */
class Balancer {
  count = 0;
  failures = [];
  titles = [];
  said = '';

  constructor(name) {
    this.name = name;
  }

  /** Starts it with the configuration from the page. */
  async start(page, folder, nodes) {
    const { language, configure, command } = BALANCERS[this.name];
    const { text } = blocks(page).find((block) => block.language === language);
    const [file, port] = [join(folder, language), await freePort()];
    await writeFile(file, configure(text, { folder, port, nodes }));
    const [program, ...args] = command(file, folder);
    const env = { PATH: process.env.PATH, HOME: folder };
    this.child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.child.stderr.on('data', (chunk) => (this.said += chunk));
    this.ended = once(this.child, 'exit');
    this.url = `https://127.0.0.1:${port}/graphql`;
    const answers = () => {
      assert.equal(this.child.exitCode, null, `${this.name} ended:\n${this.said}`);
      return this.ask(undefined, token(TENANT, 'ada'), OVERVIEW).catch(() => undefined);
    };
    await until(answers, () => `${this.name} does not answer:\n${this.said}`);
  }

  /** The data of a response; anything else is an error. Uses `GET` if `method` says so. */
  ask(agent, credentials, query, variables = {}, method = 'POST') {
    const headers = { authorization: `Bearer ${credentials}`, 'content-type': 'application/json' };
    const url = method === 'GET' ? `${this.url}?query=${encodeURIComponent(query)}` : this.url;
    const options = { method, headers, agent: agent ?? false, timeout: PATIENCE, secureContext };
    return new Promise((resolve, reject) => {
      const asked = request(url, options, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        answer.on('error', reject).on('end', () => {
          const { data, errors } = answer.statusCode === 200 ? JSON.parse(text) : { errors: [] };
          if (errors) reject(new Error(`${answer.statusCode} ${text.slice(0, 200)}`));
          else resolve(data);
        });
      });
      asked.on('error', reject).on('timeout', () => asked.destroy(new Error(`no answer within ${PATIENCE} ms`)));
      asked.end(method === 'GET' ? undefined : JSON.stringify({ query, variables }));
    });
  }

  /** Sends a request and counts its result. */
  async counted(kind, ...asked) {
    this.count += 1;
    try {
      return await this.ask(...asked);
    } catch (error) {
      this.failures.push(`${new Date().toISOString()} ${this.name}, ${kind}: ${error.message}`);
      return undefined;
    }
  }

  /** Sends an announcement with a fresh idempotency key. A replay means that the balancer sent the request twice. */
  async send(kind, agent) {
    const title = `${this.name} ${this.count}`;
    const input = { type: 'news', audience: { everyone: true }, content: { title }, idempotencyKey: title };
    const data = await this.counted(kind, agent, SERVICE, SEND, { input });
    if (data) this.titles.push(title);
    if (data?.sendAnnouncement.replayed) this.failures.push(`${this.name} has sent ${title} twice`);
  }

  /** All kinds of clients, until `isOver`. Most requests are small, because the test is about connections. */
  load(isOver) {
    const agents = [];
    const ada = token(TENANT, 'ada');
    const kept = () => {
      agents.push(new Agent({ keepAlive: true }));
      return agents.at(-1);
    };
    const goOn = (many, rest, work) =>
      Array.from({ length: many }, async () => {
        for (; !isOver(); await sleep(rest)) await work();
      });
    const clients = [[4, 'kept connection', kept], [1, 'new connection', () => undefined]].flatMap(([many, over, agent]) => {
      const [queries, mutations] = [agent(), agent()];
      return [
        ...goOn(many, REST, () => this.counted(`GET, ${over}`, queries, ada, SMALL, {}, 'GET')),
        ...goOn(many, REST, () => this.counted(`POST, ${over}`, queries, ada, SMALL)),
        ...goOn(1, 5 * REST, () => this.counted(`overview, ${over}`, queries, ada, OVERVIEW)),
        ...goOn(1, 5 * REST, () => this.send(`mutation, ${over}`, mutations)),
      ];
    });
    const queries = kept();
    const burst = () => Promise.all(Array.from({ length: 8 }, () => this.counted('POST, many at once', queries, ada, SMALL)));
    return Promise.all([...clients, ...goOn(1, LONG_REST, burst)]).finally(() => agents.forEach((agent) => agent.destroy()));
  }

  async stop() {
    this.child?.kill('SIGTERM');
    await this.ended;
  }
}

/** A user who follows their items with one of the public clients, starting at the end of their list. */
class Session {
  titles = [];
  ends = [];
  tokens = 0;

  static async open(balancer, client) {
    const session = new Session();
    const user = `${client.name} by ${balancer.name}`;
    Object.assign(session, { balancer, user });
    const { viewer } = await balancer.ask(undefined, token(TENANT, user), OVERVIEW);
    const next = () => {
      session.tokens += 1;
      return token(TENANT, user);
    };
    const opened = client.open(balancer.url, next, Infinity, (code) => session.ends.push(code));
    session.close = () => opened.close();
    const item = ({ data }) => session.titles.push(data.itemReceived.node.title);
    const failed = (failure) => (session.failure = failure);
    opened.subscribe(ITEMS, { after: viewer.overview.cursor }, item, failed);
    await until(() => session.tokens > 0, `${user} does not connect`);
    return session;
  }

  /** The titles of their list, oldest first. */
  async list() {
    const titles = [];
    for (let page = { endCursor: null, hasNextPage: true }; page.hasNextPage; ) {
      const { viewer } = await this.balancer.ask(undefined, token(TENANT, this.user), LIST, { after: page.endCursor });
      titles.push(...viewer.inbox.nodes.map((node) => node.title));
      page = viewer.inbox.pageInfo;
    }
    return titles.reverse();
  }

  /** Checks that every item arrived once and in order, and that only restarts closed connections. */
  async check(sent) {
    const hasAll = () => this.titles.length >= sent.length || this.failure;
    await until(hasAll, () => `${this.titles.length} of ${sent.length} items`, PATIENCE);
    assert.equal(this.failure, undefined);
    const list = await this.list();
    assert.ok(isDeepStrictEqual(this.titles, list), `it was shown ${this.titles.length} items, other than the ${list.length} of its list`);
    assert.deepEqual(list.toSorted(), sent.toSorted());
    assert.ok(this.tokens > 1, 'it was never asked to come back');
    assert.deepEqual(this.ends.filter((code) => code !== 1012), [], 'how else it was closed');
  }
}

const page = await readFile(join(ROOT, 'docs/operate/proxy.md'), 'utf8');
const [, drain] = page.match(/`TIDINGS_DRAIN_SECONDS=(\d+)`/) ?? assert.fail('docs/operate/proxy.md says how long nodes drain');
const folder = await mkdtemp(join(tmpdir(), 'tidings-balancers-'));
const [nodes, balancers, sessions] = [[], [], []];
let isOver = false;
try {
  for (const { version } of Object.values(BALANCERS)) run(...version);
  run('psql', '-q', '-d', POSTGRES, '-c', `CREATE DATABASE ${DATABASE}`);
  run('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
    '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', join(folder, 'key'), '-out', join(folder, 'certificate'));
  for (let node = 0; node < 2; node += 1) nodes.push(await Server.start({ ...SETTINGS, TIDINGS_DRAIN_SECONDS: drain }));
  const define = 'mutation { saveMessageType(input: { code: "news", title: "News" }) { code } }';
  await nodes[0].ask(token(TENANT, 'operator', 'admin'), define);

  const addresses = Object.fromEntries(nodes.map(({ port }, place) => [`10.0.0.${place + 1}:8080`, `127.0.0.1:${port}`]));
  for (const name of Object.keys(BALANCERS)) {
    const balancer = new Balancer(name);
    balancers.push(balancer);
    await balancer.start(page, folder, addresses);
    for (const client of CLIENTS) sessions.push(await Session.open(balancer, client));
  }

  const loads = balancers.map((balancer) => balancer.load(() => isOver));
  for (let restart = 0; restart < ROUNDS * nodes.length; restart += 1) {
    await sleep(APART);
    const node = nodes[restart % nodes.length];
    assert.equal(await node.end('SIGTERM'), 0);
    await node.run();
  }
  isOver = true;
  await Promise.all(loads);
  const sent = balancers.flatMap(({ titles }) => titles);
  const check = (session) => session.check(sent).catch(({ message }) => session.balancer.failures.push(`${session.user}: ${message}`));
  await Promise.all(sessions.map(check));
} finally {
  isOver = true;
  sessions.forEach((session) => session.close());
  for (const balancer of balancers) await balancer.stop();
  for (const node of nodes) await node.remove();
  run('psql', '-q', '-d', POSTGRES, '-c', `DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
  await rm(folder, { recursive: true, force: true });
}

for (const { name, count, titles, failures } of balancers) {
  failures.slice(0, 20).forEach((failure) => console.error(failure));
  const ends = sessions.filter(({ balancer }) => balancer.name === name).flatMap((session) => session.ends);
  const done = `${count} requests, ${titles.length} items sent, ${ends.length} sockets asked to come back`;
  console.log(`${name}: ${done}; ${failures.length} failures`);
}
const isWell = balancers.every(({ titles, failures }) => titles.length > 0 && failures.length === 0);
console.log(`balancers: ${isWell ? 'nothing fails' : 'WRONG'} in ${ROUNDS * nodes.length} restarts`);
process.exit(isWell ? 0 : 1);
