// Which language an element uses, and when it changes.

/** The language of an element: its own attribute, the nearest `lang`, or the browser's language. */
export function localeOf(element: Element): string {
  let lang = element.getAttribute('locale');
  for (let at = element; !lang && at; at = (at.getRootNode() as ShadowRoot).host) {
    lang = at.closest('[lang]')?.getAttribute('lang') ?? null;
  }
  return lang || navigator.language;
}

/** A language tag as the browser understands it; English if it is none. Many pages write `zh_TW` for `zh-TW`. */
export function parse(tag: string): Intl.Locale {
  try {
    return new Intl.Locale(tag.replace(/_/g, '-'));
  } catch {
    return new Intl.Locale('en');
  }
}

/**
 * The best of the `known` tags, if any, by the lookup of RFC 4647, which shortens the tag until one is known. Likely
 * subtags come first, because a region implies a script: zh-TW becomes zh-Hant-TW, then zh-Hant.
 */
export function lookUp(locale: Intl.Locale, known: object): string | undefined {
  let tag = locale.maximize().baseName;
  while (tag && !(tag in known)) tag = tag.replace(/-?\w+$/, '');
  return tag || undefined;
}

const watchers = new Map<Element, () => void>();
/** One observer for all elements. */
let observer: MutationObserver | undefined;

/** Calls `changed` after a change of `lang` or `dir` that may concern the element, until `unwatch`. */
export function watch(element: Element, changed: () => void) {
  watchers.set(element, changed);
  observer ??= new MutationObserver(() => watchers.forEach((changed) => changed()));
  // An observer of a document does not see into shadow roots.
  for (let at: Node | undefined = element; at; at = (at as ShadowRoot).host) {
    at = at.getRootNode();
    observer.observe(at, { subtree: true, attributeFilter: ['lang', 'dir'] });
  }
}

/** The observer stops after the last element. */
export function unwatch(element: Element) {
  watchers.delete(element);
  if (watchers.size === 0) observer?.disconnect();
}
