// What was on the screen, for the moment until the server has spoken. It is kept in the tab's session alone, under the name of
// whom it is of, and never with a token.

import { isCounts, isItems } from './shape.js';
import type { CountsFragment } from './operations.js';
import type { Store } from './surroundings.js';
import type { Item } from './types.js';

export interface Snapshot {
  name: string;
  counts: CountsFragment;
  /** By their filters: the first page of each. */
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

  /** That of whom the name is of; those of others are removed. */
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
      // There is no room: then there is none to paint from.
      this.clear();
    }
  }

  /** Removes all of this server, or those that are. */
  clear(is: (text: string) => boolean = () => true): void {
    try {
      const store = this.#store;
      for (const key of Object.keys(store ?? {})) if (key.startsWith(this.#prefix) && is(store!.getItem(key)!)) store!.removeItem(key);
    } catch {
      // It may be forbidden since.
    }
  }
}
