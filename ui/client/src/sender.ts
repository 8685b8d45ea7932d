// Sends from a backend: in batches, with retries, and each notification only once.

import { Backoff } from './backoff.js';
import { Failure, OFFLINE } from './failure.js';
import { SendNotifications } from './operations.js';
import type { SendNotificationInput } from './operations.js';
import { request } from './typed.js';
import type { Access } from './typed.js';

export type { SendAnnouncementInput, SendMessageInput, SendNotificationInput, SendReminderInput } from './operations.js';
export { Failure } from './failure.js';

/** The most notifications and bytes in a request. The server accepts bodies of 2 MiB; the envelope needs some room. */
const AT_ONCE = 1_000;
const BYTES = 1_900_000;

export interface Sent {
  /** The id of the `SentNotification`. */
  id: string;
  /** The same idempotency key was used before, so it was not sent again. */
  replayed: boolean;
}

export interface SenderOptions extends Access {
  /** The most attempts for a batch; default 8, about two minutes. */
  attempts?: number;
}

export class Sender {
  #options: SenderOptions;

  /** Needs the token of a service or an operator. */
  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /**
   * Sends in this order, and returns results in the same order. Each batch is sent completely or not at all. Inputs
   * without an idempotency key get one, so that a retry sends nothing twice. Fails with a `Failure` at the first batch
   * that the server refuses or that reaches the limit of attempts; its `sent` has the results of the batches before.
   */
  async send(inputs: readonly SendNotificationInput[]): Promise<Sent[]> {
    const sent: Sent[] = [];
    for (const batch of batches(inputs.map(keyed))) {
      try {
        sent.push(...(await this.#batch(batch)));
      } catch (error) {
        throw Object.assign(Failure.of(error), { sent });
      }
    }
    return sent;
  }

  async #batch(inputs: SendNotificationInput[]): Promise<Sent[]> {
    const { attempts = 8 } = this.#options;
    const backoff = new Backoff(1_000, 60_000);
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await request(this.#options, SendNotifications, { inputs });
        return answer.sendNotifications.map(({ notification: { id }, replayed }) => ({ id, replayed }));
      } catch (error) {
        const { code, retryAfter = 0 } = Failure.of(error);
        if (attempt >= attempts || ![OFFLINE, 'UNAVAILABLE', 'RATE_LIMITED', 'INTERNAL'].includes(code)) throw error;
        await new Promise((done) => setTimeout(done, Math.max(retryAfter, backoff.next())));
      }
    }
  }
}

function keyed(input: SendNotificationInput): SendNotificationInput {
  const [[kind, of]] = Object.entries(input) as [[string, { idempotencyKey?: string | null }]];
  return { [kind]: { ...of, idempotencyKey: of.idempotencyKey ?? crypto.randomUUID() } } as unknown as SendNotificationInput;
}

function batches(inputs: SendNotificationInput[]): SendNotificationInput[][] {
  const made: SendNotificationInput[][] = [];
  let bytes = Infinity;
  for (const input of inputs) {
    const own = new TextEncoder().encode(JSON.stringify(input)).length + 1;
    if (bytes + own > BYTES || made.at(-1)!.length >= AT_ONCE) {
      made.push([]);
      bytes = 0;
    }
    made.at(-1)!.push(input);
    bytes += own;
  }
  return made;
}
