// What the store needs of where it runs. Browsers have all of it; elsewhere (React Native, Node.js) it does with less.

/** Where snapshots are kept: `sessionStorage`, or what has its entries as properties, too. */
export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Events of the page: whether it is shown, frozen, taken out of the cache of pages, and whether there is a network. */
export interface Page {
  readonly isHidden: boolean;
  /** Begins to listen; what is returned ends that. */
  listen(heard: { shown(): void; hidden(): void; frozen(): void; thawed(): void; online(): void }): () => void;
}

export interface Surroundings {
  fetch: typeof fetch;
  WebSocket?: typeof WebSocket | undefined;
  /** Without them every tab is for itself, and tells others nothing. */
  locks?: Pick<LockManager, 'request'> | undefined;
  BroadcastChannel?: typeof BroadcastChannel | undefined;
  storage?: Store | undefined;
  page?: Page | undefined;
}

/** Those of this browser, page or process. */
export function surroundings(): Surroundings {
  let storage: Store | undefined;
  try {
    storage = globalThis.sessionStorage;
  } catch {
    // Pages without an origin of their own, and those that users forbid to store anything.
  }
  return {
    fetch: (...of) => fetch(...of),
    WebSocket: globalThis.WebSocket,
    locks: globalThis.navigator?.locks,
    BroadcastChannel: globalThis.BroadcastChannel,
    storage,
    page: globalThis.document && page(),
  };
}

function page(): Page {
  return {
    get isHidden() {
      return document.hidden;
    },
    listen(heard) {
      const ended = new AbortController();
      const on = (name: string, ear: () => void, target: EventTarget = window) => target.addEventListener(name, ear, ended);
      on('visibilitychange', () => (document.hidden ? heard.hidden() : heard.shown()), document);
      on('freeze', heard.frozen, document);
      on('resume', heard.thawed, document);
      // A page that goes may come back out of the browser's cache of pages, which takes none with a lock or a socket.
      on('pagehide', heard.frozen);
      on('pageshow', heard.thawed);
      on('online', heard.online);
      return () => ended.abort();
    },
  };
}
