// The live session of the leading tab: connects, subscribes, and reconnects.

import { Backoff, jitter } from './backoff.js';
import { Failure, OFFLINE, UNAUTHENTICATED } from './failure.js';
import { ItemReceived, OverviewChanged } from './operations.js';
import type { CountsFragment, InboxEntryFragment } from './operations.js';
import { Socket } from './socket.js';
import type { Surroundings } from './surroundings.js';
import { Timer } from './timer.js';
import type { Credentials } from './token.js';

/** The wait after an error of the client or its host, in milliseconds. Retrying sooner would not help. */
const LATER = 60_000;

/** A connection that lasts this long, in milliseconds, resets the back-off. */
const GOOD_AFTER = 5_000;

const OVERVIEW = 'o';
const ITEMS = 'i';

export interface LiveHeard {
  overview(counts: CountsFragment): void;
  item(entry: InboxEntryFragment): void;
  /** The connection failed or was lost. */
  lost(failure: Failure): void;
}

export class Live {
  #around: Surroundings;
  #url: string;
  #credentials: Credentials;
  #wish: { types?: string[]; cap?: number };
  #heard: LiveHeard;
  #socket: Socket | undefined;
  #isWanted = false;
  /** The cursor of the last received item; a new connection resumes after it. */
  cursor: string | undefined;
  #isFollowing = false;
  /** A token was refused since the last good connection. */
  #isRefused = false;
  #turn = 0;
  #again = new Timer();
  #renewal = new Timer();
  #good = new Timer();
  #backoff = new Backoff(1_000, 30_000);

  constructor(around: Surroundings, url: string, credentials: Credentials, wish: { types?: string[]; cap?: number }, heard: LiveHeard) {
    this.#around = around;
    this.#url = url;
    this.#credentials = credentials;
    this.#wish = wish;
    this.#heard = heard;
  }

  /** Whether the connection is up and has received an overview. */
  isUp = false;

  start(): void {
    if (this.#isWanted || !this.#around.WebSocket) return;
    this.#isWanted = true;
    void this.#connect();
  }

  stop(): void {
    this.#isWanted = false;
    this.#drop();
    this.#again.clear();
    this.#backoff.reset();
  }

  /** Skips the wait for the next attempt, if there is one. */
  hurry(): void {
    if (this.#again.isSet) this.#again.set(0, () => this.#connect());
  }

  #drop(): void {
    this.#turn++;
    this.isUp = this.#isFollowing = false;
    this.#renewal.clear();
    this.#good.clear();
    this.#socket?.close();
    this.#socket = undefined;
  }

  async #connect(): Promise<void> {
    const turn = ++this.#turn;
    let token: string;
    try {
      token = await this.#credentials.get();
    } catch (error) {
      if (turn === this.#turn) this.#retry(Failure.of(error), Math.max(this.#credentials.rest, 500));
      return;
    }
    if (turn !== this.#turn || !this.#isWanted) return;
    this.#socket = new Socket(this.#around, this.#url, token, {
      ready: () => this.#begin(token),
      next: (id, data) => this.#next(id, data),
      error: (id, errors) => this.#refused(id, errors),
      closed: (code) => this.#closed(code, token),
    });
  }

  #begin(token: string): void {
    this.#credentials.accepted(token);
    this.#good.set(GOOD_AFTER, () => {
      this.#backoff.reset();
      this.#isRefused = false;
    });
    this.#renewIn();
    this.#socket?.subscribe(OVERVIEW, OverviewChanged, this.#wish);
    if (this.cursor !== undefined) this.#follow();
  }

  /** Subscribes to items after the cursor; at first that of the first overview, so that only new items arrive. */
  #follow(): void {
    this.#isFollowing = true;
    this.#socket?.subscribe(ITEMS, ItemReceived, { after: this.cursor, types: this.#wish.types });
  }

  #next(id: string, data: any): void {
    if (id === ITEMS) {
      const entry: InboxEntryFragment = data.itemReceived;
      this.cursor = entry.cursor;
      this.#heard.item(entry);
      return;
    }
    const counts: CountsFragment = data.overviewChanged.overview;
    this.isUp = true;
    this.cursor ??= counts.cursor;
    if (!this.#isFollowing) this.#follow();
    this.#heard.overview(counts);
  }

  /** The server ended a subscription. */
  #refused(id: string, errors: any[]): void {
    const failure = errors[0] ? Failure.of(errors[0]) : new Failure('UNAVAILABLE', 'the subscription has ended');
    // The cursor is before the retention window or of another inbox: resume from the next overview's cursor.
    if (id === ITEMS && failure.field === 'after') this.cursor = undefined;
    this.#retry(failure, failure.retryAfter ?? this.#backoff.next());
  }

  #closed(code: number, token: string): void {
    let millis = this.#backoff.next();
    if (code === 4403) {
      this.#credentials.refused(token);
      // The first time, retry with another token at once; HTTP requests that accept the token do not reset this.
      if (!this.#isRefused) millis = jitter(200);
      this.#isRefused = true;
      // The server restarts: spread the reconnects of all clients.
    } else if (code === 1012) millis = jitter(1_500);
    else if (code === 1013) millis = Math.max(millis, jitter(10_000));
    else if (code === 1009 || (code >= 4400 && code < 4500)) millis = jitter(LATER);
    this.#retry(new Failure(code === 4403 ? UNAUTHENTICATED : OFFLINE, `closed with ${code}`), millis);
  }

  #retry(failure: Failure, millis: number): void {
    this.#drop();
    if (!this.#isWanted) return;
    this.#again.set(millis, () => this.#connect());
    this.#heard.lost(failure);
  }

  /** Sends a newer token before the current one expires. */
  #renewIn(): void {
    const { left } = this.#credentials;
    if (left === Infinity) return;
    // Timers may fire slightly early, and the current token would be returned again.
    this.#renewal.set(Math.max(left + 100, 1_000), async () => {
      const turn = this.#turn;
      // Without a newer token, the server finally closes with 4403.
      const token = await this.#credentials.get().catch(() => undefined);
      if (turn !== this.#turn) return;
      if (token !== undefined) this.#socket?.renew(token);
      this.#renewIn();
    });
  }
}
