// A list of items: the server's pages plus pending marks. Items come only from pages, so after each page the list
// equals the server's.

import { Backoff } from './backoff.js';
import { Failure } from './failure.js';
import { Inbox } from './operations.js';
import type { InboxFilter } from './operations.js';
import { Cell, same } from './readable.js';
import type { Ask } from './request.js';
import { Timer } from './timer.js';
import { Turns } from './turns.js';
import type { Filter, InboxList, Item, ListState, Problem, Status } from './types.js';

/** Items per page, and in a new list. */
export const PAGE = 30;

/** The most items that the server returns at once. */
const MOST_AT_ONCE = 200;

/** The most items that a list keeps. */
export const KEPT = 500;

/** How soon a list is read again after a change, in milliseconds. */
const SOON = 100;

/** The least time between two reads, in milliseconds; it grows to the second value while changes are frequent. */
const APART = 1_000;
const FAR_APART = 5_000;

/** Reload interval in milliseconds. Changes on another device that alter no count and no newest item cause no event. */
const ANYWAY = 60_000;

export interface ListHost {
  ask: Ask;
  /** Whether the page is visible and the store active. Otherwise lists postpone reads. */
  readonly isAwake: boolean;
  readonly condition: { status: Status; problem?: Problem | undefined };
  /** The number of completed marks: a page requested before a mark completed may lack it. */
  readonly markCount: number;
  seen(item: Item): Item | undefined;
  watched(isWatched: boolean): void;
  changed(): void;
  failed(failure: Failure): void;
}

export class List implements InboxList {
  #host: ListHost;
  #filter: Filter;
  /** As read from the server, without pending marks. */
  #items: Item[] = [];
  #hasMore = false;
  #size = PAGE;
  #isKnown = false;
  #isFetching = false;
  #isStale = true;
  #problem: Problem | undefined;
  #cell: Cell<ListState>;
  #timer = new Timer();
  #readAt = -Infinity;
  /** Do not read before this time: the server asked for a pause. */
  #restUntil = 0;
  #gap = APART;
  #backoff = new Backoff(5_000, 60_000);
  #turns = new Turns();
  #next: Promise<void> | undefined;
  #turn = 0;

  constructor(host: ListHost, filter: Filter) {
    this.#host = host;
    this.#filter = filter;
    this.#cell = new Cell<ListState>({ status: 'loading', items: [], hasMore: false, isFetching: false }, (isWatched) => {
      host.watched(isWatched);
      if (isWatched) this.wake();
      else this.#timer.clear();
    });
  }

  get = (): ListState => this.#cell.get();
  subscribe = (changed: () => void): (() => void) => this.#cell.subscribe(changed);

  /** The items as read from the server, for a snapshot. */
  get items(): readonly Item[] {
    return this.#items;
  }

  /** Shows the items of a snapshot until the server responds. */
  restore(items: Item[]): void {
    if (this.#isKnown) return;
    this.#items = items;
    this.show();
  }

  forget(): void {
    this.#turn++;
    this.#items = [];
    this.#size = PAGE;
    this.#isKnown = this.#hasMore = false;
    this.#isStale = true;
    this.#problem = undefined;
    this.#timer.clear();
    this.show();
  }

  /** Updates the visible state. */
  show(): void {
    const { status, problem = this.#problem } = this.#host.condition;
    const seen = this.#items.map((item) => this.#host.seen(item)).filter((item) => item && this.#fits(item)) as Item[];
    // Unchanged items stay the same objects, so that renderers can skip them.
    const before = new Map(this.#cell.get().items.map((item) => [item.id, item]));
    const items = seen.map((item) => (same(before.get(item.id), item) ? before.get(item.id)! : item));
    this.#cell.set({
      status: status === 'ready' && !this.#isKnown ? 'loading' : status,
      items,
      hasMore: this.#hasMore && this.#items.length < KEPT,
      isFetching: this.#isFetching,
      ...(problem && { problem }),
    });
  }

  /** Applies the response to a mark; items that it deleted or that no longer match the filter disappear. */
  marked(now: (item: Item) => Item | undefined): void {
    this.#items = this.#items.map(now).filter((item) => item && this.#fits(item)) as Item[];
    this.show();
    this.touch();
  }

  /** Something may have changed: reads again soon, but not more often than allowed. */
  touch(millis = SOON): void {
    this.#isStale = true;
    if (!this.#host.isAwake || !this.#cell.isWatched) return;
    const now = Date.now();
    const rest = Math.max(this.#restUntil, this.#readAt + this.#gap) - now;
    this.#timer.setSooner(Math.max(millis, rest), () => this.wake());
  }

  /** Reads at once if the list is stale. */
  wake(): void {
    if (!this.#isStale || !this.#host.isAwake || !this.#cell.isWatched) return;
    if (Date.now() < this.#restUntil) return this.touch();
    this.#timer.clear();
    void this.refresh().catch(() => {});
  }

  /** Stops the timer. */
  rest(): void {
    this.#timer.clear();
  }

  refresh = (): Promise<void> => {
    // Calls before a queued read has started share that read.
    this.#next ??= this.#turns.take(() => {
      this.#next = undefined;
      return this.#read();
    });
    return this.#next;
  };

  fetchMore = (): Promise<void> =>
    this.#turns.take(async () => {
      const { length } = this.#items;
      if (!this.#hasMore || length >= KEPT) return;
      const size = Math.min(length + PAGE, KEPT);
      const after = this.#items[length - 1]?.cursor;
      const { markCount } = this.#host;
      await this.#fetching(async (isCurrent) => {
        const page = await this.#page(size - length, after);
        if (!isCurrent()) return;
        this.#size = size;
        const known = new Set(this.#items.map(({ id }) => id));
        this.#items = [...this.#items, ...page.items.filter(({ id }) => !known.has(id))];
        this.#hasMore = page.hasMore;
      });
      if (markCount !== this.#host.markCount) this.touch();
    });

  async #read(): Promise<void> {
    const now = Date.now();
    const isSoon = now - this.#readAt < 2 * this.#gap;
    this.#gap = isSoon ? Math.min(this.#gap * 2, FAR_APART) : APART;
    this.#readAt = now;
    this.#timer.clear();
    await this.#fetching(async (isCurrent) => {
      let markCount: number;
      let items: Item[];
      let hasMore: boolean;
      do {
        this.#isStale = false;
        ({ markCount } = this.#host);
        items = [];
        for (let after: string | undefined; ; ) {
          const page = await this.#page(Math.min(this.#size - items.length, MOST_AT_ONCE), after);
          if (!isCurrent()) return;
          items.push(...page.items);
          hasMore = page.hasMore;
          after = page.end;
          if (!hasMore || !after || items.length >= this.#size) break;
        }
        // A mark that completed during the reads may be missing from some pages.
      } while (markCount !== this.#host.markCount);
      // Items that arrive between two pages shift the list, so an item can be in both pages.
      this.#items = [...new Map(items.map((item) => [item.id, item])).values()];
      this.#hasMore = hasMore;
      this.#isKnown = true;
    });
    if (this.#host.isAwake) this.#timer.setSooner(ANYWAY, () => this.touch(0));
    else this.#isStale = true;
    this.#host.changed();
  }

  /** Runs a request and updates the fetching state and the problem. */
  async #fetching(fetch: (isCurrent: () => boolean) => Promise<void>): Promise<void> {
    const turn = this.#turn;
    this.#isFetching = true;
    this.show();
    try {
      await fetch(() => turn === this.#turn);
      this.#problem = undefined;
      this.#backoff.reset();
    } catch (error) {
      const failure = Failure.of(error);
      if (turn === this.#turn) {
        this.#problem = failure.problem;
        this.#restUntil = Date.now() + (failure.retryAfter ?? 0);
        this.touch(this.#backoff.next());
        this.#host.failed(failure);
      }
      throw failure;
    } finally {
      this.#isFetching = false;
      this.show();
    }
  }

  async #page(first: number, after: string | undefined): Promise<{ items: Item[]; hasMore: boolean; end: string | undefined }> {
    const { types, read, state } = this.#filter;
    if (types?.length === 0) return { items: [], hasMore: false, end: undefined };
    const filter = { types, read, state } as InboxFilter;
    const { edges, pageInfo } = (await this.#host.ask(Inbox, { first, after, filter })).viewer.inbox;
    return {
      items: edges.map(({ cursor, node }) => ({ cursor, ...node })),
      hasMore: pageInfo.hasNextPage,
      end: pageInfo.endCursor ?? undefined,
    };
  }

  #fits(item: Item): boolean {
    const { read, state = 'INBOX' } = this.#filter;
    return (read === undefined || item.isRead === read) && item.isArchived === (state === 'ARCHIVED');
  }
}
