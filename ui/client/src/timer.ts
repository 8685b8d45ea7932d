// Timers.

/** The longest time-out of browsers; with a longer one they fire at once. */
const MOST = 2 ** 31 - 1;

/** A timer for one callback at a time. */
export class Timer {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #at = 0;

  get isSet(): boolean {
    return this.#timer !== undefined;
  }

  /** Calls `due` after `millis`, and cancels the previous callback. */
  set(millis: number, due: () => void): void {
    this.clear();
    this.#at = Date.now() + millis;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      due();
    }, Math.min(millis, MOST));
  }

  /** The same, unless an earlier callback is set. */
  setSooner(millis: number, due: () => void): void {
    if (!this.isSet || Date.now() + millis < this.#at) this.set(millis, due);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
