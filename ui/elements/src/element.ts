// The base of all three elements: store, language, and rendering.

import type { Item, Readable, Tidings } from '../../client/src/index.ts';
import base from './base.css';
import { localeOf, unwatch, watch } from './locale.ts';
import { codes, hold, type Hold, type Token } from './source.ts';
import { language, type Language, type Texts } from './texts.ts';

/** Properties that pages set, and that the bell sets on its inbox. */
const PROPERTIES = ['token', 'texts', 'icons', 'renderItem', 'closes'] as const;

/** On a server there is no DOM, but the classes must still be importable. */
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/** A style sheet from a string. Unlike `<style>` and `style` attributes, it needs no `unsafe-inline` in the policy. */
export function sheet(text: string): CSSStyleSheet {
  const made = new CSSStyleSheet();
  made.replaceSync(text);
  return made;
}

const sheets = new Map<string, CSSStyleSheet>();

/** Returns the same sheet for the same text. */
function shared(text: string): CSSStyleSheet {
  let found = sheets.get(text);
  if (!found) sheets.set(text, (found = sheet(text)));
  return found;
}

export abstract class StoreElement extends Base {
  /** Changes of `lang` are observed with those above the element. */
  static observedAttributes = ['server', 'types', 'cap', 'locale', 'placement', 'tabs', 'no-preferences'];

  /** Returns a token of the user; called whenever one is needed. */
  declare token: Token | null | undefined;
  /** The page's own texts, as replacements or for another language. */
  declare texts: Partial<Texts> | undefined;
  /** Paths of 24 × 24 icons, by the icon names of message types. */
  declare icons: Record<string, string> | undefined;
  /** Renders the part of an item below its title: a string or an element, or undefined for the default. */
  declare renderItem: ((item: Item) => unknown) | undefined;
  /** Closes the surrounding panel. Set by the bell on its inbox; the bell then also announces new items itself. */
  declare closes: (() => void) | undefined;

  protected readonly root: ShadowRoot;
  protected language!: Language;
  #store: Tidings | null = null;
  #hold: Hold | undefined;
  #ends: (() => void)[] = [];
  #isQueued = false;

  constructor(css: string) {
    super();
    this.root = this.attachShadow({ mode: 'open' });
    this.root.adoptedStyleSheets = [shared(base), shared(css)];
    // A page may have set properties before the class was defined; they would shadow the accessors.
    for (const name of [...PROPERTIES, 'store'] as const) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name];
      delete this[name];
      (this as Record<string, unknown>)[name] = value;
    }
  }

  static {
    for (const name of PROPERTIES) {
      const values = new WeakMap<object, unknown>();
      Object.defineProperty(this.prototype, name, {
        get() {
          return values.get(this);
        },
        set(this: StoreElement, value: unknown) {
          if (values.get(this) === value) return;
          values.set(this, value);
          this.later();
        },
      });
    }
  }

  /** The visible store: the page's own, or one made from `server` and `token`. */
  get store(): Tidings | null {
    return this.#store ?? this.#hold?.store ?? null;
  }
  /** Also accepts a store of `@tidings/client`, another class with the same interface. */
  set store(store: Pick<Tidings, keyof Tidings> | null) {
    if (store === this.#store) return;
    this.#store = store as Tidings | null;
    this.later();
  }

  /** Signs the user out, in all tabs. */
  signOut() {
    this.store?.signOut();
  }

  connectedCallback() {
    watch(this, this.later);
    this.refresh();
  }

  disconnectedCallback() {
    unwatch(this);
    this.detach();
  }

  attributeChangedCallback() {
    this.later();
  }

  /** Subscribes to the store; returns functions that unsubscribe. */
  protected abstract attach(store: Tidings): (() => void)[];
  /** Renders the current state. */
  protected abstract render(): void;

  /** Schedules a render; several changes cause only one. */
  protected later = () => {
    if (this.#isQueued) return;
    this.#isQueued = true;
    queueMicrotask(() => {
      this.#isQueued = false;
      this.refresh();
    });
  };

  protected follow(readable: Readable<unknown>): () => void {
    return readable.subscribe(this.later);
  }

  protected get codes(): string[] | undefined {
    return codes(this.getAttribute('types'));
  }

  protected detach() {
    for (const end of this.#ends) end();
    this.#ends = [];
    this.#hold?.release();
    this.#hold = undefined;
  }

  /** Renders now, with the current language and store. */
  protected refresh() {
    if (!this.isConnected) return;
    this.language = language(localeOf(this), this.texts, this.later, this.language);
    const cap = Number(this.getAttribute('cap'));
    const next = hold({
      server: this.getAttribute('server'),
      token: this.token,
      types: this.codes,
      cap: Number.isInteger(cap) && cap > 0 ? cap : undefined,
      store: this.#store,
    });
    if (next?.store === this.#hold?.store) {
      next?.release();
    } else {
      this.detach();
      this.#hold = next;
      if (next) this.#ends = this.attach(next.store);
    }
    this.render();
  }

  /** Dispatches an event that crosses shadow roots; returns false if the page has prevented the default. */
  protected tell(name: string, detail: object): boolean {
    return this.dispatchEvent(new CustomEvent(`tidings-${name}`, { detail, bubbles: true, composed: true, cancelable: true }));
  }
}
