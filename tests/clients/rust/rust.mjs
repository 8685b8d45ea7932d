// A Rust program with cynic (`src`) against the binary: its operations are checked against ../../../schema.graphql when
// it compiles, and sent when it runs. Also packs our own client (clients/rust) and runs a backend with it.
// `TIDINGS_BIN` names the binary.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { passes } from '../backend.mjs';
import { Server, token } from '../server.mjs';

const TENANT = 'rust';
const TITLE = 'Hello';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

function cargo(args, settings = {}) {
  const env = { ...settings, ...process.env };
  const { status, error, stdout } = spawnSync('cargo', args, { cwd: ROOT, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  if (error) throw error;
  if (status !== 0) throw new Error(`cargo ${args.join(' ')} ended with ${status}`);
  return stdout;
}

/** Builds and runs the program with a separate target folder, unless `CARGO_TARGET_DIR` is set. */
function program(args) {
  const run = ['run', '--quiet', '--locked', '--manifest-path', `${import.meta.dirname}/Cargo.toml`, '--', ...args];
  process.stdout.write(cargo(run, { CARGO_TARGET_DIR: `${ROOT}target/clients` }));
}

/**
 * Packs our own client, which must compile alone, and runs the example backend that the workspace's tests have built.
 */
async function backend() {
  const pack = ['package', '--quiet', '--locked', '--allow-dirty', '--package', 'tidings-client'];
  cargo(pack, { CARGO_TARGET_DIR: `${ROOT}target/clients`, CARGO_PROFILE_DEV_DEBUG: 'false' });
  const messages = cargo(['build', '--quiet', '--locked', '--workspace', '--example', 'backend', '--message-format', 'json']);
  const built = messages.trim().split('\n').map((line) => JSON.parse(line));
  const { executable } = built.find(({ reason, target }) => reason === 'compiler-artifact' && target.name === 'backend');
  return passes('tidings-client (Rust)', { command: executable, hasSender: true });
}

async function message(server) {
  const define = 'mutation { saveMessageType(input: { code: "news", title: "News" }) { code } }';
  await server.ask(token(TENANT, 'operator', 'admin'), define);
  const send = 'mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed } }';
  const input = { type: 'news', receiver: 'ada', content: { title: TITLE } };
  await server.ask(token(TENANT, 'shop', 'service'), send, { input });
}

let passed = 0;
const server = await Server.start();
try {
  await message(server);
  program([`http://127.0.0.1:${server.port}/graphql`, token(TENANT, 'ada'), 'ada', TITLE]);
  passed += 1;
  passed += await backend();
} catch (error) {
  console.error(error.message);
} finally {
  await server.remove();
}
console.log(`rust: ${passed} passed, ${2 - passed} failed`);
process.exitCode = passed === 2 ? 0 : 1;
