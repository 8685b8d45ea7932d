// The image without a container engine: `node image.mjs BINARY` builds the final stage of the Containerfile around a
// static binary and runs it as an engine would, with bubblewrap: only these files, read-only except /data, user 65532
// without capabilities, process 1, its own network. The Containerfile determines command and settings.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createSign, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync, chmodSync, copyFileSync, cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync,
  readlinkSync, rmSync, writeFileSync,
} from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { text as all } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { token } from '../server.mjs';
import { run } from './files.mjs';
import { recipe } from './recipe.mjs';

/** The time limit of every wait, in milliseconds. */
const PATIENCE = 60_000;

/** The secret that `token` of server.mjs signs with. */
const SECRET = 'the secret of the clients, 32 bytes and more';

const URL = 'http://127.0.0.1:8080';
const OVERVIEW = '{ viewer { overview { unread { count } cursor } } }';

/** Folders that an engine adds to every image. */
const ENGINES = ['proc', 'dev', 'run'];

const image = recipe();

async function until(what, isSo) {
  for (const end = Date.now() + PATIENCE; ; await sleep(20)) {
    const so = await isSo();
    if (so) return so;
    assert.ok(Date.now() < end, `in vain: ${what}`);
  }
}

/** Checks that a binary needs no loader and no libraries. */
function isStatic(binary) {
  const segments = run('readelf', ['--wide', '--program-headers', '--dynamic', binary], { env: { ...process.env, LC_ALL: 'C' } });
  assert.equal(segments?.status, 0, segments?.said ?? 'readelf is not installed');
  assert.doesNotMatch(segments.out, /INTERP|\(NEEDED\)/, `${binary} is linked to libraries, of which the image has none`);
}

/** Builds the root folder that the final stage of the Containerfile describes. */
function layer(folder, binary) {
  const [built, root] = [join(folder, 'image'), join(folder, 'root')];
  mkdirSync(built);
  const furnished = run('sh', ['-e', '-c', `umask 022; ${image.furnish.replaceAll('/image', built)}`]);
  assert.equal(furnished.status, 0, furnished.said);
  copyFileSync(binary, join(built, 'tidings'));
  for (const { from, to } of image.copies) {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    cpSync(from.startsWith('/image/') ? join(built, from.slice('/image/'.length)) : from, join(root, to), { recursive: true });
  }
  chmodSync(join(root, 'data'), lstatSync(join(built, 'data')).mode);
  for (const name of ENGINES) mkdirSync(join(root, name));
  mkdirSync(join(root, 'run/secrets'));
  return root;
}

/** All files except mounts, with the attributes that a write would change. */
function contents(root, within = '') {
  return readdirSync(join(root, within)).filter((name) => within || ![...ENGINES, 'data'].includes(name)).flatMap((name) => {
    const at = join(within, name);
    const { mode, size, mtimeMs } = lstatSync(join(root, at));
    const own = `${at} ${mode.toString(8)} ${size} ${mtimeMs}`;
    return lstatSync(join(root, at)).isDirectory() ? [own, ...contents(root, at)] : [own];
  });
}

/** A running container. */
class Container {
  constructor(root, env = {}, command = image.command.slice(1)) {
    const set = { ...image.env, TIDINGS_LOG: 'warn', ...env };
    const [uid, gid] = image.user.split(':');
    this.env = set;
    this.child = spawn('bwrap', [
      '--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--uid', uid, '--gid', gid,
      '--cap-drop', 'ALL', '--new-session', '--die-with-parent', '--as-pid-1', '--info-fd', '3',
      '--ro-bind', root, '/', '--proc', '/proc', '--dev', '/dev', '--bind', join(root, image.volume), image.volume,
      '--ro-bind', join(root, '../secrets'), '/run/secrets', '--chdir', image.folder, '--clearenv',
      ...Object.entries(set).flatMap(([name, value]) => ['--setenv', name, `${value}`]),
      image.command[0], ...command,
    ], { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    this.said = '';
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on('data', (chunk) => (this.said += chunk));
    this.ended = once(this.child, 'close').then(([code]) => code);
    this.info = all(this.child.stdio[3]);
  }

  /** The id of the container's process 1 on the host. */
  async pid() {
    return JSON.parse(await this.info)['child-pid'];
  }

  /** Runs another command in the container, like an engine's `exec`. */
  async run(...args) {
    const target = ['--target', await this.pid(), '--user', '--mount', '--pid', '--preserve-credentials', `--wdns=${image.folder}`];
    const ended = spawnSync('nsenter', [...target, ...args], { env: this.env, encoding: 'utf8' });
    if (ended.error) throw ended.error;
    return { status: ended.status, said: `${ended.stdout}${ended.stderr}` };
  }

  async isReady() {
    const { said } = await until('readiness', async () => {
      assert.equal(this.child.exitCode, null, this.said);
      const told = await this.run(...image.health, '--ready');
      return told.status === 0 && told;
    });
    assert.equal(said, 'ready\n');
  }

  async stop() {
    process.kill(await this.pid(), image.stopSignal);
    return this.ended;
  }
}

/** The response to an operation. */
async function ask(who, query, variables = {}) {
  const headers = { authorization: `Bearer ${who}`, 'content-type': 'application/json' };
  const answer = await fetch(`${URL}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query, variables }) });
  return answer.json();
}

/** Opens an event stream; resolves to its text when the server ends it. */
async function follow(who) {
  const answer = await fetch(`${URL}/graphql`, {
    method: 'POST',
    headers: { accept: 'text/event-stream', authorization: `Bearer ${who}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'subscription { overviewChanged { overview { unread { count } } } }' }),
  });
  assert.equal(answer.status, 200);
  return all(answer.body);
}

/** Certificates for 127.0.0.1, one signed by an authority and one self-signed, and a key that signs tokens. */
class Issuer {
  constructor(folder) {
    const openssl = (...args) => {
      const told = run('openssl', args, { cwd: folder });
      assert.equal(told?.status, 0, told?.said ?? 'openssl is not installed');
    };
    const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const address = ['-addext', 'subjectAltName=IP:127.0.0.1', '-addext', 'extendedKeyUsage=serverAuth'];
    openssl('req', '-x509', ...fresh, '-subj', '/CN=An authority', '-keyout', 'ca.key', '-out', 'ca.pem');
    openssl('req', '-x509', ...fresh, '-subj', '/CN=127.0.0.1', '-keyout', 'own.key', '-out', 'own.pem', ...address);
    openssl('req', ...fresh, '-subj', '/CN=127.0.0.1', '-keyout', 'leaf.key', '-out', 'leaf.csr', ...address);
    openssl('x509', '-req', '-in', 'leaf.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-copy_extensions', 'copy', '-days', '2', '-out', 'leaf.pem');
    this.ca = readFileSync(join(folder, 'ca.pem'), 'utf8');
    this.pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const keys = [{ ...this.pair.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' }];
    this.servers = ['leaf', 'own'].map((of) => {
      const certificate = { key: readFileSync(join(folder, `${of}.key`)), cert: readFileSync(join(folder, `${of}.pem`)) };
      return createServer(certificate, (_, answer) => answer.end(JSON.stringify({ keys }))).listen(0, '127.0.0.1');
    });
  }

  async listen() {
    await Promise.all(this.servers.map((server) => once(server, 'listening')));
    [this.proper, this.selfSigned] = this.servers.map((server) => `https://127.0.0.1:${server.address().port}/jwks.json`);
  }

  token() {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { tenant: 'image', sub: 'ada', exp: Math.floor(Date.now() / 1000) + 600 };
    const signed = `${part({ alg: 'ES256', kid: 'k', typ: 'JWT' })}.${part(claims)}`;
    const signature = createSign('sha256').update(signed).sign({ key: this.pair.privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  }

  end() {
    for (const server of this.servers) server.close();
  }
}

/** The checks build on each other, so their order matters. */
async function checks(root, check) {
  const before = contents(root);
  const env = { TIDINGS_SECRET_FILE: '/run/secrets/tidings', TIDINGS_DRAIN_SECONDS: 2 };
  const [admin, ada] = [token('image', 'operator', 'admin'), token('image', 'ada')];

  await check('has four files of its own', () => {
    const files = before.map((line) => line.split(' ')[0]).filter((name) => !lstatSync(join(root, name)).isDirectory());
    assert.deepEqual(files.sort(), ['etc/passwd', 'etc/ssl/certs/ca-certificates.crt', 'tidings']);
    assert.equal((lstatSync(join(root, 'data')).mode & 0o777).toString(8), '700');
    assert.match(readFileSync(join(root, 'etc/passwd'), 'utf8'), /^tidings:x:65532:65532::\/data:\S+\n$/);
  });

  await check('without a secret it says what it lacks, and ends with 1', async () => {
    const lacking = new Container(root);
    assert.equal(await lacking.ended, 1);
    assert.match(lacking.said, /set TIDINGS_SECRET \(at least 32 bytes\) or TIDINGS_JWKS/);
    assert.deepEqual(readdirSync(join(root, 'data')), [], 'it has begun something');
  });

  let container = new Container(root, env);
  await check('is process 1, of user 65532, without capabilities', async () => {
    await container.isReady();
    const status = readFileSync(`/proc/${await container.pid()}/status`, 'utf8');
    const said = (name) => status.match(new RegExp(`^${name}:\\s+(.*)$`, 'm'))[1];
    assert.equal(said('NSpid').split(/\s/).at(-1), '1');
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) assert.match(said(set), /^0+$/, set);
    assert.equal(said('NoNewPrivs'), '1');
  });
  await check('the health check of the image says yes', async () => {
    assert.deepEqual(await container.run(...image.health), { status: 0, said: 'alive\n' });
  });
  await check('serves what it is sent, and makes a backup', async () => {
    const made = await ask(admin, 'mutation { saveMessageType(input: { code: "news", title: "News" }) { code } }');
    assert.deepEqual(made.data, { saveMessageType: { code: 'news' } }, JSON.stringify(made));
    const input = { type: 'news', audience: { users: ['ada'] }, content: { title: 'first' } };
    const sent = await ask(admin, 'mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed } }', { input });
    assert.deepEqual(sent.data, { sendAnnouncement: { replayed: false } }, JSON.stringify(sent));
    const backup = await container.run(image.command[0], 'backup', '/data/backup.db');
    assert.equal(backup.status, 0, backup.said);
  });
  await check('has nothing open to write to outside /data', async () => {
    const pid = await container.pid();
    const writes = readdirSync(`/proc/${pid}/fd`).filter((fd) => /^flags:\s+0[0-7]*[12]$/m.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8')));
    const files = writes.map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)).filter((of) => of.startsWith('/') && of !== '/dev/null');
    assert.ok(files.some((of) => of.endsWith('/data/tidings.db')), `${files}`);
    assert.deepEqual(files.filter((of) => !/\/data\/tidings\.db/.test(of)), []);
  });
  await check('told to stop, it says so while it drains, ends its streams, and then itself with 0', async () => {
    const stream = follow(ada);
    await until('a stream', async () => /tidings_sessions 1/.test(await (await fetch(`${URL}/metrics`)).text()));
    process.kill(await container.pid(), image.stopSignal);
    const leaving = await until('that it is leaving', async () => {
      const told = await container.run(...image.health, '--ready');
      return told.status !== 0 && told;
    });
    assert.match(leaving.said, /stopping/);
    assert.deepEqual(await container.run(...image.health), { status: 0, said: 'alive\n' }, 'no reason to be killed');
    assert.doesNotMatch(await stream, /event: complete/);
    assert.equal(await container.ended, 0, container.said);
  });
  await check('started again, it has what it had; a restored backup, too', async () => {
    const count = async () => (await ask(ada, OVERVIEW)).data.viewer.overview.unread.count;
    container = new Container(root, { ...env, TIDINGS_DRAIN_SECONDS: 0 });
    await container.isReady();
    assert.equal(await count(), 1);
    assert.equal(await container.stop(), 0, container.said);
    const restored = { ...env, TIDINGS_DRAIN_SECONDS: 0, DATABASE_URL: 'sqlite:///data/backup.db' };
    const prepared = new Container(root, restored, ['restored', '--yes']);
    assert.equal(await prepared.ended, 0, prepared.said);
    container = new Container(root, restored);
    await container.isReady();
    assert.equal(await count(), 1);
    assert.equal(await container.stop(), 0, container.said);
  });
  await check('has written nothing but its database', () => {
    assert.deepEqual(contents(root), before);
    const left = readdirSync(join(root, 'data')).filter((name) => !/^(tidings|backup)\.db(-serve|-shm|-wal)?$/.test(name));
    assert.deepEqual(left, []);
  });
}

/** Which root certificates the server trusts when it fetches keys over https. */
async function outgoing(root, check) {
  const issuer = new Issuer(join(root, '../secrets'));
  await issuer.listen();
  const believed = async (of, env) => {
    const container = new Container(of, env);
    await container.isReady();
    const answer = await ask(issuer.token(), OVERVIEW);
    assert.equal(await container.stop(), 0, container.said);
    return { code: answer.errors?.[0].extensions.code ?? 'OK', said: container.said };
  };
  try {
    await check('takes keys over https from whom SSL_CERT_FILE vouches for', async () => {
      const { code, said } = await believed(root, { TIDINGS_JWKS: issuer.proper, SSL_CERT_FILE: '/run/secrets/ca.pem' });
      assert.equal(code, 'OK', said);
    });
    await check('and from whom the roots in the image vouch for', async () => {
      const other = join(root, '../other');
      cpSync(root, other, { recursive: true });
      appendFileSync(join(other, 'etc/ssl/certs/ca-certificates.crt'), issuer.ca);
      const { code, said } = await believed(other, { TIDINGS_JWKS: issuer.proper });
      assert.equal(code, 'OK', said);
    });
    for (const [who, settings] of Object.entries({
      'an authority that nobody knows': { TIDINGS_JWKS: issuer.proper },
      'a certificate that has signed itself': { TIDINGS_JWKS: issuer.selfSigned },
      'a certificate that has signed itself, whatever SSL_CERT_FILE says': { TIDINGS_JWKS: issuer.selfSigned, SSL_CERT_FILE: '/run/secrets/ca.pem' },
    })) {
      await check(`takes none from ${who}, and says why`, async () => {
        const { code, said } = await believed(root, settings);
        assert.equal(code, 'UNAUTHENTICATED', said);
        assert.match(said, /could not refresh the JWKS.*(UnknownIssuer|certificate)/);
        const doctor = new Container(root, settings, ['doctor']);
        assert.equal(await doctor.ended, 1, doctor.said);
        assert.match(doctor.said, /jwks.*127\.0\.0\.1.*certificate/i);
      });
    }
  } finally {
    issuer.end();
  }
}

async function inside(folder) {
  const count = { passed: 0, failed: 0 };
  const check = async (name, what) => {
    try {
      await what();
      count.passed += 1;
      console.log(`ok    image: ${name}`);
    } catch (error) {
      count.failed += 1;
      console.log(`FAIL  image: ${name}\n${error.stack.replace(/^/gm, '      ')}`);
    }
  };
  await checks(join(folder, 'root'), check);
  await outgoing(join(folder, 'root'), check);
  console.log(`${count.passed} passed, ${count.failed} failed`);
  process.exit(count.failed === 0 ? 0 : 1);
}

const [binary, folder] = process.argv.slice(2);
if (folder) await inside(folder);
else {
  assert.ok(binary && existsSync(binary), 'usage: node image.mjs BINARY');
  for (const tool of ['bwrap', 'nsenter']) assert.ok(run(tool, ['--version']), `${tool} is not installed`);
  isStatic(resolve(binary));
  const made = mkdtempSync(join(tmpdir(), 'tidings-image-'));
  try {
    layer(made, resolve(binary));
    mkdirSync(join(made, 'secrets'));
    writeFileSync(join(made, 'secrets/tidings'), `${SECRET}\n`);
    // A network namespace: the ports of the image are free there, and it has no way out.
    const own = ['--unshare-net', '--dev-bind', '/', '/', '--die-with-parent', process.execPath, fileURLToPath(import.meta.url), binary, made];
    process.exitCode = spawnSync('bwrap', own, { stdio: 'inherit' }).status;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
