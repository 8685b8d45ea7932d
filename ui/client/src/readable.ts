// A value that is watched.

import type { Readable } from './types.js';

/** Equal as JSON: what is compared comes from JSON, in the order in which it was asked for. */
export const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Lists by their entries, which are often the same objects. */
function alike(one: unknown, other: unknown): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other || same(one, other);
  return one.length === other.length && one.every((entry, place) => entry === other[place] || same(entry, other[place]));
}

/** Who wants to be told of something. */
export class Ears<T = void> {
  #ears = new Set<{ heard: (of: T) => void }>();

  /** What is returned ends it, and says whether it had not ended before. */
  subscribe(heard: (of: T) => void): () => boolean {
    const ear = { heard };
    this.#ears.add(ear);
    return () => this.#ears.delete(ear);
  }

  get count(): number {
    return this.#ears.size;
  }

  /** What somebody throws is reported, and keeps nobody else from being told. */
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

  /** `watched` is told of the first who subscribes, and of the last who goes. */
  constructor(value: T, watched: (isWatched: boolean) => void) {
    this.#value = value;
    this.#watched = watched;
  }

  // Both can be handed on by themselves, as to `useSyncExternalStore`.
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

  /** Shows another value. What is alike in it stays the same object, and so does the value where all of it is. */
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
