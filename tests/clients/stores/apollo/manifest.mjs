// Runs Apollo's tool for persisted query manifests on the documents of the tests, in a new folder.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { generatePersistedQueryIdsFromManifest } from '@apollo/persisted-query-lists';

const TOOL = '@apollo/generate-persisted-query-manifest';

const OPERATIONS = fileURLToPath(new URL('operations.mjs', import.meta.url));

/** Makes the manifest; `file` is its path, and `link` makes a link that sends its ids instead of documents. */
export async function makeManifest() {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-apollo-'));
  const file = join(folder, 'manifest.json');
  const config = join(folder, 'manifest.config.json');
  await writeFile(config, JSON.stringify({ documents: [OPERATIONS], output: file }));
  const tool = join(dirname(createRequire(import.meta.url).resolve(`${TOOL}/package.json`)), 'cli.js');
  try {
    await promisify(execFile)(process.execPath, [tool, '--config', config], { cwd: dirname(OPERATIONS) });
  } catch (error) {
    throw new Error(`${TOOL}: ${error.stdout}${error.stderr}`);
  }
  const manifest = JSON.parse(await readFile(file, 'utf8'));
  return {
    file,
    manifest,
    link: () => new PersistedQueryLink(generatePersistedQueryIdsFromManifest({ loadManifest: async () => manifest })),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
