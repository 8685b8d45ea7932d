// The texts of the elements in the page's language.

import english from '../../locales/elements/en.json';
import { lookUp, parse } from './locale.ts';

type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** The texts with a number, which have a form for each plural category of their language. */
type CountedKey = 'bell' | 'count' | 'newItems';
type PlainKey =
  | 'title'
  | 'all'
  | 'views'
  | 'inbox'
  | 'unread'
  | 'archive'
  | 'types'
  | 'markAll'
  | 'markRead'
  | 'markUnread'
  | 'archiveItem'
  | 'unarchive'
  | 'remove'
  | 'preferences'
  | 'back'
  | 'close'
  | 'empty'
  | 'emptyUnread'
  | 'emptyArchive'
  | 'loading'
  | 'failed'
  | 'retry'
  | 'offline'
  | 'refused'
  | 'newItem'
  | 'isUnread'
  | 'more'
  | 'read'
  | 'unreadAgain'
  | 'archived'
  | 'unarchived'
  | 'removed'
  | 'choose'
  | 'mandatory';

export type Key = PlainKey | CountedKey;
export type Texts = Record<PlainKey, string> & Record<CountedKey, string | Forms>;

/** The languages. English is always there; each of the others is a file that loads on demand. */
const loaders: Record<string, (() => Promise<{ default: Texts }>) | undefined> = {
  ar: () => import('../../locales/elements/ar.json'),
  de: () => import('../../locales/elements/de.json'),
  en: undefined,
  es: () => import('../../locales/elements/es.json'),
  fr: () => import('../../locales/elements/fr.json'),
  it: () => import('../../locales/elements/it.json'),
  ja: () => import('../../locales/elements/ja.json'),
  ko: () => import('../../locales/elements/ko.json'),
  pt: () => import('../../locales/elements/pt.json'),
  ru: () => import('../../locales/elements/ru.json'),
  'zh-Hans': () => import('../../locales/elements/zh-Hans.json'),
  'zh-Hant': () => import('../../locales/elements/zh-Hant.json'),
};

/** Texts of one language, with its formats for numbers and times. */
export class Language {
  readonly locale: string;
  /** Set for right-to-left texts; otherwise the page decides. */
  readonly direction: 'rtl' | undefined;
  readonly #plural: Intl.PluralRules;
  readonly #number: Intl.NumberFormat;

  /** `made` is the locale, its texts, and the page's own texts. */
  constructor(readonly made: readonly [string, Texts | undefined, Partial<Texts> | undefined]) {
    const [locale] = made;
    this.locale = locale;
    this.direction = /^ar\b/.test(locale) ? 'rtl' : undefined;
    this.#plural = new Intl.PluralRules(locale);
    this.#number = new Intl.NumberFormat(locale);
  }

  /** A text. `n` selects the plural form; `shown` is the displayed number if it differs, as in "99+". */
  say(key: Key, n = 0, shown = this.number(n), title = ''): string {
    const [, texts, own] = this.made;
    const entry = own?.[key] ?? (texts ?? (english as Texts))[key];
    const text = typeof entry === 'string' ? entry : (entry[this.#plural.select(n)] ?? entry.other);
    // A function, because a string such as `$&` in a title would be a replacement pattern.
    return text.replace(/\{(n|title)\}/g, (_, name) => (name === 'n' ? shown : title));
  }

  number(n: number): string {
    return this.#number.format(n);
  }

  /** A count for display: `99+` if there are more. */
  count({ count, exact }: { count: number; exact: boolean }): string {
    return this.number(count) + (exact ? '' : '+');
  }

  /** Relative time in words; a date after a week. */
  ago(instant: string, now = Date.now()): string {
    const seconds = Math.min(0, (Date.parse(instant) - now) / 1000);
    for (const [unit, size, limit] of UNITS) {
      if (-seconds < limit) {
        return new Intl.RelativeTimeFormat(this.locale, { numeric: 'auto' }).format(Math.trunc(seconds / size), unit);
      }
    }
    return new Intl.DateTimeFormat(this.locale, { dateStyle: 'medium' }).format(new Date(instant));
  }

  full(instant: string): string {
    return new Intl.DateTimeFormat(this.locale, { dateStyle: 'full', timeStyle: 'short' }).format(new Date(instant));
  }
}

/** A unit, its length in seconds, and the age in seconds below which it is used. */
const UNITS: [Intl.RelativeTimeFormatUnit, number, number][] = [
  ['second', 60, 60],
  ['minute', 60, 3600],
  ['hour', 3600, 86_400],
  ['day', 86_400, 604_800],
];

const loaded = new Map<string, Texts>();

/**
 * The language of a tag: `before` if it is the same, so that unchanged items are not rendered again. If its texts are
 * not loaded yet, the result is `before`, too, or English at first, and `arrived` is called once they are loaded.
 */
export function language(tag: string, own: Partial<Texts> | undefined, arrived: () => void, before?: Language): Language {
  const locale = parse(tag);
  const name = lookUp(locale, loaders);
  const load = name && loaders[name];
  const texts = name && loaded.get(name);
  if (load && !texts) {
    load().then(
      ({ default: texts }) => {
        loaded.set(name, texts);
        arrived();
      },
      // If loading fails, the language stays as it is.
      () => {},
    );
    // Texts, dates and direction change together, without English in between.
    if (before) return before;
  }
  // A language without texts gets English texts and English plurals.
  const made = [name || own ? `${locale}` : 'en', texts || undefined, own] as const;
  return before && made.every((part, at) => part === before.made[at]) ? before : new Language(made);
}
