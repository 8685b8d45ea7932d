// Marks: on the screen at once, on the server one after the other, in the order in which they were made. Without a connection they wait.

import { Backoff } from './backoff.js';
import { Failure, OFFLINE, UNAUTHENTICATED } from './failure.js';
import type { InboxItemSelector, MarkedFragment } from './operations.js';
import type { Ask, Document } from './request.js';
import { Timer } from './timer.js';
import type { Item, Which } from './types.js';

type MarkDocument = Document<{ marked: MarkedFragment }, { select: InboxItemSelector; types?: string[]; cap?: number }>;

/** Failures after which a mark waits to be sent again: the server has not refused it. Marks are idempotent. */
const WAITS = [OFFLINE, 'UNAVAILABLE', 'RATE_LIMITED'];

/** How soon what waits is sent when there may be a connection again; also how far apart tries are then. Milliseconds. */
const SOON = 300;

/** The most ids that the server takes at once. */
const MOST_IDS = 1_000;

interface Mark {
  document: MarkDocument;
  /** What it makes of an item; nothing where it deletes. */
  to: Partial<Item> | undefined;
  /** Nothing where it is about all items of these types up to a cursor. */
  ids: string[] | undefined;
  types: string[] | undefined;
  upTo: string;
  /** The instant of the item at the cursor. */
  until: string | undefined;
  done(): void;
  failed(failure: Failure): void;
  marked: Promise<void>;
}

export interface MarksHost {
  ask: Ask;
  wish: { types?: string[]; cap?: number };
  /** The instant of the item at a cursor, if it is in a list. */
  instantAt(cursor: string): string | undefined;
  /** What marks there are has changed. */
  marking(): void;
  /** The server is asked; what is returned is called with its answer, and with what that makes of items. */
  asked(): (marked: MarkedFragment, now: (item: Item) => Item | undefined) => void;
  failed(failure: Failure): void;
}

export class Marks {
  #host: MarksHost;
  /** Not answered yet, the oldest first. */
  #queue: Mark[] = [];
  /** What the server is being asked for. */
  #sent: Mark | undefined;
  #again = new Timer();
  #backoff = new Backoff(2_000, 30_000);

  constructor(host: MarksHost) {
    this.#host = host;
  }

  /** An item as it will be when all marks are made that wait or are under way; nothing where it will be deleted. */
  seen(item: Item): Item | undefined {
    return this.#queue.reduce<Item | undefined>((seen, mark) => seen && by(mark, seen), item);
  }

  /**
   * Makes a mark, as soon as there is a connection. One that the server refuses is undone, and the failure thrown. Marks that wait and do
   * the same one after the other are sent as one.
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

  /** There may be a connection again: what waits is sent. */
  hurry(): void {
    if (this.#queue[0]) this.#again.setSooner(SOON, this.#send);
  }

  /** Another user has come: what was not answered is dropped. */
  forget(): void {
    this.#again.clear();
    this.#queue.splice(0).forEach(({ failed }) => failed(new Failure(UNAUTHENTICATED, 'signed out')));
  }

  /** Sends what waits, until nothing waits or there is no connection. */
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
        // Where it is not the first any more, another user has come meanwhile.
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

/** An item after a mark. */
function by({ ids, types, until, to }: Mark, item: Item): Item | undefined {
  // Instants are of a millisecond, which several items may share; the answer says what was marked.
  const isAbout = ids ? ids.includes(item.id) : until && item.createdAt <= until && (!types || types.includes(item.type.code));
  return isAbout ? to && { ...item, ...to } : item;
}

/** An item as the answer to a mark by ids has it: those that were asked for and are not in it are there no more. */
function of(marked: MarkedFragment, ids: string[]): (item: Item) => Item | undefined {
  const now = new Map(marked.items.map((item) => [item.id, item]));
  return (item) => (ids.includes(item.id) ? now.get(item.id) && { ...item, ...now.get(item.id) } : item);
}
