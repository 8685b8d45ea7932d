// Runs relay-compiler with this repository's schema, in a new folder.

import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import compiler from 'relay-compiler';

const SCHEMA = process.env.TIDINGS_SCHEMA ?? fileURLToPath(new URL('../../../../schema.graphql', import.meta.url));

const OPERATIONS = fileURLToPath(new URL('store.js', import.meta.url));

/** Compiles the operations. If persisted, requests send ids; the file `persisted` maps them to documents. */
export async function compile({ persisted: isPersisted }) {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-relay-'));
  const persisted = join(folder, 'persisted.json');
  const config = {
    src: 'src',
    schema: 'schema.graphql',
    language: 'javascript',
    artifactDirectory: 'artifacts',
    eagerEsModules: false,
    noSourceControl: true,
    ...(isPersisted && { persistConfig: { file: 'persisted.json', algorithm: 'SHA256' } }),
  };
  await mkdir(join(folder, 'src'));
  await mkdir(join(folder, 'artifacts'));
  await copyFile(SCHEMA, join(folder, 'schema.graphql'));
  await copyFile(OPERATIONS, join(folder, 'src/store.js'));
  await writeFile(persisted, '{}');
  await writeFile(join(folder, 'relay.config.json'), JSON.stringify(config));
  await run(folder);
  const load = createRequire(join(folder, 'artifacts/'));
  return {
    persisted,
    artifact: (name) => load(`./${name}.graphql.js`),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function run(folder) {
  try {
    await promisify(execFile)(compiler, ['relay.config.json'], { cwd: folder });
  } catch (error) {
    throw new Error(`relay-compiler: ${error.stdout}${error.stderr}`);
  }
}
