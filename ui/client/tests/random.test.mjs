// In whatever order responses and events arrive: once nothing is in flight, every tab matches the server.
//
// SEEDS and STEPS make the test longer; SEED runs a single seed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { FakeTidings } from './support/fake.mjs';
import { Browser, until } from './support/browser.mjs';

const STEPS = Number(process.env.STEPS ?? 60);
const SEEDS = process.env.SEED ? [Number(process.env.SEED)] : Array.from({ length: Number(process.env.SEEDS ?? 12) }, (_, n) => n + 1);

/** Mulberry32: reproducible random numbers from 0 to 1. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const CHANGES = ['read', 'unread', 'archive', 'unarchive', 'remove'];
const CALLS = { read: 'markRead', unread: 'markUnread', archive: 'archive', unarchive: 'unarchive', remove: 'remove' };
const FILTERS = [{}, { read: false }, { state: 'ARCHIVED' }, { types: ['b'], read: true }];

for (const seed of SEEDS) {
  test(`seed ${seed}`, { timeout: 60_000 }, async () => {
    const dice = random(seed);
    const pick = (of) => of[Math.floor(dice() * of.length)];
    const server = new FakeTidings();
    const browser = new Browser(server);
    // Delays responses, events, or both.
    const slow = dice() * 12;
    server.delay = () => dice() * slow;
    server.mergeMillis = 1 + dice() * 10;
    const around = seed % 4 === 0 ? { locks: undefined } : {};
    const tabs = [0, 1, 2].map(() => browser.open({ around }));
    const lists = tabs.map(({ store }) => FILTERS.map((filter) => store.inbox(filter)));
    lists.flat().forEach((list) => list.subscribe(() => {}));

    const step = async () => {
      const tab = pick(tabs);
      const chance = dice();
      const ids = () => server.items.filter(() => dice() < 0.2).slice(0, 5).map(({ id }) => id);
      if (chance < 0.35) for (let n = Math.floor(dice() * 4); n >= 0; n--) server.send(pick(['a', 'b']));
      else if (chance < 0.6) tab.store[CALLS[pick(CHANGES)]]({ ids: ids() }).catch(() => {});
      else if (chance < 0.7) {
        const [item] = tab.store.inbox().get().items;
        if (item) tab.store[CALLS[pick(['read', 'archive'])]]({ upTo: item.cursor, ...(dice() < 0.5 && { types: ['a'] }) }).catch(() => {});
      } else if (chance < 0.85) {
        // By another device, or a retraction; sometimes reverted at once.
        const of = ids();
        server.mark(pick(CHANGES), of);
        if (dice() < 0.3) server.mark('unread', of);
      } else if (chance < 0.89) server.closeAll(pick([1006, 1012, 4403]));
      else if (chance < 0.905) {
        // The network goes away and returns, sometimes without an `online` event.
        server.isAway = true;
        server.closeAll();
        void sleep(dice() * 60).then(() => {
          server.isAway = false;
          if (dice() < 0.7) for (const { page } of tabs) page.tell('online');
        });
      } else if (chance < 0.92) {
        tab.page.tell('frozen');
        void sleep(dice() * 30).then(() => tab.page.tell('thawed'));
      } else if (chance < 0.95) tab.page.tell(tab.page.isHidden ? 'shown' : 'hidden');
      else if (chance < 0.97) void pick(pick(lists)).fetchMore().catch(() => {});
      else void pick(pick(lists)).refresh().catch(() => {});
      if (dice() < 0.7) await sleep(dice() * 8);
    };

    const compare = () => {
      const { unread, types } = server.overview();
      for (const { store } of tabs) {
        const { status, ...shown } = store.overview.get();
        assert.deepEqual({ status, unread: shown.unread, types: shown.types }, { status: 'ready', unread, types });
      }
      for (const of of lists) {
        of.forEach((list, place) => {
          const expected = server.list(FILTERS[place]).map(({ id, isRead, isArchived }) => ({ id, isRead, isArchived }));
          const { items, hasMore } = list.get();
          const length = Math.max(30, items.length);
          assert.deepEqual(items.map(({ id, isRead, isArchived }) => ({ id, isRead, isArchived })), expected.slice(0, length));
          assert.equal(hasMore, expected.length > items.length);
        });
      }
    };

    try {
      for (let n = 0; n < STEPS; n++) {
        await step();
        if (n % 20 !== 19) continue;
        for (const { page } of tabs) if (page.isHidden) page.tell('shown');
        await sleep(40);
        await until('the network', () => !server.isAway);
        let problem;
        // A minute at this pace, when lists are reloaded in any case, plus a reconnect.
        await until('settled', () => {
          try {
            compare();
            return true;
          } catch (error) {
            problem = error;
            return false;
          }
        }, 4_000).catch(() => {
          throw problem;
        });
        // It must stay so.
        await sleep(60);
        compare();
      }
      for (const { heard } of tabs) assert.equal(new Set(heard).size, heard.length, 'nothing was announced twice');
    } finally {
      browser.close();
    }
  });
}
