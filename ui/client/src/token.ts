// The token of whoever is signed in. It is kept in memory alone.

import { Backoff } from './backoff.js';
import { Failure, OFFLINE, UNAUTHENTICATED } from './failure.js';

/** How long before its end a token is renewed at the most: as long as the callback may take. Milliseconds. */
const MARGIN = 60_000;

export class Credentials {
  #ask: () => string | Promise<string>;
  /** Called with whom a new token is of. */
  #taken: (tenant: string, sub: string) => void;
  #token: string | undefined;
  #refusedToken: string | undefined;
  #asking: Promise<string> | undefined;
  /** When it is to be renewed, by our clock. */
  #renewAt = 0;
  /** Until when the callback is left alone. */
  #restUntil = 0;
  /** Tokens in a row that were refused. */
  #refusals = 0;
  #backoff = new Backoff(2_000, 300_000);
  #turn = 0;

  constructor(ask: () => string | Promise<string>, taken: (tenant: string, sub: string) => void) {
    this.#ask = ask;
    this.#taken = taken;
  }

  /** A token; fails with `UNAUTHENTICATED` while one was refused a moment ago, and with `OFFLINE` where there is none. */
  async get(): Promise<string> {
    const now = Date.now();
    if (now >= this.#restUntil && (!this.#token || now >= this.#renewAt)) return (this.#asking ??= this.#renew(this.#turn));
    if (this.#token) return this.#token;
    throw this.#refusals > 0 ? refused() : none();
  }

  /** For how many milliseconds `get` fails for sure. */
  get rest(): number {
    return Math.max(0, this.#restUntil - Date.now());
  }

  /** In how many milliseconds the token is to be renewed; below 0 if it should have been. */
  get left(): number {
    return this.#renewAt - Date.now();
  }

  /** The server does not take this one. The callback is asked for another at once, and then more and more seldom. */
  refused(token: string): void {
    // An answer to what was asked with an older one.
    if (token !== this.#token) return;
    this.#refusedToken = token;
    this.#token = undefined;
    if (this.#refusals++ > 0) this.#pause();
  }

  /** The server has taken this one. */
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
      // What it throws at once is thrown later, when it is known that it is being asked.
      const token = await Promise.resolve().then(this.#ask);
      if (turn !== this.#turn) throw new Failure(UNAUTHENTICATED, 'signed out');
      if (typeof token !== 'string' || !token) throw none();
      if (token === this.#refusedToken) {
        // The server need not be asked twice.
        this.#refusals++;
        this.#pause();
        throw refused();
      }
      this.#take(token);
      return token;
    } catch (error) {
      if (turn === this.#turn) {
        if (Date.now() >= this.#restUntil) this.#pause();
        // It was to be renewed, and is good for a while.
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
    // One that is over already by our clock is so because the clock is wrong: then the server says when it is over.
    this.#renewAt = left > 0 ? Date.now() + Math.max(left - Math.min(MARGIN, left / 4), 1000) : Infinity;
    this.#taken(`${tenant}`, `${sub}`);
  }
}

const none = () => new Failure(OFFLINE, 'the callback gave no token');
const refused = () => new Failure(UNAUTHENTICATED, 'the server does not take the token');

/** What a JWT says of itself, unchecked: it names things in this browser, and gives no rights. */
function claims(token: string): Record<string, unknown> {
  try {
    const part = token.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/');
    const bytes = Uint8Array.from(atob(part), (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) ?? {};
  } catch {
    return {};
  }
}
