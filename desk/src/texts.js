// The texts of the page in the chosen language, and numbers and times as its readers write them. The tables are in
// ui/locales/desk/.

import english from '../../ui/locales/desk/en.json' with { type: 'json' };
import { remember, remembered } from './storage.js';

/** Each language: its own name, and its table. Tables other than the English one load on demand. */
const LANGUAGES = {
  'zh-Hans': { name: '中文', load: () => import('../../ui/locales/desk/zh-Hans.json', { with: { type: 'json' } }) },
  en: { name: 'English', load: async () => ({ default: english }) },
};

/** Codes and names for the language switch. */
export const NAMES = Object.entries(LANGUAGES).map(([code, { name }]) => [code, name]);

const KEPT = 'language';

const current = { code: 'en', texts: english, locale: 'en' };

/** The code of the chosen language. */
export const language = () => current.code;

/**
 * The language for these tags, the most wanted first: the first tag that has one. A tag has the language of its own
 * script, otherwise the nearest: traditional Chinese gets simplified Chinese, because it has no table yet.
 */
export function languageFor(tags) {
  const codes = Object.keys(LANGUAGES);
  for (const tag of tags) {
    const wanted = full(tag);
    const found = codes.find((code) => isSameScript(full(code), wanted)) ?? codes.find((code) => full(code).language === wanted?.language);
    if (found) return found;
  }
  return 'en';
}

/** A tag with its script and region; undefined if it is invalid. */
function full(tag) {
  try {
    return new Intl.Locale(tag).maximize();
  } catch {
    return undefined;
  }
}

const isSameScript = (one, other) => one.language === other?.language && one.script === other.script;

const wantedTags = () => globalThis.navigator?.languages ?? [];

let turn = 0;

/** Switches the language and renders everything again. Fails if its table cannot be loaded. */
async function use(code) {
  const own = ++turn;
  const { default: texts } = await LANGUAGES[code].load();
  // The user has switched again while the table was loading.
  if (own !== turn) return;
  // The browser knows the region, which decides between 3/5 and 5/3.
  const locale = wantedTags().find((tag) => isSameScript(full(code), full(tag))) ?? code;
  Object.assign(current, { code, texts, locale });
  document.documentElement.lang = code;
  dispatchEvent(new Event('tidings-language'));
}

/** Starts with the remembered language, or one that the browser prefers. If its table does not load, English stays. */
export async function begin() {
  const kept = remembered(KEPT);
  await use(kept in LANGUAGES ? kept : languageFor(wantedTags())).catch(() => {});
}

/** Switches to a language and remembers it. */
export async function setLanguage(code) {
  await use(code);
  remember(KEPT, code);
}

/** The text of a key. `n` of the values selects the plural form. */
export const t = (key, values) => rich(key, values).join('');

/** The same in parts, for values that are templates. */
export function rich(key, values = {}) {
  const entry = current.texts[key] ?? english[key];
  const text = typeof entry === 'string' ? entry : (entry[formatter(Intl.PluralRules).select(values.n)] ?? entry.other);
  return text.split(/\{(\w+)\}/).map((part, place) => (place % 2 === 0 ? part : shown(values[part])));
}

/** Whether there is a text for a key that was made from a value of the API. */
export const hasText = (key) => key in english;

const shown = (value) => (typeof value === 'number' ? number(value) : value);

export const number = (value) => formatter(Intl.NumberFormat).format(value);

/** A list as a sentence has it: `title and link`. */
export const list = (values) => formatter(Intl.ListFormat).format(values);

const made = new Map();

/** A formatter of `Intl` for the chosen language. Each is kept, because making one takes long. */
export function formatter(Kind, options = {}) {
  const key = JSON.stringify([Kind.name, current.locale, options]);
  if (!made.has(key)) made.set(key, new Kind(current.locale, options));
  return made.get(key);
}
