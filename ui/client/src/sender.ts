// Sends from a backend: many at once, in batches, each of them once, however often it has to be tried.

import { Backoff } from './backoff.js';
import { Failure, OFFLINE } from './failure.js';
import { SendNotifications } from './operations.js';
import type { SendNotificationInput } from './operations.js';
import { request } from './typed.js';
import type { Access } from './typed.js';

export type { SendAnnouncementInput, SendMessageInput, SendNotificationInput, SendReminderInput } from './operations.js';
export { Failure } from './failure.js';

/** The most that the server takes at once: notifications, and bytes of a body of 2 MiB with room for what is around them. */
const AT_ONCE = 1_000;
const BYTES = 1_900_000;

export interface Sent {
  /** `SentNotification.id`. */
  id: string;
  /** It had been sent before under the same idempotency key, and was not sent again. */
  replayed: boolean;
}

export interface SenderOptions extends Access {
  /** How often a batch is tried, 8 times where it is left out: about two minutes. */
  attempts?: number;
}

export class Sender {
  #options: SenderOptions;

  /** With the token of a service or an operator. */
  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /**
   * Sends in this order, in batches that are sent all or none, and answers in the same order. What has no idempotency key gets one, so
   * that nothing is sent twice when a batch is tried again. Fails with a `Failure` at the first batch that the server refuses or that
   * was tried too often; `sent` of it are those of the batches before.
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
