// Random steps in several tabs, on another device and by a sender; after every few steps, each tab must match the API.
//
// `STEPS` and `SEED` set their number and the seed; a failure reports its seed and step.

import { isDeepStrictEqual } from 'node:util';

import { openBell, shown, until } from './scene.mjs';

const SEED = Number(process.env.SEED ?? 20261123);

/**
 * The time limit until all tabs match, in milliseconds. Some remote changes alter no count (for example, if a read item
 * is retracted) and cause no event: lists are reloaded every minute for those.
 */
const SETTLED = 75_000;

/** Reproducible random numbers from 0 to 1 (mulberry32). */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const MARKS = ['markRead', 'markUnread', 'archiveItems', 'deleteItems'];

/** Clicks an action of an item; returns whether it was there. */
const click = (page, id, act) =>
  page.evaluate(
    ([id, act]) => {
      const root = document.querySelector('tidings-bell').shadowRoot.querySelector('tidings-inbox').shadowRoot;
      const button = id ? root.querySelector(`article[data-id="${id}"] [data-act=${act}]`) : root.querySelector('.markAll');
      button?.click();
      return Boolean(button);
    },
    [id, act],
  );

async function walk(scene, { query = {}, tabs = 5, steps, freezes = false }) {
  const random = numbers(SEED);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const tenant = await scene.tenant();
  const sent = await tenant.send('ada', ['One', 'Two', { title: 'Three', type: 'release' }]);
  const device = await scene.device(tenant, 'ada');
  const pages = [];
  for (let n = 0; n < tabs; n++) {
    const page = await device.open(query);
    await openBell(page);
    page.life = await device.context.newCDPSession(page);
    pages.push(page);
  }
  let frozen;
  let slowest = 0;
  const freeze = async (page, state) => page.life.send('Page.setWebLifecycleState', { state });

  const elsewhere = (mark, id) =>
    tenant.ask('ada', `mutation($id: ID!) { ${mark}(select: { ids: [$id] }) { changedCount } }`, { id });
  const acts = {
    send: async () => {
      const contents = Array.from({ length: 1 + Math.floor(random() * 3) }, (_, n) => ({
        title: `Item ${sent.length + n}`,
        type: pick(['comment', 'release', 'billing']),
      }));
      sent.push(...(await tenant.send('ada', contents)));
    },
    retract: async () => tenant.retract(pick(sent)),
    elsewhere: async (items) => {
      if (items.length > 0) await elsewhere(pick(MARKS), pick(items).split(' ')[0]);
    },
    here: async (items) => {
      const page = pick(pages.filter((page) => page !== frozen));
      if (items.length > 0)
        await click(page, pick(items.slice(0, 10)).split(' ')[0], pick(['markRead', 'markUnread', 'archive', 'remove']));
    },
    all: async () => click(pick(pages.filter((page) => page !== frozen))),
  };

  // Up to eight steps at once, then waits until all tabs match.
  for (let round = 0, step = 0; step < steps; round++) {
    const { items } = await tenant.truth('ada');
    const done = [];
    for (let left = 1 + Math.floor(random() * 8); left > 0 && step < steps; left--, step++) {
      const chance = random();
      const act =
        chance < 0.35 ? 'send' : chance < 0.45 ? 'retract' : chance < 0.65 ? 'elsewhere' : chance < 0.96 ? 'here' : 'all';
      done.push(act);
      await acts[act](items);
    }
    if (freezes && round % 2 === 0) await freeze((frozen = pick(pages)), 'frozen');
    else if (freezes) {
      await freeze(frozen, 'active');
      frozen = undefined;
    }
    const began = Date.now();
    const live = pages.filter((page) => page !== frozen);
    const compare = async () => {
      const truth = await tenant.truth('ada');
      const seen = await Promise.all(
        live.map(async (page) => {
          const found = await shown(page);
          return { ...found, items: found.items.slice(0, 30) };
        }),
      );
      const wrong = seen.findIndex((one) => !isDeepStrictEqual(one, truth));
      return wrong < 0 ? { isSo: true } : { seed: SEED, step, done, tab: wrong, truth, seen: seen[wrong] };
    };
    await until('the tabs show what the API says', compare, ({ isSo }) => isSo, SETTLED, 150);
    slowest = Math.max(slowest, Date.now() - began);
    if (process.env.STEPS) console.log(`${step} steps, ${Date.now() - began} ms`);
  }
  const { complaints } = device;
  await device.close();
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
  return `seed ${SEED}, ${steps} steps in ${tabs} tabs, the slowest settled in ${slowest} ms`;
}

const STEPS = Number(process.env.STEPS ?? 60);

export const steps = (scene) => walk(scene, { steps: STEPS });
export const stepsWithoutLocks = (scene) => walk(scene, { steps: Math.ceil(STEPS / 3), tabs: 3, query: { locks: 'none' } });
export const stepsFrozen = (scene) => walk(scene, { steps: Math.ceil(STEPS / 2), tabs: 3, freezes: true });
