// The texts of the elements in the page's language.

import english from './locales/en.ts';

type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };
export type Texts = { [key in keyof typeof english]: (typeof english)[key] extends string ? string : Forms };
export type Key = keyof Texts;

/** The other languages; each is a file that loads on demand. */
const loaders: Record<string, () => Promise<{ default: Texts }>> = {
  ar: () => import('./locales/ar.ts'),
  de: () => import('./locales/de.ts'),
  es: () => import('./locales/es.ts'),
  fr: () => import('./locales/fr.ts'),
  ja: () => import('./locales/ja.ts'),
  pt: () => import('./locales/pt.ts'),
  ru: () => import('./locales/ru.ts'),
  'zh-Hans': () => import('./locales/zh-Hans.ts'),
};

/** The name of a language tag's texts: its language, and for Chinese also its script. */
function found(tag: string): string {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return language === 'zh' ? `zh-${script}` : language;
  } catch {
    return 'en';
  }
}

/** The language of an element: its own attribute, the nearest `lang`, or the browser's language. */
export function localeOf(element: Element): string {
  for (let at: Element | null = element; at;) {
    const lang = at === element ? at.getAttribute('locale') || at.getAttribute('lang') : at.getAttribute('lang');
    if (lang) return lang;
    const root: Node = at.getRootNode();
    at = at.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  }
  return navigator.language;
}

/** Texts of one language, with its formats for numbers and times. */
export class Language {
  readonly locale: string;
  /** Set for right-to-left texts; otherwise the page decides. */
  readonly direction: 'rtl' | undefined;
  readonly #texts: Partial<Texts>;
  readonly #plural: Intl.PluralRules;
  readonly #number: Intl.NumberFormat;

  constructor(locale: string, texts: Partial<Texts>) {
    try {
      this.#plural = new Intl.PluralRules(locale);
      this.locale = locale;
    } catch {
      // `lang="english"` is not a valid language tag.
      this.#plural = new Intl.PluralRules((this.locale = 'en'));
    }
    this.direction = found(this.locale) === 'ar' ? 'rtl' : undefined;
    this.#number = new Intl.NumberFormat(this.locale);
    this.#texts = texts;
  }

  /** A text. `n` selects the plural form; `shown` is the displayed number if it differs, as in "99+". */
  say(key: Key, n = 0, shown = this.number(n), title = ''): string {
    const entry: string | Forms = this.#texts[key] ?? english[key];
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
/** The last language and its inputs. Equal inputs return the same object, so that unchanged items are not rendered. */
let last: unknown[] = [];

/** The language of a locale, with the texts loaded so far; `arrived` is called once if more have loaded. */
export function language(locale: string, own: Partial<Texts> | undefined, arrived: () => void): Language {
  const name = found(locale);
  const texts = loaded.get(name);
  const load = loaders[name];
  if (!texts && load) {
    // If loading fails, English stays.
    load().then(
      ({ default: texts }) => {
        loaded.set(name, texts);
        arrived();
      },
      () => {},
    );
  }
  // A language without texts gets English texts and English plurals.
  const tag = load || own || name === 'en' ? locale : 'en';
  const made = [tag, texts, own];
  if (!made.every((part, at) => part === last[at])) last = [...made, new Language(tag, { ...texts, ...own })];
  return last[3] as Language;
}
