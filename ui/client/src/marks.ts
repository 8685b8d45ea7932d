// Marks: shown at once, sent to the server one after the other in order. Without a connection they wait.

import { Backoff } from './backoff.js';
import { Failure, OFFLINE, UNAUTHENTICATED } from './failure.js';
import type { InboxItemSelector, MarkedFragment } from './operations.js';
import type { Ask, Document } from './request.js';
import { Timer } from './timer.js';
import type { Item, Which } from './types.js';

type MarkDocument = Document<{ marked: MarkedFragment }, { select: InboxItemSelector; types?: string[]; cap?: number }>;

/** Errors after which a mark waits for a retry, because the server has not refused it. Marks are idempotent. */
const WAITS = [OFFLINE, 'UNAVAILABLE', 'RATE_LIMITED'];

/**
 * How soon waiting marks are sent when there may be a connection again; also the pause between attempts. Milliseconds.
 */
const SOON = 300;

/** The most ids that the server accepts at once. */
const MOST_IDS = 1_000;

interface Mark {
  document: MarkDocument;
  /** The new state of an item; undefined if the mark deletes it. */
  to: Partial<Item> | undefined;
  /** Undefined if the mark is for all items of these types up to a cursor. */
  ids: string[] | undefined;
  types: string[] | undefined;
  upTo: string;
  /** The time of the item at the cursor. */
  until: string | undefined;
  done(): void;
  failed(failure: Failure): void;
  marked: Promise<void>;
}

export interface MarksHost {
  ask: Ask;
  wish: { types?: string[]; cap?: number };
  /** The time of the item at a cursor, if a list has it. */
  instantAt(cursor: string): string | undefined;
  /** The pending marks have changed. */
  marking(): void;
  /** A request starts. Call the result with the response, and with a function that applies it to items. */
  asked(): (marked: MarkedFragment, now: (item: Item) => Item | undefined) => void;
  failed(failure: Failure): void;
}

export class Marks {
  #host: MarksHost;
  /** Marks without a response, oldest first. */
  #queue: Mark[] = [];
  /** The mark that is being sent. */
  #sent: Mark | undefined;
  #again = new Timer();
  #backoff = new Backoff(2_000, 30_000);

  constructor(host: MarksHost) {
    this.#host = host;
  }

  /** An item with all pending marks applied; undefined if one deletes it. */
  seen(item: Item): Item | undefined {
    return this.#queue.reduce<Item | undefined>((seen, mark) => seen && by(mark, seen), item);
  }

  /**
   * Adds a mark and sends it as soon as there is a connection. A mark that the server refuses is undone and its failure
   * thrown. Consecutive waiting marks of the same kind by ids are merged.
   */
  make(which: Which, document: MarkDocument, to?: Partial<Item>): Promise<void> {
    const { ids, types = this.#host.wish.types, upTo } = which as { ids?: string[]; types?: string[]; upTo: string };
    let mark = this.#queue.at(-1);
    if (ids && mark?.ids && mark !== this.#sent && mark.document === document && mark.ids.length + ids.length <= MOST_IDS) {
      mark.ids.push(...ids);
    } else {
      mark = { document, to, ids: ids && [...ids], types, upTo, until: this.#host.instantAt(upTo) } as Mark;
      mark.marked = new Promise((done, failed) => Object.assign(mark!, { done, failed }));
      this.#queue.push(mark);
    }
    this.#host.marking();
    void this.#send();
    return mark.marked;
  }

  /** There may be a connection again: sends waiting marks. */
  hurry(): void {
    if (this.#queue[0]) this.#again.setSooner(SOON, this.#send);
  }

  /** The user has changed: drops pending marks. */
  forget(): void {
    this.#again.clear();
    this.#queue.splice(0).forEach(({ failed }) => failed(new Failure(UNAUTHENTICATED, 'signed out')));
  }

  /** Sends marks until none is left or there is no connection. */
  #send = async (): Promise<void> => {
    if (this.#sent || this.#again.isSet) return;
    for (let mark: Mark | undefined; (mark = this.#sent = this.#queue[0]); ) {
      const { document, ids, types, upTo } = mark;
      try {
        const answered = this.#host.asked();
        const select = ids ? { ids } : { matching: { types, upTo } };
        const { marked } = await this.#host.ask(document, { select, ...this.#host.wish });
        this.#backoff.reset();
        this.#queue.shift();
        mark.done();
        answered(marked, ids ? of(marked, ids) : (item) => by(mark!, item));
      } catch (error) {
        const failure = Failure.of(error);
        // If it is no longer the first, the user has changed meanwhile.
        if (mark !== this.#queue[0]) continue;
        if (WAITS.includes(failure.code)) {
          this.#again.set(Math.max(this.#backoff.next(), failure.retryAfter ?? 0), this.#send);
          this.#host.failed(failure);
          break;
        }
        this.#queue.shift();
        mark.failed(failure);
        this.#host.marking();
      }
    }
    this.#sent = undefined;
  };
}

/** The item after a mark. */
function by({ ids, types, until, to }: Mark, item: Item): Item | undefined {
  // Several items may share a millisecond; the response says which were marked.
  const isAbout = ids ? ids.includes(item.id) : until && item.createdAt <= until && (!types || types.includes(item.type.code));
  return isAbout ? to && { ...item, ...to } : item;
}

/** The item after a mark by ids. Requested items that the response lacks no longer exist. */
function of(marked: MarkedFragment, ids: string[]): (item: Item) => Item | undefined {
  const now = new Map(marked.items.map((item) => [item.id, item]));
  return (item) => (ids.includes(item.id) ? now.get(item.id) && { ...item, ...now.get(item.id) } : item);
}
