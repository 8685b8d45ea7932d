// Marks: on the screen at once, on the server one after the other, in the order in which they were made.

import { jitter } from './backoff.js';
import { Failure, OFFLINE } from './failure.js';
import { ArchiveItems, DeleteItems, MarkRead, MarkUnread, UnarchiveItems } from './operations.js';
import type { InboxItemSelector, MarkedFragment } from './operations.js';
import type { Ask, Document } from './request.js';
import { Turns } from './turns.js';
import type { Item, Which } from './types.js';

type Variables = { select: InboxItemSelector; types?: string[]; cap?: number };

interface Change {
  document: Document<{ marked: MarkedFragment }, Variables>;
  /** What it makes of an item; nothing where it deletes. */
  to?: Partial<Item>;
}

export const CHANGES = {
  read: { document: MarkRead, to: { isRead: true } },
  unread: { document: MarkUnread, to: { isRead: false } },
  archive: { document: ArchiveItems, to: { isArchived: true } },
  unarchive: { document: UnarchiveItems, to: { isArchived: false } },
  remove: { document: DeleteItems },
} satisfies Record<string, Change>;

/** How long to wait before a mark that got no answer is made once more: marks are idempotent. Milliseconds. */
const AGAIN_AFTER = 2_000;

interface Mark {
  isAbout(item: Item): boolean;
  to: Partial<Item> | undefined;
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
}

export class Marks {
  #host: MarksHost;
  #under = new Set<Mark>();
  #turns = new Turns();

  constructor(host: MarksHost) {
    this.#host = host;
  }

  /** An item as it will be when all marks that are under way are made; nothing where it will be deleted. */
  seen(item: Item): Item | undefined {
    let seen: Item | undefined = item;
    for (const mark of this.#under) seen = seen && by(mark, seen);
    return seen;
  }

  /** Makes a mark. What fails is undone, and thrown. */
  async make(change: Change, which: Which): Promise<void> {
    const mark = { isAbout: this.#about(which), to: change.to };
    this.#under.add(mark);
    this.#host.marking();
    await this.#turns.take(() => this.#send(change.document, which, mark));
  }

  async #send(document: Change['document'], which: Which, mark: Mark): Promise<void> {
    const { ids, ...matching } = which as { ids?: string[]; types?: string[]; upTo: string };
    const types = matching.types ?? this.#host.wish.types;
    const select: InboxItemSelector = ids ? { ids: [...ids] } : { matching: { ...matching, types } };
    const variables = { select, ...this.#host.wish };
    const once = async () => {
      const answered = this.#host.asked();
      const { marked } = await this.#host.ask(document, variables);
      this.#under.delete(mark);
      answered(marked, ids ? of(marked, new Set(ids)) : (item) => by(mark, item));
    };
    try {
      await once().catch(async (error) => {
        const { code, retryAfter = jitter(AGAIN_AFTER) } = Failure.of(error);
        if (![OFFLINE, 'UNAVAILABLE', 'RATE_LIMITED'].includes(code) || retryAfter > 5 * AGAIN_AFTER) throw error;
        await new Promise((done) => setTimeout(done, retryAfter));
        await once();
      });
    } catch (error) {
      this.#under.delete(mark);
      this.#host.marking();
      throw Failure.of(error);
    }
  }

  #about(which: Which): (item: Item) => boolean {
    if ('ids' in which) {
      const ids = new Set(which.ids);
      return ({ id }) => ids.has(id);
    }
    const types = which.types ?? this.#host.wish.types;
    const until = this.#host.instantAt(which.upTo);
    // Instants are of a millisecond, which several items may share; the answer says what was marked.
    return (item) => until !== undefined && item.createdAt <= until && (!types || types.includes(item.type.code));
  }
}

/** An item after a mark. */
function by({ isAbout, to }: Mark, item: Item): Item | undefined {
  return isAbout(item) ? to && { ...item, ...to } : item;
}

/** An item as the answer to a mark by ids has it: those that were asked for and are not in it are there no more. */
function of(marked: MarkedFragment, ids: ReadonlySet<string>): (item: Item) => Item | undefined {
  const now = new Map(marked.items.map((item) => [item.id, item]));
  return (item) => (ids.has(item.id) ? now.get(item.id) && { ...item, ...now.get(item.id) } : item);
}
