// The user's token, kept only in memory.

import { Backoff } from './backoff.js';
import { Failure, OFFLINE, UNAUTHENTICATED } from './failure.js';

/** How long before its expiry a token is renewed at most, in milliseconds: the time that the callback may take. */
const MARGIN = 60_000;

export class Credentials {
  #ask: () => string | Promise<string>;
  /** Called with the user of each new token. */
  #taken: (tenant: string, sub: string) => void;
  #token: string | undefined;
  #refusedToken: string | undefined;
  #asking: Promise<string> | undefined;
  /** When to renew the token, by our clock. */
  #renewAt = 0;
  /** Do not call the callback before this time. */
  #restUntil = 0;
  /** The number of consecutive refused tokens. */
  #refusals = 0;
  #backoff = new Backoff(2_000, 300_000);
  #turn = 0;

  constructor(ask: () => string | Promise<string>, taken: (tenant: string, sub: string) => void) {
    this.#ask = ask;
    this.#taken = taken;
  }

  /** A token. Fails with `UNAUTHENTICATED` shortly after a refusal, and with `OFFLINE` if the callback gives none. */
  async get(): Promise<string> {
    const now = Date.now();
    if (now >= this.#restUntil && (!this.#token || now >= this.#renewAt)) return (this.#asking ??= this.#renew(this.#turn));
    if (this.#token) return this.#token;
    throw this.#refusals > 0 ? refused() : none();
  }

  /** For how many milliseconds `get` is certain to fail. */
  get rest(): number {
    return Math.max(0, this.#restUntil - Date.now());
  }

  /** Milliseconds until the token must be renewed; negative if overdue. */
  get left(): number {
    return this.#renewAt - Date.now();
  }

  /** The server has refused this token. Another is requested at once, and after that at growing intervals. */
  refused(token: string): void {
    // A late response to a request with an older token.
    if (token !== this.#token) return;
    this.#refusedToken = token;
    this.#token = undefined;
    if (this.#refusals++ > 0) this.#pause();
  }

  /** The server has accepted this token. */
  accepted(token: string): void {
    if (token !== this.#token) return;
    this.#refusals = 0;
    this.#backoff.reset();
  }

  forget(): void {
    this.#turn++;
    this.#token = this.#refusedToken = this.#asking = undefined;
    this.#refusals = this.#renewAt = this.#restUntil = 0;
    this.#backoff.reset();
  }

  #pause(): void {
    this.#restUntil = Date.now() + this.#backoff.next();
  }

  async #renew(turn: number): Promise<string> {
    try {
      // In a promise, so that a synchronous error of the callback also becomes a rejection.
      const token = await Promise.resolve().then(this.#ask);
      if (turn !== this.#turn) throw new Failure(UNAUTHENTICATED, 'signed out');
      if (typeof token !== 'string' || !token) throw none();
      if (token === this.#refusedToken) {
        // The same token again: the server would refuse it again.
        this.#refusals++;
        this.#pause();
        throw refused();
      }
      this.#take(token);
      return token;
    } catch (error) {
      if (turn === this.#turn) {
        if (Date.now() >= this.#restUntil) this.#pause();
        // Renewal failed, but the current token is still valid.
        if (this.#token) return this.#token;
      }
      throw Failure.of(error);
    } finally {
      if (turn === this.#turn) this.#asking = undefined;
    }
  }

  #take(token: string): void {
    this.#token = token;
    const { tenant = '', sub = '', exp } = claims(token);
    const left = Number(exp) * 1000 - Date.now();
    // A new token that seems expired means that our clock is wrong: wait until the server refuses it.
    this.#renewAt = left > 0 ? Date.now() + Math.max(left - Math.min(MARGIN, left / 4), 1000) : Infinity;
    this.#taken(`${tenant}`, `${sub}`);
  }
}

const none = () => new Failure(OFFLINE, 'the callback gave no token');
const refused = () => new Failure(UNAUTHENTICATED, 'the server does not take the token');

/** The claims of a JWT, unverified: only used for names in this browser, not for permissions. */
function claims(token: string): Record<string, unknown> {
  try {
    const part = token.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/');
    const bytes = Uint8Array.from(atob(part), (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) ?? {};
  } catch {
    return {};
  }
}
