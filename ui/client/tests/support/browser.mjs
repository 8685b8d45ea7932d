// Mock browser tabs: locks, session storage, and pages that can be hidden and frozen.

import { setTimeout as sleep } from 'node:timers/promises';

import { Tidings } from '../../dist/index.js';
import { token } from './fake.mjs';
import { hasten } from './time.mjs';

/** The real duration of a store second, in seconds. */
export const PACE = Number(process.env.PACE ?? 0.02);

hasten(PACE);

export class FakeLocks {
  #queues = new Map();

  request(name, { signal }, work) {
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    return new Promise((resolve, reject) => {
      const entry = async () => {
        await null;
        if (!queue.includes(entry)) return;
        await Promise.resolve(work()).then(resolve, reject);
        queue.shift();
        queue[0]?.();
      };
      signal?.addEventListener('abort', () => {
        if (queue[0] === entry || !queue.includes(entry)) return;
        queue.splice(queue.indexOf(entry), 1);
        reject(new DOMException('aborted', 'AbortError'));
      });
      queue.push(entry);
      if (queue[0] === entry) void entry();
    });
  }
}

/** Entries are properties, as in browsers. */
export class FakeStorage {
  get length() {
    return Object.keys(this).length;
  }
  getItem(key) {
    return this[key] ?? null;
  }
  setItem(key, value) {
    this[key] = String(value);
  }
  removeItem(key) {
    delete this[key];
  }
  get text() {
    return JSON.stringify(this);
  }
}

export class FakePage {
  isHidden = false;
  ears = new Set();
  listen(heard) {
    this.ears.add(heard);
    return () => this.ears.delete(heard);
  }
  tell(what) {
    if (what === 'hidden') this.isHidden = true;
    if (what === 'shown') this.isHidden = false;
    for (const heard of [...this.ears]) heard[what]();
  }
}

let servers = 0;

/** A browser with tabs of one server; `close` closes all of them. */
export class Browser {
  locks = new FakeLocks();
  tabs = [];
  said = [];

  constructor(server) {
    this.server = server;
    this.name = `http://fake-${++servers}`;
    // Records messages between tabs for assertions.
    const { said } = this;
    this.Channel = class extends BroadcastChannel {
      postMessage(message) {
        said.push(JSON.stringify(message));
        super.postMessage(message);
      }
    };
  }

  /** Opens a tab with a subscribed store. */
  open({ sub = 'ada', callback, around = {}, watched = true, ...options } = {}) {
    const { server, locks } = this;
    const tab = { page: new FakePage(), storage: new FakeStorage(), callbacks: 0, heard: [], problems: [] };
    const ask = () => {
      tab.callbacks++;
      return callback ? callback(tab.callbacks) : token(sub);
    };
    const of = { fetch: server.fetch, WebSocket: server.WebSocket, locks, BroadcastChannel: this.Channel, storage: tab.storage, page: tab.page };
    tab.store = new Tidings({ server: this.name, token: ask, ...options }, { ...of, ...around });
    tab.storage = around.storage ?? tab.storage;
    tab.statuses = [];
    tab.store.onProblem((problem) => tab.problems.push(problem));
    if (watched) {
      tab.store.overview.subscribe(() => tab.statuses.push(tab.store.overview.get().status));
      tab.store.onItem((item) => tab.heard.push(item.id));
    }
    this.tabs.push(tab);
    return tab;
  }

  close() {
    for (const { store } of this.tabs) store.close();
  }
}

/** Waits until a condition holds, by default at most eight seconds. */
export async function until(what, is, millis = 8_000) {
  for (const end = performance.now() + millis; ; await sleep(2)) {
    if (await is()) return;
    if (performance.now() > end) throw new Error(`not within ${millis} ms: ${what}`);
  }
}

/** Runs a test with a browser and closes it. */
export const withBrowser = (server, work) => async () => {
  const made = server();
  const browser = new Browser(made);
  try {
    await work(browser, made);
  } finally {
    browser.close();
  }
};
