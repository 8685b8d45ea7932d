// Options and visible state of the store.

/** The server and the user. */
export interface Options {
  /** The server's address without a path: `https://tidings.example`. */
  server: string;
  /** Returns a token of the user. Called when there is none, when the server refuses one, and before one expires. */
  token: () => string | Promise<string>;
  /** Counts stop here and are then not `exact`. At least 1; default: no cap. */
  cap?: number;
  /** Codes of message types to include in counts, lists and announcements. Default: all. */
  types?: readonly string[];
}

/** An observable value. `get` returns the same object until it changes, as `useSyncExternalStore` requires. */
export interface Readable<T> {
  get(): T;
  /** Calls `changed` after every change; returns a function that unsubscribes. */
  subscribe(changed: () => void): () => void;
}

/**
 * - `loading`: no data yet, or only those of a snapshot.
 * - `ready`: shows the latest data from the server.
 * - `offline`: the server cannot be reached, and the store retries by itself; it shows the last data. Also if the first
 *   request fails for another reason, named in `problem` (such as an unknown type in `Options.types`).
 * - `refused`: the server refuses the tokens of the callback; the store asks it again at growing intervals.
 */
export type Status = 'loading' | 'ready' | 'offline' | 'refused';

export interface Count {
  /** The count, or the cap if there are more. */
  count: number;
  /** False if the count is capped: show it as `99+`. */
  exact: boolean;
}

export interface MessageType {
  code: string;
  title: string;
  /** The name of an icon, or an absolute https URL. */
  icon?: string | null;
  /** Data for the interface, as saved by operators. */
  ui?: unknown;
}

export interface Sender {
  id: string;
  name: string | null;
  avatarUrl: string | null;
}

export interface Item {
  id: string;
  /** The same for every recipient of the notification. */
  notificationId: string;
  /** The position in the inbox; pass it to `upTo`. */
  cursor: string;
  /** `ANNOUNCEMENT`, `REMINDER` or `MESSAGE`. */
  kind: string;
  type: MessageType;
  title: string;
  body: string | null;
  /** An absolute http(s) URL, or a path. */
  link: string | null;
  /** The sender's data, unchanged. */
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
  /** The newest item that is not archived, read or unread. */
  latest: { title: string; createdAt: string } | null;
}

export interface Overview {
  status: Status;
  unread: Count;
  /** In catalogue order, including types without items. */
  types: readonly TypeOverview[];
  problem?: Problem;
}

/** Which items to list; omitted conditions match everything. */
export interface Filter {
  /** Codes of message types; limited to those of `Options.types`, if given. */
  types?: readonly string[];
  /** True: only read, false: only unread. */
  read?: boolean;
  /** Default: `INBOX`. */
  state?: 'INBOX' | 'ARCHIVED';
}

export interface ListState {
  status: Status;
  /** Newest first, at most 500. */
  items: readonly Item[];
  /** Whether `fetchMore` can load older items. */
  hasMore: boolean;
  isFetching: boolean;
  problem?: Problem;
}

/** A list; it is loaded and kept current while it has subscribers. */
export interface InboxList extends Readable<ListState> {
  /** Loads the next 30 older items, unless there are none or the list has 500. */
  fetchMore(): Promise<void>;
  /** Reloads the items of the list. */
  refresh(): Promise<void>;
}

/** An error: a rejection, the field `problem`, or an argument of `onProblem`. */
export interface Problem {
  /** `extensions.code` of the API, or `OFFLINE`. */
  code: string;
  /** A message for people; it may change. */
  message: string;
}

export interface PreferencesState {
  status: Status;
  types: readonly { type: MessageType; isMandatory: boolean; isWanted: boolean }[];
  problem?: Problem;
}

/** Which message types the user wants. */
export interface Preferences extends Readable<PreferencesState> {
  /** Visible at once. If it fails, it is undone, and the promise rejects with a `Problem`. */
  set(type: string, isWanted: boolean): Promise<void>;
}

/** Items by id, at most 1,000; or all items of these types up to the item at a cursor. */
export type Which = { ids: readonly string[] } | { types?: readonly string[]; upTo: string };
