// The store: a user's notifications, their updates, and their subscribers.

import { Backoff } from './backoff.js';
import { Failure, OFFLINE, UNAUTHENTICATED } from './failure.js';
import { List, PAGE } from './inbox.js';
import type { ListHost } from './inbox.js';
import { Keeper } from './keeper.js';
import { Live } from './live.js';
import { Marks } from './marks.js';
import type { MarksHost } from './marks.js';
import { ArchiveItems, DeleteItems, MarkRead, MarkUnread, Overview as OverviewDocument, UnarchiveItems } from './operations.js';
import type { CountsFragment, InboxEntryFragment } from './operations.js';
import { Switches } from './preferences.js';
import type { PreferencesHost } from './preferences.js';
import { Cell, Ears, same } from './readable.js';
import { asking } from './request.js';
import type { Ask, Document } from './request.js';
import { Snapshots } from './snapshot.js';
import { surroundings } from './surroundings.js';
import type { Surroundings } from './surroundings.js';
import { Tabs } from './tabs.js';
import type { Message } from './tabs.js';
import { Timer } from './timer.js';
import { Credentials } from './token.js';
import type { Filter, InboxList, Item, Options, Overview, Preferences, Problem, Readable, Status, Which } from './types.js';

/** How long a new tab waits for the leader's state before it asks the server, in milliseconds. */
const LEADER_ANSWERS_IN = 50;

/** The leader's heartbeat interval, in milliseconds. */
const BEAT_EVERY = 12_000;

/** Without a message for this long, in milliseconds, a tab polls the server. */
const SILENCE = 35_000;

/** How long a hidden tab keeps its socket and its place among the tabs, in milliseconds. */
const AWAY_AFTER = 300_000;

/** How long the store stays active without subscribers, in milliseconds. */
const REST_AFTER = 5_000;

/** The delay before the visible state is stored, in milliseconds. */
const KEEP_IN = 500;

/** How many announced items are remembered, to avoid duplicates. */
const ANNOUNCED = 1_000;

const NOTHING: Pick<Overview, 'unread' | 'types'> = { unread: { count: 0, exact: true }, types: [] };

/** A user's notifications. Connects with the first subscription; pauses some seconds after the last one ends. */
export class Tidings {
  #around: Surroundings;
  #server: string;
  #wish: { types?: string[]; cap?: number };
  #credentials: Credentials;
  #ask: Ask;
  #tabs: Tabs;
  #live: Live;
  #keeper: Keeper;
  #marks: Marks;
  #switches: Switches;
  #host: ListHost;
  #snapshots: Snapshots;
  #overview: Cell<Overview>;
  #lists = new Map<string, List>();
  #restored: Record<string, Item[]> = {};

  /** Identifies the user, the server and the options: tabs with the same name share their state. */
  #name: string | undefined;
  #nobody: string | undefined;
  #cursor: string | undefined;
  #announced = new Set<string>();
  #items = new Ears<Item>();
  #problems = new Ears<Problem>();

  #watchCount = 0;
  #isAtWork = false;
  #isOut = false;
  #isClosed = false;
  /** Incremented whenever the user changes or signs out. */
  #era = 0;
  /** The current failure, if any. */
  #failure: { status: Status; problem: Problem } | undefined;
  #isKnown = false;
  #markCount = 0;
  #polling: Promise<void> | undefined;
  #hiddenAt = 0;

  #silence = new Timer();
  #beat = new Timer();
  #away = new Timer();
  #rest = new Timer();
  #keep = new Timer();
  #entry = new Timer();
  #pollBackoff = new Backoff(2_000, SILENCE);
  #unlisten: (() => void) | undefined;

  readonly overview: Readable<Overview>;
  readonly preferences: Preferences;

  /** `around` replaces platform features: for tests, and for other platforms than browsers and Node.js. */
  constructor(options: Options, around: Partial<Surroundings> = {}) {
    this.#around = { ...surroundings(), ...around };
    this.#server = options.server.replace(/\/+$/, '');
    const { types, cap } = options;
    this.#wish = { ...(types && { types: [...types].sort() }), ...(cap && { cap }) };

    const url = `${this.#server}/graphql`;
    this.#credentials = new Credentials(options.token, (tenant, sub) => this.#isOf(tenant, sub));
    this.#ask = asking({ fetch: this.#around.fetch, url }, this.#credentials);
    this.#snapshots = new Snapshots(this.#around.storage, this.#server, JSON.stringify(this.#wish));
    this.#tabs = new Tabs(this.#around, () => this.#lead(), (message) => this.#hear(message));
    this.#live = new Live(this.#around, url.replace(/^http/, 'ws'), this.#credentials, this.#wish, {
      overview: (counts) => this.#told(counts),
      item: (entry) => this.#received(entry),
      lost: (failure) => this.#lost(failure),
    });
    this.#keeper = new Keeper((counts) => this.#show(counts), () => this.#poll());

    const store = this;
    const host: ListHost & MarksHost & PreferencesHost = {
      ask: (document, variables) => this.request(document, variables),
      wish: this.#wish,
      get isAwake() {
        return store.#isAtWork && !store.#around.page?.isHidden;
      },
      get condition() {
        return store.#condition;
      },
      get markCount() {
        return store.#markCount;
      },
      seen: (item) => this.#marks.seen(item),
      instantAt: (cursor) => [...this.#lists.values()].flatMap(({ items }) => items).find((item) => item.cursor === cursor)?.createdAt,
      watched: (isWatched) => this.#watched(isWatched),
      marking: () => this.#lists.forEach((list) => list.show()),
      asked: () => {
        const turn = this.#keeper.asked();
        return (marked, now) => {
          this.#markCount++;
          this.#keeper.answered(marked.viewer!.overview, turn);
          this.#lists.forEach((list) => list.marked(now));
          host.touched();
        };
      },
      changed: () => this.#keepSoon(),
      touched: () => this.#tabs.tell({ kind: 'touched' }),
      failed: (failure) => this.#failed(failure),
    };
    this.#host = host;
    this.#marks = new Marks(host);
    this.preferences = this.#switches = new Switches(host);
    this.overview = this.#overview = new Cell<Overview>({ status: 'loading', ...NOTHING }, host.watched);
  }

  /** A list; equal filters return the same object. It is loaded and kept current while it has subscribers. */
  inbox(filter: Filter = {}): InboxList {
    const { types: own } = this.#wish;
    const types = filter.types && own ? filter.types.filter((type) => own.includes(type)) : (filter.types ?? own);
    const { read, state } = filter;
    const asked: Filter = { ...(types && { types: [...types].sort() }), ...(read != null && { read }), ...(state && { state }) };
    const key = JSON.stringify(asked);
    let list = this.#lists.get(key);
    if (!list) {
      this.#lists.set(key, (list = new List(this.#host, asked)));
      const items = this.#restored[key];
      if (items) list.restore(items);
    }
    return list;
  }

  /**
   * Items change at once, counts when the server responds. Without a connection, marks wait for one. A mark that the
   * server refuses is undone, and the promise rejects with a `Problem`.
   */
  markRead(which: Which): Promise<void> {
    return this.#marks.make(which, MarkRead, { isRead: true });
  }

  markUnread(which: Which): Promise<void> {
    return this.#marks.make(which, MarkUnread, { isRead: false });
  }

  archive(which: Which): Promise<void> {
    return this.#marks.make(which, ArchiveItems, { isArchived: true });
  }

  unarchive(which: Which): Promise<void> {
    return this.#marks.make(which, UnarchiveItems, { isArchived: false });
  }

  /** Deletes permanently. */
  remove(which: Which): Promise<void> {
    return this.#marks.make(which, DeleteItems);
  }

  /** Calls `heard` for each new item, but not for items of a snapshot or of a loaded page. */
  onItem(heard: (item: Item) => void): () => void {
    const leave = this.#items.subscribe(heard);
    this.#watched(true);
    return () => {
      if (leave()) this.#watched(false);
    };
  }

  onProblem(heard: (problem: Problem) => void): () => void {
    return this.#problems.subscribe(heard);
  }

  /** Runs any operation with the user's token. */
  async request<A, V>(document: Document<A, V>, variables: V): Promise<A> {
    const era = this.#era;
    // If the user has changed, this operation was not meant for the new one.
    const check = () => {
      if (era !== this.#era) throw new Failure(UNAUTHENTICATED, 'signed out');
    };
    const answer = await this.#ask(document, variables, check);
    check();
    this.#reached();
    return answer;
  }

  /** Forgets everything about the user, in all tabs. The store starts again with the next subscription. */
  signOut(): void {
    this.#tabs.tell({ kind: 'out' });
    this.#out();
  }

  /** Closes connections and stops timers. Waiting marks are still sent while the page is open. */
  close(): void {
    this.#isClosed = true;
    this.#keepNow();
    this.#stop();
    this.#rest.clear();
  }

  // Subscribers.

  #watched(isWatched: boolean): void {
    this.#watchCount += isWatched ? 1 : -1;
    if (isWatched) {
      this.#isOut = false;
      this.#rest.clear();
      this.#start();
    } else if (this.#watchCount === 0) this.#rest.set(REST_AFTER, () => this.#stop());
  }

  // Start and stop.

  #start(): void {
    if (this.#isAtWork || this.#isOut || this.#isClosed || this.#watchCount === 0) return;
    this.#isAtWork = true;
    this.#unlisten ??= this.#around.page?.listen({
      shown: () => this.#shown(),
      hidden: () => this.#hidden(),
      frozen: () => {
        this.#keepNow();
        this.#suspend();
      },
      thawed: () => this.#start(),
      online: () => {
        this.#live.hurry();
        this.#marks.hurry();
        if (this.#isAtWork) void this.#poll();
      },
    });
    if (this.#around.page?.isHidden) this.#hidden();
    void this.#enter();
  }

  /** Pauses until the page is shown again. */
  #suspend(): void {
    this.#isAtWork = false;
    this.#leave();
    this.#away.clear();
    this.#entry.clear();
    this.#lists.forEach((list) => list.rest());
  }

  #stop(): void {
    this.#suspend();
    this.#unlisten?.();
    this.#unlisten = undefined;
  }

  #hidden(): void {
    this.#hiddenAt = Date.now();
    this.#keepNow();
    this.#away.set(AWAY_AFTER, () => this.#suspend());
  }

  #shown(): void {
    this.#away.clear();
    if (!this.#isAtWork) return this.#start();
    // A hidden page's timers may have been suspended.
    if (Date.now() - this.#hiddenAt > SILENCE) void this.#poll();
    this.#wake();
  }

  #wake(): void {
    this.#lists.forEach((list) => list.wake());
    this.#switches.wake();
  }

  /** Gets a token to identify the user, and joins the user's tabs. */
  async #enter(): Promise<void> {
    const era = this.#era;
    try {
      await this.#credentials.get();
    } catch (error) {
      if (era !== this.#era || !this.#isAtWork) return;
      this.#failed(Failure.of(error));
      this.#entry.set(Math.max(this.#credentials.rest, 500), () => void this.#enter());
      return;
    }
    if (era !== this.#era || !this.#isAtWork) return;
    this.#silence.set(LEADER_ANSWERS_IN, () => this.#poll());
    this.#tabs.join(this.#name!);
    // The lists may be outdated after the pause.
    this.#lists.forEach((list) => list.touch(0));
    this.#wake();
  }

  #leave(): void {
    this.#live.stop();
    this.#tabs.leave();
    this.#keeper.lost();
    this.#silence.clear();
    this.#beat.clear();
  }

  // The user's identity.

  #isOf(tenant: string, sub: string): void {
    // A token without `sub`: share nothing with other tabs.
    const who = sub ? `${tenant}:${sub}` : (this.#nobody ??= `${Math.random()}`);
    const name = `tidings:1:${this.#server}:${who}:${JSON.stringify(this.#wish)}`;
    if (name === this.#name) return;
    const isAnother = this.#name !== undefined;
    if (isAnother) this.#forget();
    this.#name = name;
    const found = this.#snapshots.read(name);
    if (found) {
      this.#restored = found.lists;
      this.#keeper.shown ??= found.counts;
      for (const [key, list] of this.#lists) if (found.lists[key]) list.restore(found.lists[key]);
      this.#paint();
    }
    if (!isAnother || !this.#isAtWork) return;
    this.#leave();
    void this.#enter();
  }

  /** Removes all data of the user. */
  #forget(): void {
    this.#era++;
    this.#name = this.#cursor = this.#live.cursor = this.#failure = this.#polling = undefined;
    this.#isKnown = false;
    this.#restored = {};
    this.#announced.clear();
    this.#keep.clear();
    this.#snapshots.clear();
    this.#keeper.forget();
    this.#marks.forget();
    this.#lists.forEach((list) => list.forget());
    this.#switches.forget();
    this.#paint();
  }

  #out(): void {
    this.#isOut = true;
    this.#stop();
    this.#credentials.forget();
    this.#forget();
  }

  // Incoming data.

  #lead(): void {
    this.#live.cursor ??= this.#cursor;
    this.#live.start();
    this.#pulse();
  }

  #pulse(): void {
    this.#tellOverview();
    this.#beat.set(BEAT_EVERY, () => this.#pulse());
  }

  /** Sends only overviews from events, in order: a response that this tab got may be newer than the next event. */
  #tellOverview(): void {
    const { told } = this.#keeper;
    const { isUp, cursor } = this.#live;
    if (this.#tabs.isLeader && isUp && told && cursor) this.#tabs.tell({ kind: 'overview', overview: told, cursor });
  }

  #told(counts: CountsFragment): void {
    this.#heardNow();
    this.#keeper.tell(counts);
    this.#tellOverview();
  }

  #received(entry: InboxEntryFragment): void {
    this.#heardNow();
    this.#tabs.tell({ kind: 'item', item: entry });
    this.#announce(entry);
  }

  #hear(message: Message): void {
    if (message.kind === 'hello') return this.#tellOverview();
    if (message.kind === 'out') return this.#out();
    if (message.kind === 'touched') {
      this.#lists.forEach((list) => list.touch());
      return this.#switches.touch();
    }
    // From a former leader.
    if (this.#tabs.isLeader) return;
    this.#heardNow();
    if (message.kind === 'item') return this.#announce(message.item);
    this.#cursor = message.cursor;
    this.#keeper.tell(message.overview);
  }

  #announce({ cursor, node }: InboxEntryFragment): void {
    this.#cursor = cursor;
    this.#lists.forEach((list) => list.touch());
    // After a change of leader or a pause, some items arrive again.
    if (this.#announced.has(node.id)) return;
    this.#announced.add(node.id);
    if (this.#announced.size > ANNOUNCED) this.#announced.delete(this.#announced.values().next().value!);
    this.#items.tell({ cursor, ...node });
  }

  #lost(failure: Failure): void {
    this.#keeper.lost();
    this.#cursor = this.#live.cursor;
    if (failure.code !== OFFLINE) this.#complain(failure.problem);
    // The response tells whether the server is down, or only WebSockets fail.
    void this.#poll();
  }

  /** A message has arrived, so there is no need to poll. */
  #heardNow(): void {
    this.#reached();
    this.#silence.set(SILENCE, () => {
      // Its own pings show that the socket is alive.
      if (this.#live.isUp) return this.#heardNow();
      this.#keeper.lost();
      void this.#poll();
    });
  }

  #poll(): Promise<void> {
    const silence = this.#silence;
    const backoff = this.#pollBackoff;
    const era = this.#era;
    return (this.#polling ??= (async () => {
      const turn = this.#keeper.asked();
      try {
        const { viewer } = await this.request(OverviewDocument, this.#wish);
        backoff.reset();
        this.#known();
        // Items after the first overview are new.
        this.#live.cursor ??= this.#cursor ??= viewer.overview.cursor;
        this.#keeper.answered(viewer.overview, turn, false);
        silence.set(SILENCE, () => this.#poll());
      } catch (error) {
        const failure = Failure.of(error);
        if (era !== this.#era) return;
        this.#failed(failure);
        const millis = Math.max(backoff.next(), failure.retryAfter ?? 0, this.#credentials.rest);
        silence.set(millis, () => this.#poll());
      } finally {
        if (era === this.#era) this.#polling = undefined;
        if (!this.#isAtWork) silence.clear();
      }
    })());
  }

  // The visible state.

  get #condition(): { status: Status; problem?: Problem | undefined } {
    return this.#failure ?? { status: this.#isKnown ? 'ready' : 'loading' };
  }

  #show(counts: CountsFragment): void {
    this.#known();
    const { types } = this.#overview.get();
    this.#paint();
    // The total is the sum of the types, so comparing these is enough.
    if (types === this.#overview.get().types) return;
    this.#lists.forEach((list) => list.touch());
    this.#keepSoon();
  }

  #paint(): void {
    const { status, problem } = this.#condition;
    const { unread, types } = this.#keeper.shown ?? NOTHING;
    this.#overview.set({ status, unread, types, ...(problem && { problem }) });
  }

  /** The first overview has arrived. */
  #known(): void {
    if (this.#isKnown) return;
    this.#isKnown = true;
    this.#paintAll();
  }

  /** The server has responded. */
  #reached(): void {
    if (!this.#failure) return;
    this.#failure = undefined;
    this.#paintAll();
    this.#marks.hurry();
    this.#lists.forEach((list) => list.touch());
    this.#switches.touch();
  }

  #failed(failure: Failure): void {
    const { problem } = failure;
    const isRefused = failure.code === UNAUTHENTICATED || failure.code === 'FORBIDDEN';
    // Without any data, every failure counts as offline.
    const isOffline = !this.#isKnown || [OFFLINE, 'UNAVAILABLE', 'INTERNAL'].includes(failure.code);
    if (isRefused || isOffline) {
      if (isRefused) this.#keeper.lost();
      this.#failure = { status: isRefused ? 'refused' : 'offline', problem };
      this.#paintAll();
    }
    this.#complain(problem);
  }

  #complained: Problem | undefined;

  /** Reports a problem, but not the same one twice in a row. */
  #complain(problem: Problem): void {
    if (same(problem, this.#complained)) return;
    this.#complained = problem;
    this.#problems.tell(problem);
  }

  #paintAll(): void {
    this.#paint();
    this.#lists.forEach((list) => list.show());
    this.#switches.show();
  }

  // Snapshots.

  #keepSoon(): void {
    this.#keep.setSooner(KEEP_IN, () => this.#keepNow());
  }

  #keepNow(): void {
    this.#keep.clear();
    const counts = this.#keeper.shown;
    if (this.#name === undefined || !counts) return;
    const known = [...this.#lists].filter(([, list]) => list.items.length > 0);
    const lists = Object.fromEntries(known.map(([key, list]) => [key, list.items.slice(0, PAGE)]));
    this.#snapshots.write({ name: this.#name, counts, lists });
  }
}
