// Decides which of several overviews is the newest and is shown.
//
// Two overviews cannot be compared: cursors are opaque, and a mark does not move them. But subscription events
// (`overviewChanged`) arrive in order, and the last state always arrives; and a response is newer than every event that
// arrived before its request. If an event arrived while the request was in flight, either may be newer: the response is
// dropped, because if it was newer, an event follows.

import { same } from './readable.js';
import { Timer } from './timer.js';
import type { CountsFragment } from './operations.js';

/**
 * An event shortly after a mark's response may be older than the response; a newer one then follows within 100 ms.
 * Events are held back for this time, in milliseconds, so that no outdated count flashes.
 */
const SETTLES_IN = 150;

/** By this time, in milliseconds, an event has confirmed the mark, unless another change has reverted it before. */
const CONFIRMED_IN = 1_000;

export class Keeper {
  shown: CountsFragment | undefined;
  /** The overview of the last event; undefined while no subscription is active. */
  told: CountsFragment | undefined;
  #held: CountsFragment | undefined;
  #turn = 0;
  /** The turn in which the latest accepted overview arrived. */
  #cameIn = 0;
  #settling = new Timer();
  #confirming = new Timer();
  #show: (counts: CountsFragment) => void;
  #poll: () => void;

  /** `show` gets each overview to display. `poll` must request one, if only the server can tell the current one. */
  constructor(show: (counts: CountsFragment) => void, poll: () => void) {
    this.#show = show;
    this.#poll = poll;
  }

  /** Call before a request that returns an overview; pass the result to `answered`. */
  asked(): number {
    return ++this.#turn;
  }

  /** Takes the response to a mark or a poll. */
  answered(counts: CountsFragment, askedIn: number, isMark = true): void {
    if (askedIn > this.#cameIn) {
      this.#cameIn = ++this.#turn;
      if (isMark) this.#settling.set(SETTLES_IN, () => this.#held && this.#put(this.#held));
      this.#put(counts);
    }
    if (isMark) this.#confirming.set(CONFIRMED_IN, () => same(this.shown, this.told) || this.#poll());
  }

  /** Takes an event of the subscription. */
  tell(counts: CountsFragment): void {
    this.told = counts;
    this.#cameIn = ++this.#turn;
    this.#confirming.clear();
    if (this.#settling.isSet) this.#held = counts;
    else this.#put(counts);
  }

  /** The subscription has ended: only responses count. */
  lost(): void {
    this.told = undefined;
  }

  forget(): void {
    this.#settling.clear();
    this.#confirming.clear();
    this.#held = this.shown = this.told = undefined;
    this.#cameIn = ++this.#turn;
  }

  /** Shows an overview and drops the one held back, which is older. */
  #put(counts: CountsFragment): void {
    this.#held = undefined;
    this.shown = counts;
    this.#show(counts);
  }
}
