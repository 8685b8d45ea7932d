// Something that is due.

/** The most that browsers wait; a longer time is taken for none at all. */
const MOST = 2 ** 31 - 1;

/** One thing at a time. */
export class Timer {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #at = 0;

  get isSet(): boolean {
    return this.#timer !== undefined;
  }

  /** Does `due` in so many milliseconds, instead of what was due. */
  set(millis: number, due: () => void): void {
    this.clear();
    this.#at = Date.now() + millis;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      due();
    }, Math.min(millis, MOST));
  }

  /** The same, unless something is due before. */
  setSooner(millis: number, due: () => void): void {
    if (!this.isSet || Date.now() + millis < this.#at) this.set(millis, due);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
