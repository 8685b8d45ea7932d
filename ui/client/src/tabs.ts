// The tabs of a user. One tab leads, and sends complete states to the others.

import { isMessage } from './shape.js';
import type { CountsFragment, InboxEntryFragment } from './operations.js';
import type { Surroundings } from './surroundings.js';

export type Message =
  /** From the leader: the overview, and the cursor of the last announced item. Also sent regularly as a heartbeat. */
  | { kind: 'overview'; overview: CountsFragment; cursor: string }
  /** From the leader: a new item. */
  | { kind: 'item'; item: InboxEntryFragment }
  /** From a new or returning tab: asks for the state. */
  | { kind: 'hello' }
  /** Items were marked or preferences saved: lists may have changed. */
  | { kind: 'touched' }
  /** The user has signed out. */
  | { kind: 'out' };

export class Tabs {
  #around: Surroundings;
  #channel: BroadcastChannel | undefined;
  #waiting: AbortController | undefined;
  #release: (() => void) | undefined;
  #lead: () => void;
  #heard: (message: Message) => void;
  isLeader = false;

  /** `lead` is called when this tab becomes the leader, at once or later; `heard` gets the messages of other tabs. */
  constructor(around: Surroundings, lead: () => void, heard: (message: Message) => void) {
    this.#around = around;
    this.#lead = lead;
    this.#heard = heard;
  }

  /** Joins the tabs of this name. */
  join(name: string): void {
    const { locks, BroadcastChannel } = this.#around;
    // Without locks there is no leader, so each tab works alone and sends nothing.
    if (!locks || !BroadcastChannel) return this.#takeOver();
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = ({ data }) => {
      if (isMessage(data)) this.#heard(data);
    };
    const waiting = (this.#waiting = new AbortController());
    const held = () =>
      new Promise<void>((release) => {
        if (waiting !== this.#waiting) return release();
        this.#release = release;
        this.#takeOver();
      });
    const asked = (async () => locks.request(name, { signal: waiting.signal }, held))();
    // Locks are forbidden here, or another script has stolen ours: work alone.
    asked.catch(() => waiting === this.#waiting && !this.isLeader && this.#takeOver());
    this.tell({ kind: 'hello' });
  }

  /** Leaves the other tabs, and the lead. */
  leave(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.isLeader = false;
    waiting?.abort();
    this.#release?.();
    this.#release = undefined;
    this.#channel?.close();
    this.#channel = undefined;
  }

  tell(message: Message): void {
    this.#channel?.postMessage(message);
  }

  #takeOver(): void {
    this.isLeader = true;
    this.#lead();
  }
}
