// Mail through independent software: Nodemailer's smtp-server accepts it by SMTPS, STARTTLS and in plain text, and
// Nodemailer's parser reads it. `TIDINGS_BIN` names the binary; openssl makes the certificates.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';

import { Server, token } from './server.mjs';

/** The time limit of every wait, in milliseconds. */
const PATIENCE = 60_000;

const [admin, service] = [token('acme', 'operator', 'admin'), token('acme', 'shop', 'service')];
const SAVE = 'mutation Save($input: MailRelayInput!) { saveMailRelay(input: $input) { url state } }';
const SEND = `mutation Send($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } } }`;
const DELIVERIES = `query Deliveries($user: ID!) { outboundDeliveries(filter: { channel: EMAIL, user: $user }) {
  nodes { id state lastStatus lastError attemptCount } } }`;

/** The content of a mail: characters that need encoding, escaping and folding. */
const TITLE = `Größe & <b>Maß</b>: 通知 ${'sehr '.repeat(30)}lang`;
const BODY = '.a dot begins it\nFrom the shop\n<script>alert("1")</script>\n' + 'ü'.repeat(2000);

async function until(what, holds) {
  for (const end = Date.now() + PATIENCE; ; await sleep(50)) {
    const held = await holds();
    if (held) return held;
    if (Date.now() > end) throw new Error(`${what}: in vain`);
  }
}

/** A certificate authority, and its certificate for 127.0.0.1. */
function certificates(folder) {
  const run = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  run('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-keyout', 'ca.key', '-out', 'ca.pem',
    '-subj', '/CN=an authority');
  run('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key.pem', '-out', 'request.pem', '-subj', '/CN=relay');
  run('x509', '-req', '-in', 'request.pem', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-out', 'cert.pem',
    '-extfile', 'san.ext');
  const read = (name) => readFileSync(join(folder, name));
  return { key: read('key.pem'), cert: read('cert.pem') };
}

/** A relay that keeps accepted mail, and refuses what the test tells it to. */
class Relay {
  static async start(options) {
    const relay = new Relay();
    Object.assign(relay, { letters: [], refuse: undefined, attempts: [] });
    relay.server = new SMTPServer({
      logger: false,
      // Answers locally, without looking up the client's name.
      disableReverseLookup: true,
      ...options,
      onAuth({ username, password }, _, done) {
        const is = username === 'shop' && password === 'pass word';
        done(is ? null : Object.assign(new Error('Invalid login'), { responseCode: 535 }), { user: username });
      },
      onRcptTo({ address }, _, done) {
        const known = !address.startsWith('nobody');
        done(known ? null : Object.assign(new Error('No such user here'), { responseCode: 550 }));
      },
      async onData(stream, { envelope, secure, user }, done) {
        const letter = await simpleParser(stream);
        relay.attempts.push(letter.messageId);
        const refused = relay.refuse;
        relay.refuse = undefined;
        if (refused) return done(Object.assign(new Error('Try again later'), { responseCode: refused }));
        relay.letters.push({ letter, envelope, secure, user });
        done();
      },
    });
    relay.server.on('error', () => {});
    const listening = relay.server.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    relay.port = listening.address().port;
    return relay;
  }

  stop() {
    return new Promise((done) => this.server.close(done));
  }
}

/** Mail through a relay arrives as intended. */
async function arrives(server, name, relay, url, { secure, user }) {
  await server.ask(admin, SAVE, { input: { url, from: 'Größe & Co <noreply@shop.example>', replyTo: 'help@shop.example', linkBase: 'https://shop.example/' } });
  const content = { title: TITLE, body: BODY, link: '/orders/17?a=1&b=2' };
  await server.ask(service, SEND, { input: { type: 'order', receiver: 'ada', content } });
  const { letter, envelope, ...taken } = await until(`a letter by ${name}`, () => relay.letters[0]);
  assert.deepEqual(taken, { secure, user }, name);
  assert.equal(envelope.mailFrom.address, 'noreply@shop.example');
  assert.deepEqual(envelope.rcptTo.map(({ address }) => address), ['ada@example.com']);
  assert.equal(letter.subject, TITLE);
  assert.deepEqual(letter.from.value, [{ address: 'noreply@shop.example', name: 'Größe & Co' }]);
  assert.equal(letter.to.text, 'ada@example.com');
  assert.equal(letter.replyTo.text, 'help@shop.example');
  assert.equal(letter.headers.get('auto-submitted'), 'auto-generated');
  assert.match(letter.messageId, /^<[^@<>\s]+@shop\.example>$/);
  assert.ok(Math.abs(Date.now() - letter.date) < PATIENCE);
  assert.equal(letter.text.trimEnd().replaceAll('\r\n', '\n'), `${BODY}\n\nhttps://shop.example/orders/17?a=1&b=2`);
  assert.ok(letter.html.includes('&lt;script&gt;') && !letter.html.includes('<script'), 'what is said is no HTML');
  assert.match(letter.html, /href="https:(\/|&#x2f;){2}shop\.example(\/|&#x2f;)orders(\/|&#x2f;)17\?a=1&amp;b=2"/);
  assert.deepEqual(letter.attachments, []);
  console.log(`ok: ${name}`);
}

/** A user's delivery, once it was attempted and has reached a state. */
async function inTheEnd(server, user, state) {
  return until(`${user}: ${state}`, async () => {
    const { nodes } = (await server.ask(admin, DELIVERIES, { user })).outboundDeliveries;
    return nodes.find((node) => node.state === state && node.attemptCount > 0);
  });
}

const folder = await mkdtemp(join(tmpdir(), 'tidings-mail-'));
await writeFile(join(folder, 'san.ext'), 'subjectAltName = IP:127.0.0.1\n');
const own = certificates(folder);
const relays = await Promise.all([
  Relay.start({ ...own, secure: true }),
  Relay.start({ ...own }),
  Relay.start({ disabledCommands: ['STARTTLS'], authOptional: true }),
  // Uses the library's own certificate, which the server must not trust.
  Relay.start({ secure: true }),
]);
const [smtps, starttls, plain, stranger] = relays;
const server = await Server.start({
  TIDINGS_KEY: '07'.repeat(32),
  TIDINGS_EGRESS_ALLOW: '127.0.0.1',
  SSL_CERT_FILE: join(folder, 'ca.pem'),
});
try {
  const rule = 'delivery: [{ channel: EMAIL, condition: ALWAYS, delaySeconds: 0 }]';
  await server.ask(admin, `mutation { saveMessageType(input: { code: "order", title: "Orders", ${rule} }) { code } }`);
  const PROFILES = 'mutation Save($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }';
  const inputs = ['ada', 'bob', 'nobody'].map((id) => ({ id, contacts: [{ email: `${id}@example.com` }] }));
  await server.ask(service, PROFILES, { inputs });

  const login = 'shop:pass%20word';
  await arrives(server, 'SMTPS', smtps, `smtps://${login}@127.0.0.1:${smtps.port}`, { secure: true, user: 'shop' });
  await arrives(server, 'STARTTLS', starttls, `smtp://${login}@127.0.0.1:${starttls.port}`, { secure: true, user: 'shop' });
  await arrives(server, 'no encryption, where that is listed', plain, `smtp://127.0.0.1:${plain.port}?tls=none`, { secure: false, user: undefined });

  plain.attempts.length = 0;
  plain.refuse = 451;
  await server.ask(service, SEND, { input: { type: 'order', receiver: 'bob', content: { title: 'again' } } });
  await until('a second attempt', () => plain.letters.length === 2);
  assert.equal(plain.attempts.length, 2);
  assert.equal(plain.attempts[0], plain.attempts[1], 'a repeat is known by its id');
  console.log('ok: what is refused for now comes again under its id');

  await server.ask(service, SEND, { input: { type: 'order', receiver: 'nobody', content: { title: 'in vain' } } });
  const dead = await inTheEnd(server, 'nobody', 'DEAD');
  assert.deepEqual([dead.lastStatus, dead.attemptCount], [550, 1]);
  console.log('ok: what is refused for good is given up');

  for (const [name, url, why] of [
    ['a certificate of nobody whom one knows', `smtps://${login}@127.0.0.1:${stranger.port}`, /certificate/i],
    ['a wrong password', `smtps://shop:wrong@127.0.0.1:${smtps.port}`, /login|535/i],
    ['no STARTTLS where it is required', `smtp://127.0.0.1:${plain.port}`, /encrypt|starttls/i],
  ]) {
    const before = relays.map(({ letters }) => letters.length);
    await server.ask(service, PROFILES, { inputs: [{ id: name, contacts: [{ email: 'ada@example.com' }] }] });
    await server.ask(admin, SAVE, { input: { url, from: 'noreply@shop.example' } });
    await server.ask(service, SEND, { input: { type: 'order', receiver: name, content: { title: name } } });
    const { lastError } = await inTheEnd(server, name, 'PENDING');
    assert.match(lastError, why, name);
    assert.ok(!lastError.includes('wrong@'), 'no password in an error');
    assert.deepEqual(relays.map(({ letters }) => letters.length), before, `${name}: nothing is handed over`);
    console.log(`ok: ${name} is noticed: ${lastError}`);
  }
} finally {
  await server.remove();
  await Promise.all(relays.map((relay) => relay.stop()));
  await rm(folder, { recursive: true, force: true });
}
