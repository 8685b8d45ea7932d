// The bell: a button with a count, and a panel with code that loads on demand. This file uses no template library, so
// that the count appears after the first few kilobytes.

import type { Item, Overview, Tidings } from '../../client/src/index.ts';
import { Announcer } from './announcer.ts';
import css from './bell.css';
import { sheet, StoreElement } from './element.ts';
import type { TidingsInbox } from './inbox.ts';
import { place } from './place.ts';

/** Attributes that the bell passes on to its inbox. */
const ATTRIBUTES = ['tabs', 'types', 'no-preferences'];
const SLOTS = ['header', 'empty', 'footer'];

/** Parts of the inbox that pages can style through the bell. */
const PARTS =
  'header,heading,button,toolbar,tabs,tab,tab-selected,list,item,item-unread,title,body,meta,' +
  'avatar,icon,actions,action,dot,empty,banner,footer,switch';

export const BELL = 'M18 9a6 6 0 1 0-12 0c0 6-2.5 7-2.5 7h17S18 15 18 9M10 20a2.2 2.2 0 0 0 4 0';

const SVG = 'http://www.w3.org/2000/svg';

/** Creates an element with attributes. Without a part name it is visually hidden. */
function make(tag: string, part: string, attributes: Record<string, string>): HTMLElement {
  const made = document.createElement(tag);
  made.className = part || 'vh';
  for (const [name, value] of Object.entries(part ? { part, ...attributes } : attributes)) made.setAttribute(name, value);
  return made;
}

export class TidingsBell extends StoreElement {
  readonly #button: HTMLElement;
  readonly #badge: HTMLElement;
  readonly #panel: HTMLElement;
  readonly #announcer: Announcer;
  /** The position of the panel. */
  readonly #place = sheet(':host{}');
  #inbox: TidingsInbox | undefined;
  #told: Overview | undefined;

  constructor() {
    super(css);
    this.root.adoptedStyleSheets.push(this.#place);
    this.#badge = make('span', 'badge', { 'aria-hidden': 'true' });
    this.#button = make('button', 'bell', {
      type: 'button',
      'aria-haspopup': 'dialog',
      'aria-expanded': 'false',
      'aria-controls': 'panel',
    });
    this.#panel = make('div', 'panel', { id: 'panel', role: 'dialog', tabindex: '-1', popover: 'manual' });
    const status = make('div', '', { role: 'status', 'aria-live': 'polite' });
    this.#announcer = new Announcer(status, () => this.language);
    const slot = document.createElement('slot');
    slot.name = 'bell';
    const icon = slot.appendChild(document.createElementNS(SVG, 'svg'));
    icon.setAttribute('viewBox', '0 0 24 24');
    icon.setAttribute('aria-hidden', 'true');
    icon.appendChild(document.createElementNS(SVG, 'path')).setAttribute('d', BELL);
    this.#button.append(slot, this.#badge);
    this.root.append(this.#button, status, this.#panel);
    this.#listen();
  }

  #listen() {
    const button = this.#button;
    button.onclick = () => void this.toggle();
    // Preload the panel's code.
    button.onpointerenter = button.onfocus = () => void parts().catch(() => {});
    button.onanimationend = () => button.classList.remove('rings');
    this.root.addEventListener('keydown', (event) => {
      if ((event as KeyboardEvent).key !== 'Escape' || event.defaultPrevented || !this.isOpen) return;
      event.preventDefault();
      event.stopPropagation();
      this.hide();
    });
    this.root.addEventListener('focusout', (event) => {
      const next = (event as FocusEvent).relatedTarget as Node | null;
      // Content that the page puts into slots counts as part of the panel.
      if (next && !this.contains(next) && !this.root.contains(next)) this.hide(false);
    });
  }

  get isOpen(): boolean {
    return this.#panel.classList.contains('open');
  }

  focus(options?: FocusOptions) {
    this.#button.focus(options);
  }

  signOut() {
    this.hide();
    super.signOut();
  }

  disconnectedCallback() {
    this.hide(false);
    super.disconnectedCallback();
  }

  protected attach(store: Tidings) {
    return [
      this.follow(store.overview),
      store.onItem((item) => this.#heard(item)),
      store.onProblem((problem) => this.tell('error', { problem })),
    ];
  }

  protected detach() {
    super.detach();
    this.#announcer.stop();
    this.#told = undefined;
  }

  #heard(item: Item) {
    this.#button.classList.remove('rings');
    requestAnimationFrame(() => this.#button.classList.add('rings'));
    this.#announcer.item(item);
    this.tell('item', { item });
  }

  protected render() {
    const { language } = this;
    const overview = this.store?.overview.get();
    const { count, exact } = overview?.unread ?? { count: 0, exact: true };
    const shown = language.count({ count, exact });
    this.#badge.hidden = count === 0;
    this.#badge.textContent = shown;
    this.#button.setAttribute('aria-label', count > 0 ? language.say('bell', count, shown) : language.say('title'));
    this.#panel.setAttribute('aria-label', language.say('title'));
    if (this.#inbox) this.#pass(this.#inbox);
    // The page's direction may have changed.
    if (this.isOpen) this.#move();
    if (overview && overview !== this.#told && overview.status !== 'loading') {
      this.#told = overview;
      this.tell('overview', { overview });
    }
  }

  toggle() {
    return this.isOpen ? this.hide() : this.show();
  }

  /** Opens the panel and moves the focus into it. */
  async show() {
    if (this.isOpen || !this.isConnected) return;
    const panel = this.#panel;
    panel.classList.add('open');
    this.#button.setAttribute('aria-expanded', 'true');
    panel.showPopover?.();
    this.#move();
    panel.focus({ preventScroll: true });
    addEventListener('resize', this.#move);
    addEventListener('scroll', this.#move, true);
    addEventListener('pointerdown', this.#outside, true);
    try {
      this.#inbox ??= document.createElement((await parts()).inbox) as TidingsInbox;
    } catch {
      // The code could not be loaded (the server is down), so there is nothing to show. The next click tries again.
      return this.hide();
    }
    if (!this.isOpen) return;
    this.#pass(this.#inbox);
    panel.append(this.#inbox);
  }

  /** Closes the panel. If the focus was inside, it returns to the bell. */
  hide(isFocusReturned = this.root.activeElement !== null) {
    if (!this.isOpen) return;
    const panel = this.#panel;
    removeEventListener('resize', this.#move);
    removeEventListener('scroll', this.#move, true);
    removeEventListener('pointerdown', this.#outside, true);
    panel.classList.remove('open');
    this.#button.setAttribute('aria-expanded', 'false');
    if (isFocusReturned) this.focus({ preventScroll: true });
    // In browsers without popovers, the class alone shows and hides the panel.
    if (panel.isConnected) panel.hidePopover?.();
    this.#inbox?.remove();
  }

  #move = () => {
    const { style } = this.#place.cssRules[0] as CSSStyleRule;
    place(style, this.#button, this.#panel, this.getAttribute('placement') ?? 'bottom-end');
  };

  #outside = (event: Event) => {
    if (!event.composedPath().includes(this)) this.hide(false);
  };

  /** Passes attributes, properties and slots on to the inbox. */
  #pass(inbox: TidingsInbox) {
    for (const name of ATTRIBUTES) {
      const value = this.getAttribute(name);
      if (value === null) inbox.removeAttribute(name);
      else if (value !== inbox.getAttribute(name)) inbox.setAttribute(name, value);
    }
    if (inbox.getAttribute('locale') !== this.language.locale) inbox.setAttribute('locale', this.language.locale);
    inbox.setAttribute('exportparts', PARTS);
    const { store, texts, icons, renderItem } = this;
    Object.assign(inbox, { store, texts, icons, renderItem, closes: this.#close });
    for (const name of SLOTS) {
      const given = this.querySelector(`:scope > [slot="${name}"]`);
      const slot = inbox.querySelector<HTMLSlotElement>(`slot[name="${name}"]`);
      // An empty slot would hide the inbox's default content.
      if (!given) slot?.remove();
      else if (!slot) Object.assign(inbox.appendChild(document.createElement('slot')), { name, slot: name });
    }
  }

  #close = () => this.hide(true);
}

let fetched: Promise<typeof import('./panel.ts')> | undefined;

/** The inbox and the preferences; loaded once, and again only after a failure. */
export function parts() {
  fetched ??= import('./panel.ts').catch((error) => {
    fetched = undefined;
    throw error;
  });
  return fetched;
}
