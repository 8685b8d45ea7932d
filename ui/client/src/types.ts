// What the store is asked, and what it shows.

/** How to reach Tidings, and as whom. */
export interface Options {
  /** Where Tidings is, without a path: `https://tidings.example`. */
  server: string;
  /** A token for whoever is signed in; asked for when there is none yet, when one is refused, and before one expires. */
  token: () => string | Promise<string>;
  /** Counts are cut here, and then not `exact`; they are exact where it is left out. At least 1. */
  cap?: number;
  /** Codes of message types: only these, in counts, lists and what is announced. All where it is left out. */
  types?: readonly string[];
}

/** Something that changes. `get` gives the same object until something in it has changed, as `useSyncExternalStore` wants it. */
export interface Readable<T> {
  get(): T;
  /** Calls `changed` after every change; what is returned ends that. */
  subscribe(changed: () => void): () => void;
}

/**
 * - `loading`: nothing is known yet.
 * - `ready`: what is shown is what the server said last. Also shown from a snapshot it is `loading` until the server has spoken.
 * - `offline`: the server cannot be reached, and is tried again by itself; what is shown is from before. Also where nothing could be
 *   asked yet for another reason, which `problem` names (no such type in `Options.types`).
 * - `refused`: the server takes no token that the callback gives, which is asked again more and more seldom.
 */
export type Status = 'loading' | 'ready' | 'offline' | 'refused';

export interface Count {
  /** Exact, or the cap. */
  count: number;
  /** False where the count was cut: show it as `99+`. */
  exact: boolean;
}

export interface MessageType {
  code: string;
  title: string;
  /** A name of an icon or an absolute https URL. */
  icon?: string | null;
  /** For the interface, as operators have saved it. */
  ui?: unknown;
}

export interface Sender {
  id: string;
  name: string | null;
  avatarUrl: string | null;
}

export interface Item {
  id: string;
  /** Shared by every recipient of the same notification. */
  notificationId: string;
  /** Where it stands in the inbox: what `upTo` takes. */
  cursor: string;
  /** `ANNOUNCEMENT`, `REMINDER` or `MESSAGE`. */
  kind: string;
  type: MessageType;
  title: string;
  body: string | null;
  /** An absolute http(s) URL or a path. */
  link: string | null;
  /** What the sender attached, untouched. */
  data: unknown;
  /** RFC 3339. */
  createdAt: string;
  isRead: boolean;
  isArchived: boolean;
  sender: Sender | null;
}

/** One type of an overview. */
export interface TypeOverview {
  type: MessageType;
  unread: Count;
  /** The newest that is not archived, read or not. */
  latest: { title: string; createdAt: string } | null;
}

export interface Overview {
  status: Status;
  unread: Count;
  /** In catalogue order, those without items included. */
  types: readonly TypeOverview[];
  problem?: Problem;
}

/** What to list; conditions left out do not count. */
export interface Filter {
  /** Codes of message types; of those of `Options.types`, where there are any. */
  types?: readonly string[];
  /** True: only read, false: only unread. */
  read?: boolean;
  /** The inbox proper where it is left out. */
  state?: 'INBOX' | 'ARCHIVED';
}

export interface ListState {
  status: Status;
  /** Newest first, 500 at the most. */
  items: readonly Item[];
  /** There are older ones, which `fetchMore` gets. */
  hasMore: boolean;
  isFetching: boolean;
  problem?: Problem;
}

/** A list; it is fetched, and kept current, while somebody has subscribed to it. */
export interface InboxList extends Readable<ListState> {
  /** The next 30 older ones; nothing where there are none, or 500 are shown. */
  fetchMore(): Promise<void>;
  /** What is shown, once more from the server. */
  refresh(): Promise<void>;
}

/** What went wrong. It is thrown, shown in `problem`, and told to `onProblem`. */
export interface Problem {
  /** `extensions.code` of the API, or `OFFLINE`. */
  code: string;
  /** For people; may change. */
  message: string;
}

export interface PreferencesState {
  status: Status;
  types: readonly { type: MessageType; isMandatory: boolean; isWanted: boolean }[];
  problem?: Problem;
}

/** Which message types the user wants to hear of. */
export interface Preferences extends Readable<PreferencesState> {
  /** Is shown at once; a failure is undone, and thrown as `Problem`. */
  set(type: string, isWanted: boolean): Promise<void>;
}

/** Items by their ids, 1,000 at the most, or everything of these types up to the item at a cursor. */
export type Which = { ids: readonly string[] } | { types?: readonly string[]; upTo: string };
