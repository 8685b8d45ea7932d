// Runs tasks one after the other.

export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when all earlier tasks have ended, even with errors; resolves with its result. */
  take(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}
