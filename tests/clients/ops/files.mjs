// Helpers of the checks: files of the repository, and programs of this machine.

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

/** The path of a file of the repository. */
export const path = (name) => fileURLToPath(new URL(`../../../${name}`, import.meta.url));

export const text = (name) => readFileSync(path(name), 'utf8');

/** Runs a program in the repository's folder and returns its output; undefined if it is not installed. */
export function run(program, args, options = {}) {
  const ended = spawnSync(program, args, { cwd: path(''), encoding: 'utf8', maxBuffer: 2 ** 26, ...options });
  if (ended.error?.code === 'ENOENT') return undefined;
  if (ended.error) throw ended.error;
  return { status: ended.status, out: ended.stdout, said: `${ended.stdout}${ended.stderr}` };
}

/** The version in Cargo.toml. */
export const VERSION = text('Cargo.toml').match(/^version = "(.+)"$/m)[1];

/** The names of all settings: environment variables that the binary lists, and the `_FILE` variants of secrets. */
export function settings(binary) {
  const known = run(binary, ['serve', '--help']).out.matchAll(/\[env: ([A-Z_]+)/g);
  return new Set([...[...known].map((match) => match[1]), ...secrets(binary).map((name) => `${name}_FILE`)]);
}

/** The settings that are secrets: the binary's help does not show their values. */
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
