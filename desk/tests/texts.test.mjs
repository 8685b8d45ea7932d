// The tables of texts: complete, used, equal in all languages, and the only place of what people read.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { test } from 'node:test';

import { buildSchema } from 'graphql';

import { languageFor, rich, t } from '../src/texts.js';

const SOURCES = new URL('../src/', import.meta.url);
const TABLES = new URL('../../ui/locales/desk/', import.meta.url);

const json = async (url) => JSON.parse(await readFile(url, 'utf8'));
const codes = (await readdir(TABLES)).map((name) => name.replace('.json', ''));
const tables = Object.fromEntries(await Promise.all(codes.map(async (code) => [code, await json(new URL(`${code}.json`, TABLES))])));
const names = (await readdir(SOURCES, { recursive: true })).filter((name) => name.endsWith('.js'));
const sources = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, SOURCES), 'utf8')])));
const schema = buildSchema(await readFile(new URL('../../schema.graphql', import.meta.url), 'utf8'));
const { en: english } = tables;

/** All texts of an entry: one, or one for each plural category. */
const forms = (entry) => (typeof entry === 'string' ? [entry] : Object.values(entry));
const placeholders = (entry) => [...new Set(forms(entry).flatMap((text) => text.match(/\{\w+\}/g) ?? []))].sort();

test('all languages have the same keys in the same order', () => {
  for (const code of codes) assert.deepEqual(Object.keys(tables[code]), Object.keys(english), code);
});

test('all languages have the same placeholders, and the plural forms of their grammar', () => {
  for (const code of codes) {
    const { pluralCategories } = new Intl.PluralRules(code).resolvedOptions();
    for (const [key, entry] of Object.entries(tables[code])) {
      assert.deepEqual(placeholders(entry), placeholders(english[key]), `${code} ${key}`);
      assert.equal(typeof entry, typeof english[key], `${code} ${key}`);
      if (typeof entry !== 'string') assert.deepEqual(Object.keys(entry).sort(), [...pluralCategories].sort(), `${code} ${key}`);
      for (const text of forms(entry)) assert.ok(text.trim(), `${code} ${key} is empty`);
    }
  }
});

/** Strings that look like keys, but are names of fields of the API, or of stored values and files. */
const NO_KEYS = /^(input\.|template\.\w+$|(audit\.jsonl|token\.text|params\.name)$)/;

/** The literals of all sources: quoted ones, and patterns for those with expressions. */
const literals = Object.entries(sources).flatMap(([name, source]) => tokens(source).map((token) => ({ name, ...token })));
const quoted = new Set(literals.filter(({ kind, parts }) => kind !== 'html' && parts.length === 1).map(({ parts }) => parts[0]));
const patterns = literals.filter(({ kind, parts }) => kind === 'template' && parts.length > 1 && /^[a-z]\w*\./.test(parts[0]))
  .map(({ parts }) => new RegExp(`^${parts.map((part) => part.replaceAll('.', '\\.')).join('\\w+')}$`));

test('every text is used', () => {
  const unused = Object.keys(english).filter((key) => !quoted.has(key) && !patterns.some((pattern) => pattern.test(key)));
  assert.deepEqual(unused, []);
});

test('every text that is used exists', () => {
  const areas = new Set(Object.keys(english).filter((key) => key.includes('.')).map((key) => key.split('.')[0]));
  const likeKeys = [...quoted].filter((text) => /^[a-z]\w*(\.\w+)+$/.test(text) && areas.has(text.split('.')[0]) && !NO_KEYS.test(text));
  const called = Object.values(sources).flatMap((source) => [...source.matchAll(/\b(?:t|rich)\('([^']+)'/g)].map(([, key]) => key));
  assert.deepEqual([...new Set([...likeKeys, ...called])].filter((key) => !(key in english)), []);
});

test('values of the API that the page shows have a text', () => {
  const values = (name) => schema.getType(name).getValues().map((value) => value.name);
  const shown = ['AuditSubject', 'CallOrigin', 'NotificationKind', 'NotificationStatus', 'OutboundChannel', 'OutboundDeliveryState', 'OutboundState', 'RuleOutcome', 'RuleState', 'WebhookEvent', 'Weekday'];
  const deeds = [...Object.keys(schema.getMutationType().getFields()), 'exportUser'];
  const keys = [
    ...shown.flatMap((name) => values(name).map((value) => `word.${value}`)),
    ...values('CallOrigin').map((value) => `actor.from.${value}`),
    ...values('InboxDecision').map((value) => `decision.${value}`),
    ...values('InboxRule').flatMap((value) => ['yes', 'no'].map((answer) => `why.${value}.${answer}`)),
    ...values('StaffRole').map((value) => `role.${value}`),
    ...values('ErrorCode').map((value) => `error.${value}`),
    ...deeds.map((deed) => `deed.${deed}`),
  ];
  assert.deepEqual(keys.filter((key) => !(key in english)), []);
});

/** Parts of templates that are the same in all languages. */
const SAME = /Tidings|tidings token --tenant … --user … --role admin/g;

/** Keys of the keyboard and names of languages, which look like words of a text. */
const NAMES = ['Enter', 'Escape', 'English'];

const LETTERS = /\p{L}{2,}/u;

test('the sources contain no text that people read', () => {
  const found = [];
  for (const { name, kind, parts, before } of literals) {
    if (name === 'documents.js') continue;
    if (kind === 'html') {
      // Expressions are marked by a character that is no letter.
      const markup = parts.join('\u0000').replace(SAME, '');
      const attributes = [...markup.matchAll(/\s(?:label|data-label|placeholder|title|hint|alt|aria-label|aria-description)=("[^"]*"|[^\s>"]+)/g)].map(([, text]) => text);
      found.push(...[markup.replace(/<[^>]*>/g, '\u0000'), ...attributes].flatMap((text) => text.split('\u0000')).filter((text) => LETTERS.test(text)).map((text) => `${name}: ${text.trim()}`));
    } else {
      const isProse = parts.some((text) => /(^|[.…] )[A-Z][a-z]+( |[.…?:]|$)/.test(text) && !NAMES.includes(text));
      const isLabel = /\b(label|hint|empty|title|text|action|keep|wrong)\s*:\s*$/.test(before) && parts.some((text) => LETTERS.test(text));
      const isSaid = /\bsay\(\s*$/.test(before);
      if (isProse || isLabel || isSaid) found.push(`${name}: ${parts.join('…')}`);
    }
  }
  assert.deepEqual(found, []);
});

test('Chinese has full-width punctuation, and spaces beside Latin words and digits', () => {
  for (const [key, entry] of Object.entries(tables['zh-Hans'])) {
    for (const text of forms(entry)) {
      assert.doesNotMatch(text, /\p{Script=Han}[,.;:!?()]|[,;!?()]\p{Script=Han}/u, key);
      assert.doesNotMatch(text, /\p{Script=Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Script=Han}/u, key);
    }
  }
});

test('the language is the first that the browser wants and that has a table', () => {
  for (const [tags, expected] of [
    [['zh'], 'zh-Hans'],
    [['zh-CN', 'en'], 'zh-Hans'],
    [['zh-SG'], 'zh-Hans'],
    [['zh-Hans-HK'], 'zh-Hans'],
    // The nearest, until there is a table for traditional Chinese.
    [['zh-TW'], 'zh-Hans'],
    [['zh-HK', 'en-GB'], 'zh-Hans'],
    [['en-GB', 'zh-CN'], 'en'],
    [['fr-FR', 'zh-CN'], 'zh-Hans'],
    [['de-DE'], 'en'],
    [['english!'], 'en'],
    [[], 'en'],
  ])
    assert.equal(languageFor(tags), expected, tags.join());
});

test('a text takes its values, and the plural form of n', () => {
  assert.equal(t('people', { n: 1 }), '1 person');
  assert.equal(t('people', { n: 1200 }), '1,200 people');
  assert.equal(t('deleteTitle', { name: '$& {name}' }), 'Delete “$& {name}”?');
  const part = Symbol('a template');
  assert.deepEqual(rich('sent.byRule', { rule: part }), ['by the rule ', part, '']);
});

/**
 * The string literals of a source: their kind (`string`, `template`, or `html` for templates of markup), their parts
 * between expressions, and the code before them. Templates within expressions are tokens of their own.
 */
function tokens(source) {
  const found = [];
  let at = 0;
  /** Reads code until its end, or until the bracket that ends an expression of a template. */
  const code = () => {
    for (let depth = 0; at < source.length; at++) {
      const rest = source.slice(at, at + 2);
      const before = source.slice(Math.max(0, at - 60), at);
      if (rest === '//') at = source.indexOf('\n', at);
      else if (rest === '/*') at = source.indexOf('*/', at) + 1;
      else if (rest[0] === "'" || rest[0] === '"') string(rest[0], before);
      else if (rest[0] === '`') template(before);
      else if (rest[0] === '/' && /[(,=:[!&|?{};]\s*$/.test(before)) regex();
      else if (rest[0] === '{') depth++;
      else if (rest[0] === '}' && depth-- === 0) return;
    }
  };
  const string = (quote, before) => {
    const start = ++at;
    for (; source[at] !== quote; at++) if (source[at] === '\\') at++;
    found.push({ kind: 'string', before, parts: [source.slice(start, at)] });
  };
  const regex = () => {
    for (let isSet = false; source[++at] !== '/' || isSet;) {
      if (source[at] === '\\') at++;
      else if (source[at] === '[') isSet = true;
      else if (source[at] === ']') isSet = false;
    }
  };
  const template = (before) => {
    const token = { kind: /\b(html|svg)$/.test(before) ? 'html' : 'template', before, parts: [''] };
    found.push(token);
    for (at++; source[at] !== '`'; at++) {
      if (source[at] === '\\') token.parts[token.parts.length - 1] += source[at++];
      else if (source.startsWith('${', at)) {
        at += 2;
        code();
        token.parts.push('');
        continue;
      }
      token.parts[token.parts.length - 1] += source[at];
    }
  };
  code();
  return found;
}
