// Which texts and formats a `lang` gives, and when the elements follow its changes.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

/** A fresh copy of a module, with its imports. */
async function fresh(name) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../src/${name}.ts`, import.meta.url))],
    bundle: true,
    format: 'esm',
    write: false,
  });
  return import(`data:text/javascript,${encodeURIComponent(`// ${Math.random()}\n${outputFiles[0].text}`)}`);
}

/** The language of a tag after its texts have loaded. */
async function arrived(language, tag, own) {
  const load = () => language(tag, own, () => {});
  load();
  await new Promise((resolve) => setImmediate(resolve));
  return load();
}

const TABLE = {
  // tag: [texts, locale of dates and numbers]
  en: ['en', 'en'],
  'en-GB': ['en', 'en-GB'],
  zh: ['zh-Hans', 'zh'],
  'zh-CN': ['zh-Hans', 'zh-CN'],
  'zh-SG': ['zh-Hans', 'zh-SG'],
  'zh-MY': ['zh-Hans', 'zh-MY'],
  'zh-Hans': ['zh-Hans', 'zh-Hans'],
  'zh-Hans-HK': ['zh-Hans', 'zh-Hans-HK'],
  'zh-TW': ['zh-Hant', 'zh-TW'],
  'zh-HK': ['zh-Hant', 'zh-HK'],
  'zh-MO': ['zh-Hant', 'zh-MO'],
  'zh-Hant': ['zh-Hant', 'zh-Hant'],
  'zh-Hant-CN': ['zh-Hant', 'zh-Hant-CN'],
  'zh-hant-tw': ['zh-Hant', 'zh-Hant-TW'],
  zh_TW: ['zh-Hant', 'zh-TW'],
  'cmn-TW': ['zh-Hant', 'zh-TW'],
  'zh-Latn': ['en', 'en'],
  pt: ['pt', 'pt'],
  'pt-BR': ['pt', 'pt-BR'],
  'pt-PT': ['pt', 'pt-PT'],
  'de-CH-1996': ['de', 'de-CH-1996'],
  'de-u-nu-latn': ['de', 'de-u-nu-latn'],
  'es-419': ['es', 'es-419'],
  'fr-CA': ['fr', 'fr-CA'],
  it: ['it', 'it'],
  'ja-JP': ['ja', 'ja-JP'],
  'ko-KR': ['ko', 'ko-KR'],
  'ru-Cyrl-BY': ['ru', 'ru-Cyrl-BY'],
  'ar-EG': ['ar', 'ar-EG'],
  nl: ['en', 'en'],
  xx: ['en', 'en'],
  english: ['en', 'en'],
  '*': ['en', 'en'],
  'not a tag': ['en', 'en'],
};

for (const [tag, [texts, locale]] of Object.entries(TABLE)) {
  test(`lang="${tag}" gives the texts ${texts}`, async () => {
    const { language } = await fresh('texts');
    const file = new URL(`../../locales/elements/${texts}.json`, import.meta.url);
    const { markAll, empty } = JSON.parse(await readFile(file, 'utf8'));
    const found = await arrived(language, tag);
    assert.deepEqual([found.say('markAll'), found.say('empty'), found.locale], [markAll, empty, locale]);
    assert.equal(found.direction, texts === 'ar' ? 'rtl' : undefined);
  });
}

test('a page brings texts of another language, with its plurals', async () => {
  const { language } = await fresh('texts');
  const own = { title: 'Meldingen', newItems: { one: '{n} melding', other: '{n} meldingen' } };
  const dutch = await arrived(language, 'nl-BE', own);
  assert.deepEqual([dutch.locale, dutch.say('title'), dutch.say('newItems', 1), dutch.say('newItems', 1234)], ['nl-BE', 'Meldingen', '1 melding', '1.234 meldingen']);
  assert.equal(dutch.say('back'), 'Back');
});

test('the language before stays until the next has loaded, and then everything changes at once', async () => {
  const { language } = await fresh('texts');
  const german = await arrived(language, 'de');
  let isCalled = false;
  const next = () => language('ar', undefined, () => (isCalled = true), german);
  assert.equal(next(), german);
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(isCalled);
  assert.deepEqual([next().locale, next().direction], ['ar', 'rtl']);
  const arabic = next();
  assert.equal(language('ar', undefined, () => {}, arabic), arabic);
});

/** A mock of the DOM: nodes with attributes, in documents and shadow roots. */
function surroundings() {
  class ShadowRoot {}
  const observers = [];
  class MutationObserver {
    roots = new Set();
    constructor(changed) {
      this.changed = changed;
      observers.push(this);
    }
    observe(root, options) {
      assert.deepEqual(options, { subtree: true, attributeFilter: ['lang', 'dir'] });
      this.roots.add(root);
    }
    disconnect() {
      this.roots.clear();
    }
  }
  Object.assign(globalThis, { ShadowRoot, MutationObserver });
  Object.defineProperty(globalThis, 'navigator', { value: { language: 'fr-CA' }, configurable: true, writable: true });
  const element = (root, parent, attributes = {}) => ({
    attributes,
    getAttribute: (name) => attributes[name] ?? null,
    getRootNode: () => root,
    closest(selector) {
      assert.equal(selector, '[lang]');
      return 'lang' in attributes ? this : (parent?.closest(selector) ?? null);
    },
  });
  return { element, observers, document: { getRootNode: () => document }, shadow: (host) => Object.assign(new ShadowRoot(), { host }) };
}

test('an own attribute wins over the nearest `lang`, through shadow roots, and then the browser', async () => {
  const { element, document, shadow } = surroundings();
  const { localeOf } = await fresh('locale');
  const page = element(document, null, { lang: 'de' });
  const host = element(document, page);
  const bell = element(shadow(host), null);
  assert.equal(localeOf(bell), 'de');
  host.attributes.lang = 'ja';
  assert.equal(localeOf(bell), 'ja');
  bell.attributes.lang = 'ko';
  assert.equal(localeOf(bell), 'ko');
  bell.attributes.locale = 'it';
  assert.equal(localeOf(bell), 'it');
  assert.equal(localeOf(element(document, element(document, null))), 'fr-CA');
});

test('one observer serves all elements, also in shadow roots, and stops after the last', async () => {
  const { element, document, observers, shadow } = surroundings();
  const { watch, unwatch } = await fresh('locale');
  const changes = [];
  const host = element(document, null);
  const root = shadow(host);
  const [bell, inbox] = [element(document, null), element(root, null)];
  watch(bell, () => changes.push('bell'));
  watch(inbox, () => changes.push('inbox'));
  assert.equal(observers.length, 1);
  assert.deepEqual([...observers[0].roots], [document, root]);
  observers[0].changed();
  assert.deepEqual(changes, ['bell', 'inbox']);
  unwatch(bell);
  assert.equal(observers[0].roots.size, 2);
  unwatch(inbox);
  assert.equal(observers[0].roots.size, 0);
  watch(bell, () => changes.push('again'));
  assert.deepEqual([observers.length, ...observers[0].roots], [1, document]);
});
