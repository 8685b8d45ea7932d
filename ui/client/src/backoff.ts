// How long to wait before trying again.

/** Ever longer, and never the same for all clients at once: between half of and all of a time that doubles. */
export class Backoff {
  #count = 0;
  #first: number;
  #most: number;

  /** Milliseconds. */
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
