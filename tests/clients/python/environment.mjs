// Python environments with locked packages.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Runs a command in a folder and returns its output. Asynchronous, so that servers in this process keep working. */
export async function run(folder, [command, ...args], settings = {}) {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...settings };
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${out}${err}`);
  return out;
}

/** The environment of a folder, rebuilt if its requirements have changed; returns the folder of its commands. */
export async function environment(folder) {
  const made = join(folder, '.venv');
  const [wanted, has] = [join(folder, 'requirements.txt'), join(made, 'requirements.txt')];
  if (!existsSync(has) || !readFileSync(has).equals(readFileSync(wanted))) {
    rmSync(made, { recursive: true, force: true });
    await run(folder, ['python3', '-m', 'venv', '.venv']);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-deps'];
    await run(folder, [join(made, 'bin', 'pip'), 'install', ...quiet, '-r', 'requirements.txt']);
    copyFileSync(wanted, has);
  }
  return join(made, 'bin');
}
