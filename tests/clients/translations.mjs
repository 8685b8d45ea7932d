// The pages in Chinese: translated pages have the headings and the code blocks of the English ones, and all links lead
// somewhere. Needs no server.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { ROOT, blocks, links } from './markdown.mjs';

const FOLDER = 'docs/zh-CN';
const TRANSLATED = [
  ['README.md', 'README.zh-CN.md'],
  ['docs/getting-started.md', `${FOLDER}/getting-started.md`],
];

const read = (page) => readFile(join(ROOT, page), 'utf8');

/** The levels of a page's headings, in order. */
const levels = (text) => text.replace(/^```.*?^```$/gms, '').match(/^#+(?= )/gm).map((marks) => marks.length);

const code = (text) => blocks(text).map(({ language, text }) => ({ language, text }));

/** Compares each page with its original, and follows the links of all pages in Chinese. */
export async function translations() {
  for (const [original, translated] of TRANSLATED) {
    const [is, said] = [await read(translated), await read(original)];
    assert.deepEqual(levels(is), levels(said), `${translated} has other headings than ${original}`);
    assert.deepEqual(code(is), code(said), `${translated} has other code blocks than ${original}`);
  }
  const pages = (await readdir(join(ROOT, FOLDER))).map((name) => `${FOLDER}/${name}`);
  for (const page of ['README.zh-CN.md', ...pages]) {
    await links(page, await read(page)).catch((error) => assert.fail(`${page}: ${error.message}`));
  }
  console.log(`translations: ${TRANSLATED.length} pages equal their originals, and the links of ${pages.length + 1} lead somewhere`);
}

if (process.argv[1] === import.meta.filename) await translations();
