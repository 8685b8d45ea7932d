// The platform features that the store uses. All are optional except `fetch`: React Native and Node.js lack some.

/** The storage of snapshots: `sessionStorage`, or an object that also has its entries as properties. */
export type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** Page events: visibility, freezing, back/forward cache, and network. */
export interface Page {
  readonly isHidden: boolean;
  /** Starts to listen; returns a function that stops. */
  listen(heard: { shown(): void; hidden(): void; frozen(): void; thawed(): void; online(): void }): () => void;
}

export interface Surroundings {
  fetch: typeof fetch;
  WebSocket?: typeof WebSocket | undefined;
  /** Without these, every tab works alone. */
  locks?: Pick<LockManager, 'request'> | undefined;
  BroadcastChannel?: typeof BroadcastChannel | undefined;
  storage?: Store | undefined;
  page?: Page | undefined;
}

/** The features of this browser or process. */
export function surroundings(): Surroundings {
  let storage: Store | undefined;
  try {
    storage = globalThis.sessionStorage;
  } catch {
    // The page has an opaque origin, or the user forbids storage.
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
      // A page that is left may return from the back/forward cache, which rejects pages with a lock or a socket.
      on('pagehide', heard.frozen);
      on('pageshow', heard.thawed);
      on('online', heard.online);
      return () => ended.abort();
    },
  };
}
