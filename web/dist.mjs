// The folder dist/ of what the binary serves: its files, their list, and the check that they are what the sources build to.
//
// The same sources and package-lock.json give the same files on every machine. How they are compressed may differ from one
// Node.js to the next, so that the check compares what is within.

import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

const KINDS = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.ttf': 'font/ttf',
  '.txt': 'text/plain; charset=utf-8',
};

/** The media type of a file. */
export const kindOf = (name) => KINDS[extname(name)];

/** How large a file is when it is sent. */
export const compressedSize = (content) => gzipSync(content, { level: 9 }).length;

/** A name for the licences that changes with their text. */
export const noticesName = (notices) => `licences-${createHash('sha256').update(notices).digest('hex').slice(0, 8)}.txt`;

/** The list of assets as Rust has it: name, media type and gzipped content. `folder` is where they are built. */
export function list(folder, names) {
  const entries = names.map((name) => `    ("${name}", "${kindOf(name)}", include_bytes!("${name}.gz")),`);
  return `// Made by ${folder}/build.mjs.\n[\n${entries.join('\n')}\n]\n`;
}

/** Writes files by name into a folder, and nothing else; those that end in `.gz` are compressed. */
export async function write(path, files) {
  await rm(path, { recursive: true, force: true });
  await mkdir(path);
  for (const [name, content] of files) {
    await writeFile(join(path, name), name.endsWith('.gz') ? gzipSync(content, { level: 9 }) : content);
  }
}

/** Writes `folder`/dist, or with `--check` says which of its files are not what the sources build to. */
export async function finish(folder, path, files) {
  if (!process.argv.includes('--check')) return write(path, files);
  const wrong = await differing(path, files);
  if (wrong.length === 0) return;
  console.error(`${folder}/dist is not what its sources build to (run 'npm run build --prefix ${folder}'):\n  ${wrong.join('\n  ')}`);
  process.exitCode = 1;
}

/** The names of files that are not what the sources build to. */
async function differing(path, files) {
  const committed = existsSync(path) ? await readdir(path) : [];
  const differing = committed.filter((name) => !files.has(name));
  for (const [name, content] of files) {
    const found = committed.includes(name) && (await readFile(join(path, name)));
    if (!found || !content.equals(name.endsWith('.gz') ? gunzipSync(found) : found)) differing.push(name);
  }
  return differing;
}
