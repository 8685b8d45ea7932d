// Writes the texts of ui/locales/demo into page.js, because the server serves only index.html, page.css and page.js.
// `--check` only compares.

import { readFile, writeFile } from 'node:fs/promises';

const PAGE = new URL('page.js', import.meta.url);
const LANGUAGES = ['en', 'zh-Hans'];
const BLOCK = /(?<=^\/\/ Made by build\.mjs from ui\/locales\/demo\.\n)const TEXTS = .*?;$/ms;

const texts = {};
for (const tag of LANGUAGES) {
  texts[tag] = JSON.parse(await readFile(new URL(`../locales/demo/${tag}.json`, import.meta.url), 'utf8'));
}

/** The keys of a language, each with its placeholders. */
const shape = (tag) => Object.entries(texts[tag]).map(([key, text]) => `${key} ${(text.match(/\{\w+\}/g) ?? []).sort()}`);
for (const tag of LANGUAGES) {
  if (shape(tag).join('\n') === shape('en').join('\n')) continue;
  throw new Error(`ui/locales/demo/${tag}.json must have the keys and placeholders of en.json, in the same order`);
}

const page = await readFile(PAGE, 'utf8');
if (!BLOCK.test(page)) throw new Error('ui/demo/page.js has no place for the texts');
const made = page.replace(BLOCK, () => `const TEXTS = ${JSON.stringify(texts, undefined, 2)};`);
if (!process.argv.includes('--check')) await writeFile(PAGE, made);
else if (made !== page) {
  console.error("ui/demo/page.js has other texts than ui/locales/demo (run 'node ui/demo/build.mjs')");
  process.exitCode = 1;
}
