// State and actions of the store. On a server and during hydration the status is `loading`, and nothing is fetched.

import type { Filter, Item, ListState, Overview, PreferencesState, Problem, Readable, Which } from '@tidings/client';
import { useEffect, useMemo, useSyncExternalStore } from 'react';

import { useNewest } from './newest.js';
import { useTidings } from './provider.js';

const COUNTS: Overview = { status: 'loading', unread: { count: 0, exact: true }, types: [] };
const ITEMS: ListState = { status: 'loading', items: [], hasMore: false, isFetching: false };
const SWITCHES: PreferencesState = { status: 'loading', types: [] };

function useReadable<T>({ subscribe, get }: Readable<T>, before: T): T {
  return useSyncExternalStore(subscribe, get, () => before);
}

/** Unread counts, in total and by type. */
export function useOverview(): Overview {
  return useReadable(useTidings().overview, COUNTS);
}

/**
 * Items change at once, counts when the server responds. Without a connection, marks wait for one. A mark that the
 * server refuses is undone, and the promise rejects with a `Problem`.
 */
export interface Marks {
  markRead(which: Which): Promise<void>;
  markUnread(which: Which): Promise<void>;
  archive(which: Which): Promise<void>;
  unarchive(which: Which): Promise<void>;
  /** Deletes permanently. */
  remove(which: Which): Promise<void>;
}

/** Actions on items. Returns the same functions while the store is the same. */
export function useMarks(): Marks {
  const tidings = useTidings();
  return useMemo(
    () => ({
      markRead: (which) => tidings.markRead(which),
      markUnread: (which) => tidings.markUnread(which),
      archive: (which) => tidings.archive(which),
      unarchive: (which) => tidings.unarchive(which),
      remove: (which) => tidings.remove(which),
    }),
    [tidings],
  );
}

export interface InboxView extends ListState, Marks {
  /** Loads the next 30 older items, unless there are none or the list has 500. */
  fetchMore(): Promise<void>;
  /** Reloads the items of the list. */
  refresh(): Promise<void>;
}

/** A list, loaded and kept current while the component is mounted. Equal filters use the same list. */
export function useInbox(filter?: Filter): InboxView {
  const list = useTidings().inbox(filter);
  const state = useReadable(list, ITEMS);
  const marks = useMarks();
  return useMemo(() => ({ ...state, ...marks, fetchMore: list.fetchMore, refresh: list.refresh }), [state, marks, list]);
}

export interface PreferencesView extends PreferencesState {
  /** Visible at once. If it fails, it is undone, and the promise rejects with a `Problem`. */
  set(type: string, isWanted: boolean): Promise<void>;
}

/** Which message types the user wants. */
export function usePreferences(): PreferencesView {
  const { preferences } = useTidings();
  const state = useReadable(preferences, SWITCHES);
  return useMemo(() => ({ ...state, set: (type, isWanted) => preferences.set(type, isWanted) }), [state, preferences]);
}

/** Calls `heard` for each new item, for toasts and sounds; not for items already present. */
export function useOnItem(heard: (item: Item) => void): void {
  const tidings = useTidings();
  const newest = useNewest(heard);
  useEffect(() => tidings.onItem((item) => newest.current(item)), [tidings]);
}

/** Calls `heard` for each problem, but not for the same one twice in a row. */
export function useOnProblem(heard: (problem: Problem) => void): void {
  const tidings = useTidings();
  const newest = useNewest(heard);
  useEffect(() => tidings.onProblem((problem) => newest.current(problem)), [tidings]);
}
