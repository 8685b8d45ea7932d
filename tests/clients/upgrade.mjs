// Two versions of the binary over one database, as in a rolling upgrade and rollback: node upgrade.mjs OLD NEW
// [postgres|mysql|sqlite …]
//
// Random operations also run on a small model (upgrade/tenant.mjs); at every tenth step both versions must match it.
// Sessions on both must receive everything once and in order; running nodes must stay ready. SQLite has one process at
// a time. `SEED` repeats a run, `STEPS` sets its length. Needs `psql`, `mysql` (or `mariadb`) and `sqlite3`;
// `TIDINGS_TEST_POSTGRES` and `TIDINGS_TEST_MYSQL` name other database servers than the local ones.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { CLIENTS } from './live/clients.mjs';
import { until } from './markdown.mjs';
import { Server, token } from './server.mjs';
import { Random } from './stores/random.mjs';
import { Tenant, USERS } from './upgrade/tenant.mjs';

const [OLD, NEW, ...asked] = process.argv.slice(2);
assert.ok(OLD && NEW, 'node upgrade.mjs OLD NEW [postgres|mysql|sqlite …]');
const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);

/** The least number of steps between two restarts, and the steps between two comparisons. */
const STEPS = Number(process.env.STEPS ?? 40);
const COMPARED = 10;

/** How often nodes are asked whether they are ready, in milliseconds. */
const LOOK = 20;

/** The time limit of a command, in milliseconds. */
const PATIENCE = 30_000;

/** Users with live subscriptions: each uses every client on every node. */
const LISTENERS = ['ada', 'bob'];

const SETTINGS = { TIDINGS_RATE: '0', TIDINGS_SOCKET_RATE: '0', TIDINGS_DRAIN_SECONDS: '0' };
const TENANT = 'orchard';
const OVERVIEW = 'subscription { overviewChanged { id overview { unread { count } } } }';
const ITEMS = 'subscription Items($after: String) { itemReceived(after: $after) { cursor node { notificationId } } }';

function run(command, args, options = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', ...options });
  if (error) throw error;
  return { status, said: stdout + stderr, stdout };
}

function mustRun(command, args) {
  const { status, said, stdout } = run(command, args);
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${said}`);
  return stdout;
}

/** Runs another command of a binary with a node's settings, at a free address. */
function runBeside(node, binary, command) {
  return run(binary, [command], { env: { ...node.environment(), TIDINGS_LISTEN: '127.0.0.1:0' }, timeout: PATIENCE });
}

/** A database for this run, used through the command-line client of its kind. */
class Database {
  static KINDS = ['postgres', 'mysql', 'sqlite'];

  constructor(kind) {
    Object.assign(this, { kind, name: `tidings_upgrade_${process.pid}` });
    const servers = {
      postgres: process.env.TIDINGS_TEST_POSTGRES ?? 'postgres://postgres@127.0.0.1:5432',
      mysql: process.env.TIDINGS_TEST_MYSQL ?? 'mysql://root@127.0.0.1:3306',
    };
    this.url = servers[kind];
  }

  /** Nodes share the database, except for SQLite. */
  get settings() {
    return this.url ? { ...SETTINGS, DATABASE_URL: `${this.url}/${this.name}` } : SETTINGS;
  }

  #sql(text, name) {
    if (this.kind === 'postgres') return mustRun('psql', ['-qAt', '-d', `${this.url}/${name ?? 'postgres'}`, '-c', text]);
    if (this.kind === 'sqlite') return mustRun('sqlite3', ['-cmd', '.timeout 20000', this.file, text]);
    const { hostname, port, username, password } = new URL(this.url);
    const where = ['-h', hostname, '-P', port || '3306', '--protocol=tcp', '-u', username, ...(password ? [`-p${password}`] : [])];
    return mustRun('mysql', [...where, '-NBe', text, ...(name ? [name] : [])]);
  }

  create() {
    if (this.kind !== 'sqlite') this.#sql(`CREATE DATABASE ${this.name}`);
  }

  drop() {
    const force = this.kind === 'postgres' ? ' WITH (FORCE)' : '';
    if (this.kind !== 'sqlite') this.#sql(`DROP DATABASE IF EXISTS ${this.name}${force}`);
  }

  /** The output lines of a statement. */
  rows(text) {
    return this.#sql(text, this.name).split('\n').filter(Boolean);
  }

  migrations() {
    return this.rows('SELECT version FROM seaql_migrations ORDER BY version');
  }
}

/** Polls whether a node is ready. */
class Watch {
  looks = 0;
  others = [];

  constructor(server) {
    this.url = `http://127.0.0.1:${server.port}/readyz`;
    this.ended = this.#look();
  }

  async #look() {
    for (; !this.isOver; await sleep(LOOK)) {
      const said = await fetch(this.url).then(async (answer) => (answer.status === 200 ? '' : answer.text()), String);
      this.looks += 1;
      if (said) this.others.push(said);
    }
  }

  async stop() {
    this.isOver = true;
    await this.ended;
    assert.deepEqual(this.others, [], 'a node that nobody has stopped is ready');
    return this.looks;
  }
}

/** A user's live subscriptions in one of the public clients on one node. */
class Session {
  heard = [];

  static async open(server, client, user) {
    const session = new Session();
    const { name } = user;
    const own = token(TENANT, name);
    Object.assign(session, { server, user, from: user.heard.length, name: `${name} by ${client.name} on port ${server.port}` });
    const { viewer } = await server.ask(own, '{ viewer { overview { cursor } } }');
    const opened = client.open(`http://127.0.0.1:${server.port}/graphql`, () => own, Infinity, () => {});
    // If its node is down, there is nothing to close.
    session.close = () => Promise.resolve(opened.close()).catch(() => {});
    const failed = (failure) => (session.failure = failure);
    const item = ({ data }) => session.heard.push(data.itemReceived.node.notificationId);
    opened.subscribe(ITEMS, { after: viewer.overview.cursor }, item, failed);
    opened.subscribe(OVERVIEW, {}, ({ data }) => (session.unread = data.overviewChanged.overview.unread.count), failed);
    return session;
  }

  /** Waits until everything has arrived, and compares. */
  async check(tenant) {
    const expected = this.user.heard.slice(this.from);
    const hasAll = () => this.failure || this.heard.length >= expected.length;
    await until(hasAll, () => `${this.name} has heard ${this.heard.length} of ${expected.length}`);
    assert.equal(this.failure, undefined, this.name);
    assert.deepEqual(this.heard, expected, `${this.name} hears everything once and in order`);
    const { unread } = tenant.standing(this.user);
    await until(() => this.unread === unread.count, () => `${this.name} is told of ${this.unread} unread, not ${unread.count}`);
  }
}

/** Nodes over one database, some of them running, and the operations on them. */
class Upgrade {
  steps = 0;
  compared = 0;
  restarts = 0;
  looks = 0;
  nodes = [];
  up = [];
  sessions = [];
  watches = new Map();

  constructor(database, seed) {
    this.database = database;
    // Separate seeds: which nodes run depends on timing, but the operations must be reproducible.
    this.chance = new Random(seed + 1);
    const ask = (role, sub, query, variables) => this.chance.one(this.up).ask(token(TENANT, sub, role), query, variables);
    this.tenant = new Tenant(new Random(seed), ask, () => this.hear(this.sessions));
  }

  async start(binary) {
    const node = await Server.start(this.database.settings, binary);
    this.nodes.push(node);
    this.#isUp(node);
    return node;
  }

  #isUp(node) {
    this.up.push(node);
    this.watches.set(node, new Watch(node));
  }

  async #isLeft(node) {
    this.up = this.up.filter((other) => other !== node);
    this.looks += (await this.watches.get(node)?.stop()) ?? 0;
    this.watches.delete(node);
  }

  /** Stops a node and starts it at the same address with another version. */
  async replace(node, binary) {
    await this.#isLeft(node);
    assert.equal(await node.end('SIGTERM'), 0, 'a node ends well');
    node.binary = binary;
    await node.run();
    this.restarts += 1;
    this.#isUp(node);
  }

  async listen(node) {
    for (const name of LISTENERS) {
      for (const client of CLIENTS) this.sessions.push(await Session.open(node, client, this.tenant.users.get(name)));
    }
  }

  hear(sessions) {
    return Promise.all(sessions.map((session) => session.check(this.tenant)));
  }

  /** Runs operations, at least `STEPS` of them, until `meanwhile` has ended. */
  async load(meanwhile = Promise.resolve()) {
    let isOver = false;
    const over = () => (isOver = true);
    meanwhile.then(over, over);
    for (let step = 0; step < STEPS || !isOver; step += 1) {
      await this.tenant.step();
      this.steps += 1;
      if (this.steps % COMPARED === 0) await this.compare();
    }
    await meanwhile;
    await this.tenant.later();
    await this.compare();
  }

  /** Compares every running node and every session with the model. */
  async compare() {
    const up = [...this.up];
    for (const name of USERS) {
      const user = this.tenant.users.get(name);
      const own = token(TENANT, name);
      for (const [first, node] of up.entries()) {
        const { viewer } = await node.ask(own, Tenant.READ);
        const edges = [];
        // Each page comes from another node.
        for (let [page, after, isMore] = [first, null, true]; isMore; page += 1) {
          const { viewer } = await up[page % up.length].ask(own, Tenant.LIST, { after });
          edges.push(...viewer.inbox.edges);
          ({ endCursor: after, hasNextPage: isMore } = viewer.inbox.pageInfo);
        }
        this.tenant.compare(user, viewer, edges);
        this.compared += 1;
      }
    }
    await this.hear(this.sessions.filter(({ server }) => up.includes(server)));
  }

  /** If the tables need a newer program, an older one names the migration: in /readyz, at start, and in `doctor`. */
  async cannot(newer) {
    const [old] = this.nodes;
    this.sessions.forEach((session) => session.close());
    for (const node of this.nodes) await this.#isLeft(node);
    const name = newer.at(-1) ?? 'm29991231_000001_newer';
    if (newer.length === 0) this.database.rows(`INSERT INTO seaql_migrations (version, applied_at) VALUES ('${name}', 0)`);
    this.database.rows(`INSERT INTO server (name, value) VALUES ('needs', '${name}')`);
    const names = (said) => said.includes(name) && said.includes('newer');
    const answer = async () => {
      const answer = await fetch(`http://127.0.0.1:${old.port}/readyz`);
      return { status: answer.status, said: await answer.text() };
    };
    let is;
    const isNamed = async () => ((is = await answer()), is.status === 503 && names(is.said));
    await until(isNamed, () => `/readyz says ${is.status} ${is.said}`, 10_000);
    await old.end('SIGTERM');
    for (const command of ['doctor', 'serve']) {
      const { status, said } = runBeside(old, OLD, command);
      assert.ok(status && names(said), `${command} ends with ${status}: ${said}`);
    }
    if (newer.length > 0) {
      old.binary = NEW;
      await old.run();
    }
    return is.said.trim();
  }

  async end() {
    this.sessions.forEach((session) => session.close());
    for (const watch of this.watches.values()) watch.isOver = true;
    for (const node of this.nodes) await node.remove();
  }
}

/** Upgrades nodes over a database one after the other and rolls them back; prints the results. */
async function upgradeOver(kind) {
  const database = new Database(kind);
  database.create();
  const upgrade = new Upgrade(database, SEED);
  try {
    const first = await upgrade.start(OLD);
    database.file = join(first.folder, 'tidings.db');
    const older = database.migrations();
    await upgrade.tenant.begin();
    await upgrade.listen(first);
    await upgrade.load();
    if (kind === 'sqlite') {
      for (const binary of [NEW, OLD]) {
        await upgrade.replace(first, binary);
        await upgrade.load();
      }
    } else {
      await upgrade.load(upgrade.start(NEW));
      const [, second] = upgrade.nodes;
      await upgrade.listen(second);
      await upgrade.load();
      // Upgrade the other node, then roll back both.
      for (const [node, binary] of [[first, NEW], [second, OLD], [first, OLD]]) await upgrade.load(upgrade.replace(node, binary));
    }
    const newer = database.migrations().filter((name) => !older.includes(name));
    const { status, said } = runBeside(first, OLD, 'doctor');
    assert.equal(status, 0, `the doctor of the older version says ${said}`);
    const named = await upgrade.cannot(newer);
    const { steps, compared, restarts, looks, sessions } = upgrade;
    const events = sessions.reduce((sum, { heard }) => sum + heard.length, 0);
    const migrations = newer.length > 0 ? newer.join(', ') : 'none, so that one was made up';
    console.log(`${kind}: ${steps} steps, ${compared} times a user's overview, wishes and list as the model's, ${events} events heard by ` +
      `${sessions.length} sessions, ${restarts} restarts, ${looks} times ready; newer migrations: ${migrations}; needed, it says: ${named}`);
  } finally {
    await upgrade.end();
    database.drop();
  }
}

const kinds = asked.length > 0 ? asked : Database.KINDS;
assert.ok(kinds.every((kind) => Database.KINDS.includes(kind)), `one of ${Database.KINDS.join(', ')}`);
console.log(`upgrade: SEED=${SEED} from ${OLD} to ${NEW}`);
for (const kind of kinds) {
  try {
    await upgradeOver(kind);
  } catch (error) {
    console.error(`${kind}, SEED=${SEED}: ${error.stack}`);
    process.exit(1);
  }
}
console.log('upgrade: both versions say the same');
process.exit(0);
