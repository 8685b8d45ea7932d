// Announces new items to screen readers through a live region, which must exist before its first text.

import type { Item } from '../../client/src/index.ts';
import type { Language } from './texts.ts';

/** The pause between announcements in milliseconds, so that many items make one announcement. */
const PAUSE = 5000;

export class Announcer {
  readonly #region: HTMLElement;
  readonly #language: () => Language;
  #items: Item[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isResting = false;

  constructor(region: HTMLElement, language: () => Language) {
    this.#region = region;
    this.#language = language;
  }

  /** Announces an item, now or with others after the pause. */
  item(item: Item) {
    this.#items.push(item);
    if (!this.#isResting) this.#speak();
  }

  #speak() {
    const { length } = this.#items;
    const [first] = this.#items;
    // Screen readers ignore an unchanged text, so it is cleared in between.
    this.#region.textContent = first
      ? length > 1
        ? this.#language().say('newItems', length)
        : this.#language().say('newItem', 1, '', first.title)
      : '';
    this.#items = [];
    this.#isResting = Boolean(first);
    if (first) this.#timer = setTimeout(() => this.#speak(), PAUSE);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#items = [];
    this.#isResting = false;
    this.#region.textContent = '';
  }
}
