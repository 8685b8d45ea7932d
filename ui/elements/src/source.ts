// Stores of elements. Elements with the same settings share a store, which then sends requests and connects once.

import { Tidings, type Options } from '../../client/src/index.ts';

export type Token = Options['token'];

/** An element's settings. */
export interface Wish {
  /** The server's address; default: where these scripts came from. */
  server?: string | null;
  token?: Token | null | undefined;
  types?: readonly string[] | undefined;
  cap?: number | undefined;
  /** The page's own store; the page closes it. */
  store?: Tidings | null;
}

interface Held {
  store: Tidings;
  holders: number;
}

const held = new Map<Token, Map<string, Held>>();

/** A reference to a store. Call `release` once; the last release closes the store. */
export interface Hold {
  store: Tidings;
  release(): void;
}

/** The store for these settings; undefined without a token function. */
export function hold({ server, token, types, cap, store }: Wish): Hold | undefined {
  if (store) return { store, release() {} };
  if (!token) return undefined;
  const address = new URL(server || '/', import.meta.url).origin;
  const key = JSON.stringify([address, types, cap]);
  let ofToken = held.get(token);
  if (!ofToken) held.set(token, (ofToken = new Map()));
  let entry = ofToken.get(key);
  if (!entry) ofToken.set(key, (entry = { store: new Tidings({ server: address, token, types, cap }), holders: 0 }));
  const { store: shared } = entry;
  entry.holders++;
  return {
    store: shared,
    release() {
      // Moving an element removes and adds it in the same task, so release later.
      setTimeout(() => {
        if (--entry.holders > 0) return;
        ofToken.delete(key);
        if (ofToken.size === 0 && held.get(token) === ofToken) held.delete(token);
        shared.close();
      });
    },
  };
}

/** Parses `types="comment release"`: codes separated by spaces or commas. */
export function codes(attribute: string | null): string[] | undefined {
  const found = attribute?.split(/[\s,]+/).filter(Boolean);
  return found?.length ? found : undefined;
}
