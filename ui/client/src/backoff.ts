// Delays between retries.

/** Exponential back-off with jitter: a random time between half of the current delay and all of it. */
export class Backoff {
  #count = 0;
  #first: number;
  #most: number;

  /** The first and the longest delay, in milliseconds. */
  constructor(first: number, most: number) {
    this.#first = first;
    this.#most = most;
  }

  next(): number {
    return jitter(Math.min(this.#first * 2 ** this.#count++, this.#most));
  }

  reset(): void {
    this.#count = 0;
  }
}

export const jitter = (millis: number): number => millis * (0.5 + Math.random() / 2);
