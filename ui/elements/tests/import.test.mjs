import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

test('where pages are rendered on a server the import does nothing', async () => {
  execFileSync(process.execPath, ['build.mjs', '--plain'], { cwd: ROOT, stdio: 'ignore' });
  const { TidingsBell, Tidings } = await import('../module/tidings.js');
  assert.equal(typeof TidingsBell, 'function');
  assert.equal(typeof Tidings, 'function');
});
