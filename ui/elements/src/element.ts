// What all three elements have in common: a store, a language, and when they render.

import type { Item, Readable, Tidings } from '../../client/src/index.ts';
import base from './base.css';
import { codes, hold, type Hold, type Token } from './source.ts';
import { language, localeOf, type Language, type Texts } from './texts.ts';

/** Set by pages as properties, and by the bell for what is in it. */
const PROPERTIES = ['token', 'texts', 'icons', 'renderItem', 'closes'] as const;

/** There is no DOM where pages are rendered on a server; the classes must only exist there. */
const Base = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/** A style sheet from text; no `<style>` and no `style` attribute, so that a policy without `unsafe-inline` has nothing to refuse. */
export function sheet(text: string): CSSStyleSheet {
  const made = new CSSStyleSheet();
  made.replaceSync(text);
  return made;
}

const sheets = new Map<string, CSSStyleSheet>();

/** The same sheet for the same text. */
function shared(text: string): CSSStyleSheet {
  let found = sheets.get(text);
  if (!found) sheets.set(text, (found = sheet(text)));
  return found;
}

export abstract class StoreElement extends Base {
  static observedAttributes = ['server', 'types', 'cap', 'locale', 'lang', 'placement', 'tabs', 'no-preferences'];

  /** Gives a token for whoever is signed in; asked for whenever one is needed. */
  declare token: Token | null | undefined;
  /** Words of the page's own, instead of ours or for another language. */
  declare texts: Partial<Texts> | undefined;
  /** Paths of icons, 24 by 24, by the names that message types have. */
  declare icons: Record<string, string> | undefined;
  /** Makes what stands in an item below its title: text or an element. Undefined for what stands there by itself. */
  declare renderItem: ((item: Item) => unknown) | undefined;
  /** Closes what the element stands in. The bell sets it for its inbox, and then speaks of what is new itself. */
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
    // A page may have set them before the class was there; they would hide the accessors.
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

  /** The store that is shown: the page's own, or the one that was made from `server` and `token`. */
  get store(): Tidings | null {
    return this.#store ?? this.#hold?.store ?? null;
  }
  /** Also one of `@tidings/client`, which is another class of the same. */
  set store(store: Pick<Tidings, keyof Tidings> | null) {
    if (store === this.#store) return;
    this.#store = store as Tidings | null;
    this.later();
  }

  /** Forgets whoever was signed in, in all tabs. */
  signOut() {
    this.store?.signOut();
  }

  connectedCallback() {
    this.refresh();
  }

  disconnectedCallback() {
    this.detach();
  }

  attributeChangedCallback() {
    this.later();
  }

  /** Subscribes to what is shown of a store; what is returned ends it. */
  protected abstract attach(store: Tidings): (() => void)[];
  /** Shows what is there now. */
  protected abstract render(): void;

  /** Renders soon: several changes at once are one. */
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

  /** Renders now, in the language and with the store that are wanted now. */
  protected refresh() {
    if (!this.isConnected) return;
    this.language = language(localeOf(this), this.texts, this.later);
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

  /** An event of ours: it leaves shadow roots, and a page can prevent what follows. */
  protected tell(name: string, detail: object): boolean {
    return this.dispatchEvent(new CustomEvent(`tidings-${name}`, { detail, bubbles: true, composed: true, cancelable: true }));
  }
}
