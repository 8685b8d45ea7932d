// Observable values.

import type { Readable } from './types.js';

/** Equal as JSON. Both values come from JSON with the same order of keys. */
export const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Compares lists by element, because many elements are the same objects. */
function alike(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other || same(one, other);
  return one.length === other.length && one.every((entry, place) => entry === other[place] || same(entry, other[place]));
}

/** A set of listeners. */
export class Ears<T = void> {
  #ears = new Set<{ heard: (of: T) => void }>();

  /** Returns a function that unsubscribes, and returns whether it was still subscribed. */
  subscribe(heard: (of: T) => void): () => boolean {
    const ear = { heard };
    this.#ears.add(ear);
    return () => this.#ears.delete(ear);
  }

  get count(): number {
    return this.#ears.size;
  }

  /** Reports an error of a listener, but still calls the others. */
  tell(of: T): void {
    for (const { heard } of [...this.#ears]) {
      try {
        heard(of);
      } catch (problem) {
        queueMicrotask(() => {
          throw problem;
        });
      }
    }
  }
}

export class Cell<T extends object> implements Readable<T> {
  #value: T;
  #ears = new Ears();
  #watched: (isWatched: boolean) => void;

  /** `watched` is called when the first subscriber arrives and when the last one leaves. */
  constructor(value: T, watched: (isWatched: boolean) => void) {
    this.#value = value;
    this.#watched = watched;
  }

  // Bound functions, so that they can be passed on, for example to `useSyncExternalStore`.
  get = (): T => this.#value;

  subscribe = (changed: () => void): (() => void) => {
    const leave = this.#ears.subscribe(changed);
    if (this.#ears.count === 1) this.#watched(true);
    return () => {
      if (leave() && this.#ears.count === 0) this.#watched(false);
    };
  };

  get isWatched(): boolean {
    return this.#ears.count > 0;
  }

  /** Sets a value. Equal parts stay the same objects; if all parts are equal, nothing changes. */
  set(value: T): void {
    const before = this.#value as Record<string, unknown>;
    const after = { ...value } as Record<string, unknown>;
    let isSame = Object.keys(before).length === Object.keys(after).length;
    for (const name in after) {
      if (alike(before[name], after[name])) after[name] = before[name];
      else isSame = false;
    }
    if (isSame) return;
    this.#value = after as T;
    this.#ears.tell();
  }
}
