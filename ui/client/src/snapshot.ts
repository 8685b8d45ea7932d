// The last visible state, shown on a reload until the server responds. It is stored in the tab's session only, under
// the user's name, and never contains a token.

import { isCounts, isItems } from './shape.js';
import type { CountsFragment } from './operations.js';
import type { Store } from './surroundings.js';
import type { Item } from './types.js';

export interface Snapshot {
  name: string;
  counts: CountsFragment;
  /** The first page of each list, by filter. */
  lists: Record<string, Item[]>;
}

export class Snapshots {
  #store: Store | undefined;
  #prefix: string;
  #key: string;

  constructor(store: Store | undefined, server: string, wish: string) {
    this.#store = store;
    this.#prefix = `tidings:1:${server}:`;
    this.#key = this.#prefix + wish;
  }

  /** The user's snapshot. Removes those of other users. */
  read(name: string): Snapshot | undefined {
    this.clear((text) => !text.startsWith(JSON.stringify({ name }).slice(0, -1)));
    try {
      const found = JSON.parse(this.#store?.getItem(this.#key) ?? 'null');
      if (found?.name !== name || !isCounts(found.counts)) return undefined;
      const lists = Object.entries(found.lists ?? {}).filter(([, items]) => isItems(items));
      return { name, counts: found.counts, lists: Object.fromEntries(lists) as Snapshot['lists'] };
    } catch {
      return undefined;
    }
  }

  write(snapshot: Snapshot): void {
    try {
      this.#store?.setItem(this.#key, JSON.stringify(snapshot));
    } catch {
      // The storage is full: do without a snapshot.
      this.clear();
    }
  }

  /** Removes the snapshots of this server for which `is` returns true; by default all. */
  clear(is: (text: string) => boolean = () => true): void {
    try {
      const store = this.#store;
      for (const key of Object.keys(store ?? {})) if (key.startsWith(this.#prefix) && is(store!.getItem(key)!)) store!.removeItem(key);
    } catch {
      // The browser may have forbidden access meanwhile.
    }
  }
}
