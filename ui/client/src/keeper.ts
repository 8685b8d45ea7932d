// Which of several overviews is shown.
//
// Cursors are opaque and a mark moves none, so nothing in two overviews says which is newer. What is known: those that the server
// tells of (`overviewChanged`) come in order, and the last state always comes; an answer is newer than what had come when it was
// asked for. An answer during whose way something else has come may be either, and is passed over: where it was newer, the server
// tells of it.

import { same } from './readable.js';
import { Timer } from './timer.js';
import type { CountsFragment } from './operations.js';

/**
 * What the server tells right after an answer may have been on its way before it, and is followed by what is newer within a tenth
 * of a second: waiting for that shows no old number in between. Milliseconds.
 */
const SETTLES_IN = 150;

/** By then the server has told of what a mark has changed, unless somebody has changed it back before it could. Milliseconds. */
const CONFIRMED_IN = 1_000;

export class Keeper {
  shown: CountsFragment | undefined;
  /** What the server has told last; nothing while nobody tells. */
  told: CountsFragment | undefined;
  #held: CountsFragment | undefined;
  #turn = 0;
  /** The turn in which what is known last has come. */
  #cameIn = 0;
  #settling = new Timer();
  #confirming = new Timer();
  #show: (counts: CountsFragment) => void;
  #poll: () => void;

  /** `show` is called with what is to be shown, `poll` where nobody but the server can say what that is. */
  constructor(show: (counts: CountsFragment) => void, poll: () => void) {
    this.#show = show;
    this.#poll = poll;
  }

  /** Something is asked that is answered with an overview: what `answered` wants to know. */
  asked(): number {
    return ++this.#turn;
  }

  /** The answer to a mark, or a poll, that was asked for in a turn. */
  answered(counts: CountsFragment, askedIn: number, isMark = true): void {
    if (askedIn > this.#cameIn) {
      this.#cameIn = ++this.#turn;
      if (isMark) this.#settling.set(SETTLES_IN, () => this.#held && this.#put(this.#held));
      this.#put(counts);
    }
    if (isMark) this.#confirming.set(CONFIRMED_IN, () => same(this.shown, this.told) || this.#poll());
  }

  /** The server has told of it. */
  tell(counts: CountsFragment): void {
    this.told = counts;
    this.#cameIn = ++this.#turn;
    this.#confirming.clear();
    if (this.#settling.isSet) this.#held = counts;
    else this.#put(counts);
  }

  /** Nobody tells of changes any more: what is answered counts. */
  lost(): void {
    this.told = undefined;
  }

  forget(): void {
    this.#settling.clear();
    this.#confirming.clear();
    this.#held = this.shown = this.told = undefined;
    this.#cameIn = ++this.#turn;
  }

  /** Shows it; what was held back is older. */
  #put(counts: CountsFragment): void {
    this.#held = undefined;
    this.shown = counts;
    this.#show(counts);
  }
}
