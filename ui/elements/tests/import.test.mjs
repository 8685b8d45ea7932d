import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { transform } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

async function texts(name) {
  const { code } = await transform(await readFile(`${ROOT}src/locales/${name}.ts`, 'utf8'), { loader: 'ts' });
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).default;
}

test('where pages are rendered on a server the import does nothing', async () => {
  execFileSync(process.execPath, ['build.mjs', '--plain'], { cwd: ROOT, stdio: 'ignore' });
  const { TidingsBell, Tidings } = await import('../module/tidings.js');
  assert.equal(typeof TidingsBell, 'function');
  assert.equal(typeof Tidings, 'function');
});

for (const name of ['ar', 'de', 'en', 'es', 'fr', 'ja', 'pt', 'ru', 'zh-Hans']) {
  test(`${name} has all texts, in all plurals`, async () => {
    const own = await texts(name);
    assert.deepEqual(Object.keys(own), Object.keys(await texts('en')));
    const rules = new Intl.PluralRules(name);
    for (const [key, forms] of Object.entries(own)) {
      if (typeof forms === 'string') continue;
      assert.ok(forms.other, key);
      // A single new item is announced by its title.
      for (let n = key === 'newItems' ? 2 : 1; n < 200; n++) {
        const form = rules.select(n);
        assert.ok(forms[form] || JSON.stringify(Object.values(forms)) === JSON.stringify([forms.other]), `${key}, ${form}`);
      }
    }
  });
}
