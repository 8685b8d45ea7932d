// What the store has, and what can be done with it. On a server, and while a page is hydrated, it is `loading`, and nothing is fetched.

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

/** Counts of what is unread, all together and by type. */
export function useOverview(): Overview {
  return useReadable(useTidings().overview, COUNTS);
}

/**
 * Items change at once, numbers when the server has said them. Without a connection a mark waits until there is one; what the server
 * refuses is undone, and thrown as `Problem`.
 */
export interface Marks {
  markRead(which: Which): Promise<void>;
  markUnread(which: Which): Promise<void>;
  archive(which: Which): Promise<void>;
  unarchive(which: Which): Promise<void>;
  /** Deletes for good. */
  remove(which: Which): Promise<void>;
}

/** What a user does with items: the same functions as long as the store is the same. */
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
  /** The next 30 older ones; nothing where there are none, or 500 are shown. */
  fetchMore(): Promise<void>;
  /** What is shown, once more from the server. */
  refresh(): Promise<void>;
}

/** A list, which is fetched, and kept current, while this is mounted. The same filter is the same list, also in another object. */
export function useInbox(filter?: Filter): InboxView {
  const list = useTidings().inbox(filter);
  const state = useReadable(list, ITEMS);
  const marks = useMarks();
  return useMemo(() => ({ ...state, ...marks, fetchMore: list.fetchMore, refresh: list.refresh }), [state, marks, list]);
}

export interface PreferencesView extends PreferencesState {
  /** Is shown at once; a failure is undone, and thrown as `Problem`. */
  set(type: string, isWanted: boolean): Promise<void>;
}

/** Which message types the user wants to hear of. */
export function usePreferences(): PreferencesView {
  const { preferences } = useTidings();
  const state = useReadable(preferences, SWITCHES);
  return useMemo(() => ({ ...state, set: (type, isWanted) => preferences.set(type, isWanted) }), [state, preferences]);
}

/** Calls `heard` when something new has come, for toasts and sounds; what was there before is not. */
export function useOnItem(heard: (item: Item) => void): void {
  const tidings = useTidings();
  const newest = useNewest(heard);
  useEffect(() => tidings.onItem((item) => newest.current(item)), [tidings]);
}

/** Calls `heard` when something has failed, once for the same in a row. */
export function useOnProblem(heard: (problem: Problem) => void): void {
  const tidings = useTidings();
  const newest = useNewest(heard);
  useEffect(() => tidings.onProblem((problem) => newest.current(problem)), [tidings]);
}
