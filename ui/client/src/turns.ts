// What is done one after the other.

export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Does it when all before it is done, well or not; gives what comes of it. */
  take(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}
