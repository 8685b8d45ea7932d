// What all parts of the page have in common.

import { LitElement } from 'lit';

import { ask, told } from '../api.js';
import { go, to } from '../route.js';

/** How long a filter must rest before it is used, in milliseconds. */
const REST_MS = 400;

/** A part of the page without a shadow root, so that labels, descriptions and rules reach across parts. */
export class Part extends LitElement {
  createRenderRoot() {
    return this;
  }

  /** Changes what is shown. */
  set(changes) {
    Object.assign(this, changes);
    this.requestUpdate();
  }

  /** Tells everybody what came of something, by sight and by ear. */
  say(text, kind = 'good') {
    dispatchEvent(new CustomEvent('tidings-said', { detail: { text, kind } }));
  }
}

/** A place of the desk. `rest` is what follows it in the address, `query` what the address asks of it. */
export class Page extends Part {
  static properties = { rest: { attribute: false }, query: { attribute: false }, caller: { attribute: false } };

  get isAdmin() {
    return this.caller.role === 'ADMIN';
  }

  /** Asks for what is shown; a later call makes the answers of those before be passed over. Gives the data, or null. */
  async load(document, variables) {
    const turn = (this.loadCount = (this.loadCount ?? 0) + 1);
    this.set({ isLoading: true, loadFailure: null });
    try {
      const data = await ask(document, variables);
      return turn === this.loadCount ? data : null;
    } catch (error) {
      if (turn === this.loadCount) this.set({ loadFailure: told(error) });
      return null;
    } finally {
      if (turn === this.loadCount) this.set({ isLoading: false });
    }
  }

  /** What was typed last is no reason to come back to a page that was left. */
  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.narrowing);
  }

  /** Filters by other values, which the address keeps. */
  narrow(place, changes) {
    clearTimeout(this.narrowing);
    const query = { ...Object.fromEntries(this.query), ...this.typed, ...changes };
    this.typed = {};
    go(to(place, [], query), { replaces: true });
  }

  /** The same as soon as what is typed has rested. */
  narrowSoon(place, changes) {
    this.typed = { ...this.typed, ...changes };
    clearTimeout(this.narrowing);
    this.narrowing = setTimeout(() => this.narrow(place, {}), REST_MS);
  }

  /** Does something once, however often it is asked for meanwhile. What fails is shown, at its field where that is known. */
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
      else this.say(told(error), 'bad');
      return undefined;
    } finally {
      this.set({ isBusy: false });
    }
  }
}
