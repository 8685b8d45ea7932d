// A minimal client of the protocol `graphql-transport-ws`.

import { Timer } from './timer.js';
import type { Surroundings } from './surroundings.js';

/** Connect time-out in milliseconds. */
const CONNECT_WITHIN = 15_000;

/** The ping interval in milliseconds. Without any message since the last ping, the connection counts as lost. */
const PING_EVERY = 15_000;

export interface Heard {
  /** The server has accepted the token. */
  ready(): void;
  next(id: string, data: any): void;
  error(id: string, errors: any[]): void;
  /** The connection is closed, by either side; code 1006 if no close frame came. */
  closed(code: number): void;
}

export class Socket {
  #socket: WebSocket;
  #timer = new Timer();
  #heard: Heard;
  #isHeard = true;

  constructor(around: Surroundings, url: string, token: string, heard: Heard) {
    this.#heard = heard;
    const socket = (this.#socket = new around.WebSocket!(url, 'graphql-transport-ws'));
    // Closing before it is open emits an error first, which must be handled outside of browsers.
    socket.onerror = () => {};
    socket.onopen = () => this.#send({ type: 'connection_init', payload: { authorization: token } });
    socket.onmessage = ({ data }) => this.#hear(data);
    socket.onclose = ({ code }) => this.#end(code);
    this.#timer.set(CONNECT_WITHIN, () => this.#end(1006));
  }

  subscribe(id: string, query: string, variables: object): void {
    this.#send({ id, type: 'subscribe', payload: { query, variables } });
  }

  /** Replaces the token of the open connection. */
  renew(token: string): void {
    this.#send({ type: 'ping', payload: { authorization: token } });
  }

  /** Closes the connection; no further callbacks. */
  close(): void {
    this.#timer.clear();
    const socket = this.#socket;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(1000);
  }

  #end(code: number): void {
    this.close();
    this.#heard.closed(code);
  }

  #send(message: object): void {
    if (this.#socket.readyState === 1) this.#socket.send(JSON.stringify(message));
  }

  #hear(text: unknown): void {
    this.#isHeard = true;
    let message;
    try {
      message = JSON.parse(String(text));
    } catch {
      return this.#end(4400);
    }
    const { type, id, payload } = message ?? {};
    if (type === 'connection_ack') {
      this.#watch();
      this.#heard.ready();
    } else if (type === 'next') {
      if (payload?.errors) this.#heard.error(id, payload.errors);
      else this.#heard.next(id, payload?.data);
    } else if (type === 'error') this.#heard.error(id, payload);
    else if (type === 'complete') this.#heard.error(id, []);
    else if (type === 'ping') this.#send({ type: 'pong' });
  }

  #watch(): void {
    this.#timer.set(PING_EVERY, () => {
      if (!this.#isHeard) return this.#end(1006);
      this.#isHeard = false;
      this.#send({ type: 'ping' });
      this.#watch();
    });
  }
}
