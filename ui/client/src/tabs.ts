// The tabs of a user: one of them leads, and tells the others whole states.

import { isMessage } from './shape.js';
import type { CountsFragment, InboxEntryFragment } from './operations.js';
import type { Surroundings } from './surroundings.js';

export type Message =
  /** Of the leader: where the inbox stands, and up to which item everybody was told. Also now and then, as a sign of life. */
  | { kind: 'overview'; overview: CountsFragment; cursor: string }
  /** Of the leader: a new item. */
  | { kind: 'item'; item: InboxEntryFragment }
  /** Of a tab that is new, or was away: tell me. */
  | { kind: 'hello' }
  /** Items were marked, or preferences set: lists may be others now. */
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

  /** `lead` is called when this tab leads, at once or when those before it have gone; `heard` with what other tabs tell. */
  constructor(around: Surroundings, lead: () => void, heard: (message: Message) => void) {
    this.#around = around;
    this.#lead = lead;
    this.#heard = heard;
  }

  /** Takes its place among the tabs of this name. */
  join(name: string): void {
    const { locks, BroadcastChannel } = this.#around;
    // Without locks every tab would tell every tab, so none tells.
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
    // Not where the page may have none, and where somebody has stolen ours: then for itself.
    asked.catch(() => waiting === this.#waiting && !this.isLeader && this.#takeOver());
    this.tell({ kind: 'hello' });
  }

  /** Gives its place up. */
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
