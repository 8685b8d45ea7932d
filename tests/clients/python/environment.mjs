// Environments of Python with locked packages.

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Runs a command in a folder, and gives what it prints. */
export function run(folder, [command, ...args], settings = {}) {
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...settings };
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd: folder, env, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** The environment of a folder, made anew where it is not of these requirements; gives the folder of its commands. */
export function environment(folder) {
  const made = join(folder, '.venv');
  const [wanted, has] = [join(folder, 'requirements.txt'), join(made, 'requirements.txt')];
  if (!existsSync(has) || !readFileSync(has).equals(readFileSync(wanted))) {
    rmSync(made, { recursive: true, force: true });
    run(folder, ['python3', '-m', 'venv', '.venv']);
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-deps'];
    run(folder, [join(made, 'bin', 'pip'), 'install', ...quiet, '-r', 'requirements.txt']);
    copyFileSync(wanted, has);
  }
  return join(made, 'bin');
}
