// Says what is new to screen readers, through a live region that is there before anything is said.

import type { Item } from '../../client/src/index.ts';
import type { Language } from './texts.ts';

/** Between two announcements, in milliseconds: who gets a hundred items wants to hear it once. */
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

  /** Something has come. */
  item(item: Item) {
    this.#items.push(item);
    if (!this.#isResting) this.#speak();
  }

  #speak() {
    const { length } = this.#items;
    const [first] = this.#items;
    // The same text twice is a change only if it was away in between.
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
