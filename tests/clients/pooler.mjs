// PgBouncer as in docs/operate/pgbouncer.md between two nodes and PostgreSQL, with the documentation's text except for
// addresses and fewer connections. Clients use both nodes under load: nothing may fail, get lost or be counted wrong;
// once with `LISTEN` over the direct URL, once with Redis. Also checks that the server refuses a pooler that is not
// configured, or configured wrongly. Needs `pgbouncer` (1.21 or newer), `psql` and `redis-server`;
// `TIDINGS_TEST_POSTGRES` names another database server than the local one.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { CLIENTS } from './live/clients.mjs';
import { blocks, freePort, ROOT, until } from './markdown.mjs';
import { BINARY, Server, token } from './server.mjs';

/** How long clients run, in milliseconds, and the number of users. */
const DURATION = 8_000;
const USERS = 12;

/** The pooler's connections to PostgreSQL, and each node's connections to the pooler. */
const POOL = 5;
const CONNECTIONS = 8;

const POSTGRES = process.env.TIDINGS_TEST_POSTGRES ?? 'postgres://postgres@127.0.0.1:5432';
const DATABASE = `tidings_pooler_${process.pid}`;
const DIRECT = `${POSTGRES}/${DATABASE}`;
const OPEN = `SELECT count(*) FROM pg_stat_activity WHERE datname = '${DATABASE}'`;

const TENANT = 'orchard';
const SERVICE = token(TENANT, 'shop', 'service');
const DEFINE = 'mutation { saveMessageType(input: { code: "news", title: "News" }) { code } }';
const SEND = 'mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed notification { id } } }';
const MARK = 'mutation($id: ID!) { markRead(select: { ids: [$id] }) { changedCount } }';
const OVERVIEW = '{ viewer { overview { cursor unread { count } } } }';
const NEWEST = '{ viewer { inbox(first: 5) { nodes { id readAt } } } }';
const ITEMS = 'subscription Items($after: String) { itemReceived(after: $after) { cursor node { title } } }';

function psql(words, url = POSTGRES) {
  const { status, error, stdout, stderr } = spawnSync('psql', ['-qAt', '-d', url, '-c', words], { encoding: 'utf8' });
  if (error) throw error;
  assert.equal(status, 0, stderr);
  return stdout.trim();
}

/** Replaces each of these strings; each must occur exactly once. */
function replaced(text, pairs) {
  return Object.entries(pairs).reduce((text, [before, after]) => {
    assert.equal(text.split(before).length, 2, `docs/operate/pgbouncer.md has "${before}" once`);
    return text.replace(before, () => after);
  }, text);
}

/** A server program that runs until it is stopped. */
class Listening {
  said = '';

  static async start(port, command, ...args) {
    const program = new Listening();
    program.child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [program.child.stdout, program.child.stderr]) stream.on('data', (chunk) => (program.said += chunk));
    program.child.on('error', (error) => (program.said += error.message));
    const answers = () => {
      assert.equal(program.child.exitCode, null, `${command} ended:\n${program.said}`);
      const socket = connect(port, '127.0.0.1');
      return once(socket, 'connect').then(() => true, () => false).finally(() => socket.destroy());
    };
    await until(answers, () => `${command} does not listen:\n${program.said}`);
    return program;
  }

  async stop() {
    const ended = this.child.exitCode === null && once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}

/** PgBouncer with the documentation's text, except for its address and credentials. */
async function pooler(folder, page, otherwise = {}) {
  const port = await freePort();
  const { username, password, hostname, port: behind } = new URL(POSTGRES);
  const secret = decodeURIComponent(password) || 'a password that PostgreSQL does not ask for';
  const [file, users] = ['ini', 'users'].map((name) => join(folder, `${port}.${name}`));
  const { text } = blocks(page).find(({ language }) => language === 'ini');
  const ini = replaced(replaced(text, otherwise), {
    'tidings = host=10.0.0.9 port=5432 dbname=tidings': `${DATABASE} = host=${hostname} port=${behind || 5432}`,
    'listen_addr = 10.0.0.8': `listen_addr = 127.0.0.1\nunix_socket_dir =${process.getuid() === 0 ? '\nuser = nobody' : ''}`,
    'listen_port = 6432': `listen_port = ${port}`,
    '/etc/pgbouncer/userlist.txt': users,
    'default_pool_size = 20': `default_pool_size = ${POOL}`,
  });
  await writeFile(users, `"${decodeURIComponent(username)}" "${secret}"\n`);
  await writeFile(file, ini);
  const program = await Listening.start(port, 'pgbouncer', file);
  const url = `postgres://${username}:${encodeURIComponent(secret)}@127.0.0.1:${port}/${DATABASE}`;
  return { url, stop: () => program.stop() };
}

/** A session of a user, with the titles that it received. */
async function session(server, client, user) {
  const shown = { titles: [], user, name: `${user} by ${client.name}` };
  const { viewer } = await server.ask(token(TENANT, user), OVERVIEW);
  const opened = client.open(`http://127.0.0.1:${server.port}/graphql`, () => token(TENANT, user), 0, () => {});
  const item = ({ data }) => shown.titles.push(data.itemReceived.node.title);
  opened.subscribe(ITEMS, { after: viewer.overview.cursor }, item, (failure) => (shown.failure = failure));
  shown.close = () => opened.close();
  return shown;
}

/** While another client holds all pooled connections, callers get `UNAVAILABLE`; afterwards the nodes recover. */
async function starve(nodes, url) {
  const others = Array.from({ length: POOL }, () => once(spawn('psql', ['-qAt', '-d', url, '-c', 'SELECT pg_sleep(6)']), 'exit'));
  await until(() => psql(`${OPEN} AND query LIKE 'SELECT pg_sleep%'`) === `${POOL}`, 'somebody else gets no connections');
  for (const node of nodes) {
    const { errors } = await node.answer(token(TENANT, 'user 0'), OVERVIEW);
    assert.equal(errors?.[0].extensions.code, 'UNAVAILABLE', JSON.stringify(errors));
  }
  await Promise.all(others);
  const answers = (node) => node.answer(token(TENANT, 'user 0'), OVERVIEW).then(({ data }) => data);
  for (const node of nodes) await until(() => answers(node), 'it does not answer again', 10_000);
}

/** Runs two nodes with these settings under load and reports failures. */
async function serve(name, settings) {
  psql(`CREATE DATABASE ${DATABASE}`);
  const [nodes, sessions, failures] = [[], [], []];
  // The database is expected to be unavailable for a while.
  const common = {
    TIDINGS_LOG: 'error,tidings::database::health=off', TIDINGS_POOLER: 'transaction', TIDINGS_CONNECTIONS: `${CONNECTIONS}`,
    TIDINGS_RATE: '0', TIDINGS_SOCKET_RATE: '0',
  };
  try {
    for (let node = 0; node < 2; node += 1) nodes.push(await Server.start({ ...common, ...settings }));
    await nodes[0].ask(token(TENANT, 'operator', 'admin'), DEFINE);
    const users = Array.from({ length: USERS }, (_, number) => `user ${number}`);
    for (const [number, user] of users.entries()) {
      for (const node of nodes) sessions.push(await session(node, CLIENTS[number % CLIENTS.length], user));
    }

    const [sent, read] = [new Map(users.map((user) => [user, []])), new Map(users.map((user) => [user, 0]))];
    const counts = { send: 0, mark: 0, overview: 0 };
    let most = 0;
    const end = Date.now() + DURATION;
    const goOn = async (kind, work) => {
      for (let round = 0; Date.now() < end; round += 1) {
        counts[kind] += 1;
        await work(nodes[round % 2], round).catch(({ message }) => failures.push(`${kind}: ${message}`));
      }
    };
    const send = (user) => goOn('send', async (node, round) => {
      const title = `${user}, ${round}`;
      const input = { type: 'news', receiver: user, content: { title }, idempotencyKey: title };
      const { sendMessage } = await node.ask(SERVICE, SEND, { input });
      assert.equal(sendMessage.replayed, false);
      sent.get(user).push(title);
    });
    const mark = (user) => goOn('mark', async (node) => {
      const { viewer } = await node.ask(token(TENANT, user), NEWEST);
      const unread = viewer.inbox.nodes.find(({ readAt }) => !readAt);
      if (!unread) return;
      const { markRead } = await node.ask(token(TENANT, user), MARK, { id: unread.id });
      read.set(user, read.get(user) + markRead.changedCount);
    });
    const overview = (user) => goOn('overview', (node) => node.ask(token(TENANT, user), OVERVIEW));
    const look = async () => {
      for (; Date.now() < end; await sleep(250)) {
        most = Math.max(most, Number(psql(`${OPEN} AND application_name <> 'tidings bus'`)));
      }
    };
    await Promise.all([look(), ...users.flatMap((user) => [send(user), mark(user), overview(user)])]);

    for (const user of users) {
      const unread = sent.get(user).length - read.get(user);
      for (const [place, node] of nodes.entries()) {
        const { viewer } = await node.ask(token(TENANT, user), OVERVIEW);
        const { count } = viewer.overview.unread;
        if (count !== unread) failures.push(`${user}, node ${place}: ${count} unread, and not ${unread}`);
      }
    }
    for (const { user, name, titles, ...shown } of sessions) {
      const hasAll = () => shown.failure || titles.length >= sent.get(user).length;
      await until(hasAll, 'items', 10_000).catch(({ message }) => failures.push(`${name}: ${message}`));
      const [is, was] = [titles.toSorted().join(), sent.get(user).toSorted().join()];
      if (is !== was) failures.push(`${name}: ${titles.length} items shown of ${sent.get(user).length}`);
    }
    const buses = await Promise.all(nodes.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()));
    for (const text of buses) {
      if (!/^tidings_bus_connected 1$/m.test(text)) failures.push('a node is not on the bus');
    }
    await starve(nodes, settings.DATABASE_URL).catch(({ message }) => failures.push(`without connections: ${message}`));
    if (most > POOL) failures.push(`${most} connections to PostgreSQL, of which the pool may have ${POOL}`);
    const many = Object.values(counts).reduce((sum, count) => sum + count);
    const done = `${many} operations (${counts.send} sent, ${counts.mark} marks, ${counts.overview} overviews)`;
    const over = `${sessions.length} sessions, at most ${most} connections to PostgreSQL for ${2 * (CONNECTIONS + 1)} of the nodes`;
    console.log(`${name}: ${done}, ${over}; ${failures.length} failures`);
    failures.slice(0, 20).forEach((failure) => console.error(failure));
    return failures.length === 0;
  } finally {
    sessions.forEach((session) => session.close());
    for (const node of nodes) await node.remove();
    psql(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
  }
}

/** Checks that a command fails with this message. */
function refused(words, settings, ...command) {
  const env = { PATH: process.env.PATH, TIDINGS_LISTEN: '127.0.0.1:0', TIDINGS_SECRET: 'x'.repeat(32), ...settings };
  const { status, stdout, stderr } = spawnSync(BINARY, command, { env, encoding: 'utf8', timeout: 20_000 });
  const said = stdout + stderr;
  assert.ok(status > 0 && said.includes(words), `${words} rather than ${status}, ${said}`);
}

/** Wrong configurations are refused with a message. */
async function refusals(folder, page, url) {
  psql(`CREATE DATABASE ${DATABASE}`);
  const POOLED = { DATABASE_URL: url, TIDINGS_POOLER: 'transaction' };
  const ALL = { ...POOLED, TIDINGS_DIRECT_URL: DIRECT };
  const forgetful = await pooler(folder, page, { 'max_prepared_statements = 500': 'max_prepared_statements = 0' });
  const [setup] = page.match(/ connect_query='.*'/);
  const bare = await pooler(folder, page, { [setup]: '' });
  try {
    for (const command of ['serve', 'doctor']) {
      for (const pooled of [url, forgetful.url]) {
        const words = 'DATABASE_URL leads to a pooler in transaction mode: set TIDINGS_POOLER=transaction';
        refused(words, { DATABASE_URL: pooled }, command);
      }
      refused('set TIDINGS_DIRECT_URL or REDIS_URL', POOLED, command);
      refused('the pooler does not keep prepared statements', { ...ALL, DATABASE_URL: forgetful.url }, command);
      const unset = 'idle_in_transaction_session_timeout, lock_timeout, plan_cache_mode, statement_timeout';
      refused(`connections of the pooler lack ${unset}`, { ...ALL, DATABASE_URL: bare.url }, command);
      refused('TIDINGS_DIRECT_URL leads to a pooler', { ...ALL, TIDINGS_DIRECT_URL: `${url}?` }, command);
      refused('TIDINGS_DIRECT_URL must bypass the pooler', { ...ALL, TIDINGS_DIRECT_URL: url }, command);
      refused('TIDINGS_DIRECT_URL cannot be used', { ...ALL, TIDINGS_DIRECT_URL: `${DIRECT}_nowhere` }, command);
      for (const other of ['sqlite::memory:', 'mysql://root@127.0.0.1:3306/any']) {
        refused('are only for PostgreSQL', { ...ALL, DATABASE_URL: other }, command);
      }
    }
    for (const command of [['migrate', '--down', '--yes'], ['restored', '--yes']]) {
      refused('a pooler hides the other clients of the database: set TIDINGS_DIRECT_URL', POOLED, ...command);
    }
    refused("invalid value 'session'", { ...ALL, TIDINGS_POOLER: 'session' }, 'serve');
    psql(`CREATE DATABASE ${DATABASE}_other`);
    refused('lead to different databases', { ...ALL, TIDINGS_DIRECT_URL: `${DIRECT}_other` }, 'serve');
    console.log('refusals: each with words');
  } finally {
    await bare.stop();
    await forgetful.stop();
    for (const name of [DATABASE, `${DATABASE}_other`]) psql(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
}

const page = await readFile(join(ROOT, 'docs/operate/pgbouncer.md'), 'utf8');
const folder = await mkdtemp(join(tmpdir(), 'tidings-pooler-'));
await chmod(folder, 0o755);
const started = [];
let isWell = true;
try {
  const port = await freePort();
  started.push(await Listening.start(port, 'redis-server', '--port', `${port}`, '--save', '', '--dir', folder));
  const between = await pooler(folder, page);
  started.push(between);
  await refusals(folder, page, between.url);
  isWell = await serve('LISTEN', { DATABASE_URL: between.url, TIDINGS_DIRECT_URL: DIRECT }) && isWell;
  isWell = await serve('Redis', { DATABASE_URL: between.url, REDIS_URL: `redis://127.0.0.1:${port}` }) && isWell;
} finally {
  for (const program of started) await program.stop();
  await rm(folder, { recursive: true, force: true });
}
console.log(`pooler: ${isWell ? 'nothing fails' : 'WRONG'}`);
process.exit(isWell ? 0 : 1);
