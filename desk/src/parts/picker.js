// Finds a user by a prefix of their id or name. Dispatches `tidings-picked` with the chosen user.

import { html, nothing } from 'lit';

import { ask, told } from '../api.js';
import { SearchUsers } from '../documents.js';
import { t } from '../texts.js';
import { Part } from './part.js';

/** How long the text must stay unchanged before the search, in milliseconds. */
const REST_MS = 200;

class Picker extends Part {
  /** `takes`: a text that matches no user may also be chosen, as an id. */
  static properties = { name: {}, label: {}, hint: {}, takes: { type: Boolean }, keeps: { type: Boolean } };

  constructor() {
    super();
    Object.assign(this, { text: '', found: [], at: -1, isOpen: false, turn: 0 });
  }

  render() {
    const { name, found, at, isOpen, text } = this;
    const list = `${name}-list`;
    const isShown = isOpen && text !== '';
    return html`<div class="field picker">
      <label for=${name}>${this.label}</label>
      <input id=${name} role="combobox" autocomplete="off" spellcheck="false" aria-autocomplete="list" aria-expanded=${String(isShown && found.length > 0)}
        aria-controls=${list} aria-activedescendant=${at >= 0 && isShown ? `${list}-${at}` : nothing} aria-describedby=${this.hint ? `${name}-hint` : nothing}
        placeholder=${t('picker.placeholder')} .value=${text} @input=${this.onInput} @keydown=${this.onKey} @focus=${() => this.set({ isOpen: true })}
        @blur=${() => this.set({ isOpen: false })}>
      <ul id=${list} role="listbox" aria-label=${t('picker.list')} ?hidden=${!isShown || found.length === 0}>
        ${found.map((user, place) => html`
          <li id="${list}-${place}" role="option" aria-selected=${String(place === at)} @pointerdown=${(event) => event.preventDefault()}
            @click=${() => this.pick(user)}><bdi>${user.name || user.id}</bdi> ${user.name ? html`<small class="code"><bdi>${user.id}</bdi></small>` : nothing}</li>`)}
      </ul>
      <p class="hint" role="status" id="${name}-says">${isShown ? this.said : ''}</p>
      ${this.hint ? html`<p class="hint" id="${name}-hint">${this.hint}</p>` : nothing}
    </div>`;
  }

  get said() {
    if (this.problem) return told(this.problem);
    if (this.isSearching) return '';
    if (this.found.length > 0) return t(this.found.length === 10 ? 'picker.many' : 'picker.found', { n: this.found.length });
    return this.takes ? t('picker.takes', { text: this.text }) : t('picker.none');
  }

  onInput = (event) => {
    this.set({ text: event.target.value, isOpen: true, at: -1, isSearching: true });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.search(), REST_MS);
  };

  async search() {
    const turn = ++this.turn;
    const text = this.text.trim();
    let [found, problem] = [[], null];
    try {
      if (text) found = (await ask(SearchUsers, { text })).searchUsers;
    } catch (error) {
      problem = error;
    }
    if (turn === this.turn) this.set({ found, problem, isSearching: false, at: -1 });
  }

  onKey = (event) => {
    const { found, at } = this;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length > 0) {
      event.preventDefault();
      this.set({ isOpen: true, at: (at + step + found.length + (at < 0 && step < 0 ? 1 : 0)) % found.length });
    } else if (event.key === 'Escape' && this.isOpen) {
      event.preventDefault();
      this.set({ isOpen: false });
    } else if (event.key === 'Enter') {
      event.preventDefault();
      this.enter();
    }
  };

  /** Picks the highlighted user, else the one with exactly this id, else the only one found. */
  async enter() {
    const text = this.text.trim();
    if (!text) return;
    if (this.isSearching) {
      clearTimeout(this.timer);
      await this.search();
    }
    const { found, at } = this;
    const user = found[at] ?? found.find(({ id }) => id === text) ?? (found.length === 1 ? found[0] : null);
    if (user) this.pick(user);
    else if (this.takes && found.length === 0) this.pick({ id: text, name: null });
  }

  pick(user) {
    const text = this.keeps ? user.name || user.id : '';
    this.set({ text, found: [], at: -1, isOpen: false });
    this.dispatchEvent(new CustomEvent('tidings-picked', { detail: user }));
  }
}
customElements.define('tidings-picker', Picker);
