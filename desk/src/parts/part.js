// The base classes of all parts of the page.

import { LitElement } from 'lit';

import { ask, told } from '../api.js';
import { go, to } from '../route.js';

/** How long a filter must stay unchanged before it is applied, in milliseconds. */
const REST_MS = 400;

/** A part without a shadow root, so that labels, descriptions and style rules work across parts. */
export class Part extends LitElement {
  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    addEventListener('tidings-language', this.onLanguage);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener('tidings-language', this.onLanguage);
  }

  /** Renders the texts of another language. What was typed stays, because it is in properties and in the fields. */
  onLanguage = () => this.requestUpdate();

  /** Sets properties and renders again. */
  set(changes) {
    Object.assign(this, changes);
    this.requestUpdate();
  }

  /** Announces the result of an action, visibly and to screen readers. `text` returns the words of any language. */
  say(text, kind = 'good') {
    dispatchEvent(new CustomEvent('tidings-said', { detail: { text, kind } }));
  }
}

/**
 * Scrolls the current entry of a navigation to the middle. `scrollIntoView` would also move the start of the next Tab
 * there, past the link to the content.
 */
export function showCurrent(navigation) {
  const entry = navigation?.querySelector('[aria-current]');
  if (!entry) return;
  const [row, box] = [navigation.getBoundingClientRect(), entry.getBoundingClientRect()];
  navigation.scrollLeft += box.left + box.width / 2 - row.left - row.width / 2;
}

/** A page of the desk. `rest` is the path after its name, `query` the query of the address. */
export class Page extends Part {
  static properties = { rest: { attribute: false }, query: { attribute: false }, caller: { attribute: false } };

  get isAdmin() {
    return this.caller.role === 'ADMIN';
  }

  /** Loads data and returns it, or null on failure. Results of earlier calls are ignored. */
  async load(document, variables) {
    const turn = (this.loadCount = (this.loadCount ?? 0) + 1);
    this.set({ isLoading: true, loadFailure: null });
    try {
      const data = await ask(document, variables);
      return turn === this.loadCount ? data : null;
    } catch (error) {
      if (turn === this.loadCount) this.set({ loadFailure: error });
      return null;
    } finally {
      if (turn === this.loadCount) this.set({ isLoading: false });
    }
  }

  /** Text typed last must not navigate back to a page that was left. */
  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.narrowing);
  }

  /** Applies other filters and keeps them in the address. */
  narrow(place, changes) {
    clearTimeout(this.narrowing);
    const query = { ...Object.fromEntries(this.query), ...this.typed, ...changes };
    this.typed = {};
    go(to(place, [], query), { replaces: true });
  }

  /** The same, once the input has not changed for REST_MS. */
  narrowSoon(place, changes) {
    this.typed = { ...this.typed, ...changes };
    clearTimeout(this.narrowing);
    this.narrowing = setTimeout(() => this.narrow(place, {}), REST_MS);
  }

  /** Runs `work`; ignores further calls until it ends. Shows a failure, at its field if known. */
  async act(work) {
    if (this.isBusy) return undefined;
    this.set({ isBusy: true, failure: null });
    try {
      return await work();
    } catch (error) {
      this.set({ failure: error });
      await this.updateComplete;
      const wrong = this.querySelector('[aria-invalid=true]');
      if (wrong) wrong.focus();
      else this.say(() => told(error), 'bad');
      return undefined;
    } finally {
      this.set({ isBusy: false });
    }
  }
}
