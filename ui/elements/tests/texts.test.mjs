// The texts in ui/locales/elements: every language has every text, with its placeholders and plural forms.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';

const FOLDER = new URL('../../locales/elements/', import.meta.url);
const texts = async (tag) => JSON.parse(await readFile(new URL(`${tag}.json`, FOLDER), 'utf8'));
const tags = (await readdir(FOLDER)).map((name) => name.replace(/\.json$/, ''));
const english = await texts('en');

const placeholders = (text) => (text.match(/\{\w+\}/g) ?? []).sort();

/** The plural categories of a language, each with some of its numbers. */
function categories(tag) {
  const rules = new Intl.PluralRules(tag);
  const found = Object.fromEntries(rules.resolvedOptions().pluralCategories.map((category) => [category, []]));
  for (let n = 0; n < 1000; n++) found[rules.select(n)].push(n);
  return found;
}

test('the languages', () => {
  assert.deepEqual(tags.sort(), ['ar', 'de', 'en', 'es', 'fr', 'it', 'ja', 'ko', 'pt', 'ru', 'zh-Hans', 'zh-Hant']);
});

for (const tag of tags) {
  test(`${tag} has all texts, placeholders and plural forms`, async () => {
    const own = await texts(tag);
    const needed = categories(tag);
    assert.deepEqual(Object.keys(own), Object.keys(english));
    for (const [key, text] of Object.entries(own)) {
      if (typeof english[key] === 'string') {
        assert.ok(text.trim(), key);
        assert.deepEqual(placeholders(text), placeholders(english[key]), key);
        continue;
      }
      assert.deepEqual(Object.keys(text).sort(), Object.keys(needed).sort(), key);
      for (const [category, form] of Object.entries(text)) {
        // A form for a single number, such as the Arabic dual, may say the number in a word.
        const isOneNumber = needed[category].length === 1;
        if (isOneNumber && placeholders(form).length === 0) assert.ok(form.trim(), `${key}, ${category}`);
        else assert.deepEqual(placeholders(form), placeholders(english[key].other), `${key}, ${category}`);
      }
    }
  });
}

test('Traditional Chinese uses the words of Taiwan, and no simplified characters', async () => {
  const words = JSON.stringify(await texts('zh-Hant'));
  for (const word of ['通知', '未讀', '封存', '收件匣', '偏好設定']) assert.ok(words.includes(word), word);
  assert.doesNotMatch(words, /[归档读显标记设载错误类关闭试删选]|收件箱|加載|網絡/);
});
