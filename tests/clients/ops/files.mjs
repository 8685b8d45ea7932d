// The repository's files and the programs of this machine, as the checks use them.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

/** A file's path by its name in the repository. */
export const path = (name) => fileURLToPath(new URL(`../../../${name}`, import.meta.url));

export const text = (name) => readFileSync(path(name), 'utf8');

/** What a program says on both outputs, in the repository's folder; nothing where it is not installed. */
export function run(program, args, options = {}) {
  const ended = spawnSync(program, args, { cwd: path(''), encoding: 'utf8', maxBuffer: 2 ** 26, ...options });
  if (ended.error?.code === 'ENOENT') return undefined;
  if (ended.error) throw ended.error;
  return { status: ended.status, out: ended.stdout, said: `${ended.stdout}${ended.stderr}` };
}

/** The version that is released next. */
export const VERSION = text('Cargo.toml').match(/^version = "(.+)"$/m)[1];

/** What settings there are, by their names in the environment, as the binary tells; and those that it reads from files. */
export function settings(binary) {
  const known = run(binary, ['serve', '--help']).out.matchAll(/\[env: ([A-Z_]+)/g);
  return new Set([...[...known].map((match) => match[1]), ...secrets(binary).map((name) => `${name}_FILE`)]);
}

/** Which of the settings are secrets: those whose values the binary does not show in its help. */
export function secrets(binary) {
  const known = run(binary, ['serve', '--help']).out.matchAll(/\[env: ([A-Z_]+)\]/g);
  return [...new Set([...known].map((match) => match[1]))].sort();
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}
