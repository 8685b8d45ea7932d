// Python programs against the binary: `gql`, a client that `ariadne-codegen` generates, and a backend with our own
// (clients/python), as it is packed. Each has an environment of its own with locked packages (requirements.txt), made where it is
// missing. `TIDINGS_BIN` names the binary to start.

import { copyFileSync, cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { passes as passesSteps } from '../backend.mjs';
import { SECRET, Server, token } from '../server.mjs';
import { environment, run } from './environment.mjs';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SCHEMA = join(ROOT, 'schema.graphql');

const PROGRAMS = [
  { folder: 'gql', steps: [['python', 'inbox.py']] },
  { folder: 'codegen', steps: [['ariadne-codegen'], ['python', 'inbox.py']] },
];

/** A tenant of its own, and what a program has to know of it. */
async function tenant(server, name) {
  const define = 'mutation { saveMessageType(input: { code: "news", title: "News" }) { code } saveTargetType(code: "doc", subscriptionPolicy: OPEN) { code } }';
  await server.ask(token(name, 'operator', 'admin'), define);
  return {
    TIDINGS_URL: `http://127.0.0.1:${server.port}/graphql`,
    TIDINGS_SCHEMA: SCHEMA,
    TIDINGS_SERVICE: token(name, 'shop', 'service'),
    TIDINGS_USER: token(name, 'ada'),
  };
}

async function passes(server, { folder, steps }) {
  try {
    const path = join(import.meta.dirname, folder);
    const bin = await environment(path);
    const settings = await tenant(server, folder);
    let said;
    for (const [command, ...args] of steps) said = await run(path, [join(bin, command), ...args], settings);
    process.stdout.write(said);
    return true;
  } catch (error) {
    console.error(`${folder}: ${error.message}`);
    return false;
  }
}

/** Our own client: what is generated is current, its types hold, it can be packed, and does what its README says. Gives the wheel's Python. */
async function packed(copy) {
  const bin = await environment(join(import.meta.dirname, 'backend'));
  const python = join(bin, 'python');
  const [made, kept] = [join(copy, 'clients/python'), join(ROOT, 'clients/python')];
  cpSync(kept, made, { recursive: true });
  copyFileSync(SCHEMA, join(copy, 'schema.graphql'));
  const api = 'src/tidings/api';
  rmSync(join(made, api), { recursive: true });
  await run(made, [join(bin, 'ariadne-codegen')], { PATH: `${bin}:${process.env.PATH}` });
  try {
    await run(copy, ['diff', '-r', '-x', '__pycache__', join(kept, api), join(made, api)]);
  } catch (error) {
    throw new Error(`clients/python/${api} is not current: run ariadne-codegen in clients/python\n${error.message}`);
  }

  const version = (file) => readFileSync(join(ROOT, file), 'utf8').match(/^version = "(.+)"$/m)[1];
  if (version('clients/python/pyproject.toml') !== version('Cargo.toml')) throw new Error('pyproject.toml has another version');
  await run(made, [python, '-m', 'build', '--no-isolation', '--outdir', 'dist']);
  const wheel = readdirSync(join(made, 'dist')).find((name) => name.endsWith('.whl'));
  await run(made, [join(bin, 'pip'), 'install', '--quiet', '--no-deps', '--force-reinstall', join('dist', wheel)]);

  const sender = readFileSync(join(kept, 'README.md'), 'utf8').match(/```python\n(.*?)```/s)[1];
  const address = 'http://127.0.0.1:8080/graphql';
  if (!sender.includes(address)) throw new Error(`the sender of README.md asks elsewhere than ${address}`);
  writeFileSync(join(copy, 'sender.py'), sender.replace(address, `http://127.0.0.1:${server.port}/graphql`));
  await run(copy, [python, '-m', 'mypy', '--strict', 'sender.py', join(kept, 'tests/backend.py')]);
  const define = 'mutation { saveMessageType(input: { code: "order", title: "Orders" }) { code } }';
  await server.ask(token('acme', 'operator', 'admin'), define);
  await run(copy, [python, 'sender.py'], { TIDINGS_SECRET: SECRET });
  const { inboxUser } = await server.ask(token('acme', 'shop', 'service'), '{ inboxUser(id: "ada") { inbox { nodes { title } } } }');
  if (inboxUser.inbox.nodes.length !== 1) throw new Error('the sender of README.md has sent nothing');
  return python;
}

async function backend() {
  const copy = mkdtempSync(join(tmpdir(), 'tidings-python-'));
  try {
    const command = await packed(copy);
    const settings = { PYTHONDONTWRITEBYTECODE: '1' };
    return await passesSteps('tidings (Python)', { command, args: [join(ROOT, 'clients/python/tests/backend.py')], env: settings });
  } catch (error) {
    console.error(`backend: ${error.message}`);
    return false;
  } finally {
    rmSync(copy, { recursive: true });
  }
}

const server = await Server.start();
let passed = 0;
try {
  for (const program of PROGRAMS) passed += await passes(server, program);
  passed += await backend();
} finally {
  await server.remove();
}
const all = PROGRAMS.length + 1;
console.log(`python: ${passed} passed, ${all - passed} failed`);
process.exitCode = passed === all ? 0 : 1;
