// Which store an element shows. Elements of a page that want the same share one, so that it asks and connects once.

import { Tidings, type Options } from '../../client/src/index.ts';

export type Token = Options['token'];

/** What an element says of where its notifications come from. */
export interface Wish {
  /** Where Tidings is; where these scripts came from if it is left out. */
  server?: string | null;
  token?: Token | null | undefined;
  types?: readonly string[] | undefined;
  cap?: number | undefined;
  /** A store of the page's own, which the page closes. */
  store?: Tidings | null;
}

interface Held {
  store: Tidings;
  holders: number;
}

const held = new Map<Token, Map<string, Held>>();

/** A hold on a store. `release` it once; the last one closes it. */
export interface Hold {
  store: Tidings;
  release(): void;
}

/** The store of a wish; undefined as long as nobody has said how to get a token. */
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
      // An element that is moved leaves and comes back at once.
      setTimeout(() => {
        if (--entry.holders > 0) return;
        ofToken.delete(key);
        if (ofToken.size === 0 && held.get(token) === ofToken) held.delete(token);
        shared.close();
      });
    },
  };
}

/** `types="comment release"`: codes by spaces or commas. */
export function codes(attribute: string | null): string[] | undefined {
  const found = attribute?.split(/[\s,]+/).filter(Boolean);
  return found?.length ? found : undefined;
}
