// A random walk: a user and services act, and after each step the store must match a fresh response of the server.
//
// After the user's own mutations nothing is reloaded: their responses must be enough for all counts, and for items
// named by id. After an action of a service, the device reloads. A second device of the same user only subscribes, and
// must soon show the same overview and the same unread counts of views.

import assert from 'node:assert/strict';

import { Random } from './random.mjs';
import { until } from './report.mjs';
import { fresh, shown } from './visible.mjs';

const TYPES = ['news', 'talk', 'alarm'];
const ACTIONS = ['comment', 'like', 'share'];
const TARGETS = ['7', '8'].flatMap((externalId) => ['order', 'document'].map((type) => ({ type, externalId })));
const VIEWS = ['chat', 'feed'].flatMap((code) => ['7', '8', '9'].map((externalId) => ({ code, externalId })));
const OPEN = VIEWS.filter(({ code }) => code === 'chat');

/** The user's mutations and their weights. */
const OWN = {
  markRead: 10,
  markUnread: 7,
  archiveItems: 6,
  unarchiveItems: 5,
  deleteItems: 4,
  markSeen: 5,
  subscribeTopic: 7,
  unsubscribeTopic: 4,
  followUser: 2,
  unfollowUser: 2,
  updatePreferences: 6,
  visitView: 7,
  joinView: 5,
  leaveView: 4,
};

/** Actions of services and their weights. */
const FOREIGN = { message: 10, announce: 4, remind: 8, activity: 8, join: 3, leave: 1, retract: 2, mark: 3, members: 1 };

const MARKS = ['markRead', 'markUnread', 'archiveItems', 'unarchiveItems', 'deleteItems'];

class Walk {
  constructor(device, listener, seed) {
    Object.assign(this, { device, listener, world: device.world, random: new Random(seed) });
    this.gone = [];
    this.number = 0;
  }

  get title() {
    this.number += 1;
    return `number ${this.number}`;
  }

  /** Reads the current state from the server. */
  async look() {
    this.now = await fresh(this.world);
    return this.now;
  }

  items() {
    return this.device.look().inbox.edges.map(({ node }) => node);
  }

  /** Selects items by id, some of them deleted, or by a condition. */
  select() {
    const { random } = this;
    const items = this.items();
    if (items.length > 0 && random.happens(0.65)) {
      const ids = random.some(items.map(({ id }) => id), 4);
      if (this.gone.length > 0 && random.happens(0.2)) ids.push(random.one(this.gone));
      return { ids };
    }
    const matching = {};
    if (random.happens(0.6)) matching.types = random.some(TYPES, 2);
    if (random.happens(0.2)) matching.target = random.one(TARGETS);
    return { matching };
  }

  variables(name) {
    const { random } = this;
    const topic = () => random.one(TARGETS);
    switch (name) {
      case 'markSeen':
        return random.happens(0.5) ? {} : { type: random.one(TYPES) };
      case 'subscribeTopic': {
        const what = random.happens(0.3) ? { reason: 'owner' } : { actions: random.some(ACTIONS, 2) };
        return { input: { target: topic(), what } };
      }
      case 'unsubscribeTopic': {
        const what = random.happens(0.4) ? { everything: true } : { actions: random.some(ACTIONS, 2) };
        return { input: { target: topic(), what } };
      }
      case 'followUser':
      case 'unfollowUser':
        return { user: random.one(['7', 'bob', 'eve']) };
      case 'updatePreferences':
        return this.switches();
      case 'visitView':
        return { key: random.one([...OPEN, ...this.device.look().views.map(({ code, externalId }) => ({ code, externalId }))]) };
      case 'joinView':
      case 'leaveView':
        return { key: random.one(OPEN) };
      default:
        return { select: this.select() };
    }
  }

  /** Switches for types and actions: sets some and resets some. */
  switches() {
    const { random } = this;
    const turn = (code) => ({ code, enabled: code === 'alarm' || random.happens(0.6) });
    const [types, actions] = [random.some(TYPES, 2), random.some(ACTIONS, 2)];
    return random.happens(0.3)
      ? { resetTypes: types, actions: actions.map(turn) }
      : { types: types.map(turn), resetActions: actions };
  }

  /** Runs a mutation of the user and returns its description. */
  async own() {
    const name = this.random.weighed(OWN);
    const variables = this.variables(name);
    const { device, now: before } = this;
    const requests = device.requests;
    const answer = await device.mutate(name, variables);
    const after = await this.look();
    const what = `${name} ${JSON.stringify(variables)} answered ${JSON.stringify(answer)}`;
    this.answered(answer, variables, before, after, what);
    const isBulk = name === 'markSeen' || variables.select?.matching !== undefined;
    const store = shown(device.look());
    // A bulk mark does not return its items, so a client reloads its list.
    if (isBulk) store.items = after.items;
    assert.deepEqual(store, after, what);
    assert.equal(device.requests - requests, 1, `${what}: it asked again`);
    if (isBulk) {
      await device.load();
      this.loaded(what);
    }
    return what;
  }

  /** Checks a response beyond its effect on the store. */
  answered(answer, { select }, before, after, what) {
    if (answer.changedCount !== undefined) {
      assert.equal(answer.affectedTypes.length > 0, answer.changedCount > 0, what);
      const alive = new Set(after.items.map(({ id }) => id));
      const asked = (select?.ids ?? []).filter((id) => alive.has(id));
      assert.deepEqual(answer.items.map(({ id }) => id).sort(), asked.sort(), what);
      assert.ok(answer.deletedIds.every((id) => !alive.has(id)), what);
      this.gone.push(...before.items.map(({ id }) => id).filter((id) => !alive.has(id)));
    }
    const more = after.subscriptions.length - before.subscriptions.length;
    if (answer.createdCount !== undefined) assert.equal(answer.createdCount, more, what);
    if (answer.removedCount !== undefined) {
      assert.equal(answer.removedCount, 0 - more, what);
      assert.equal(answer.deletedIds.length, 0 - more, what);
    }
  }

  /** Runs an action of a service and returns its description. */
  async foreign() {
    const { random, world } = this;
    const name = random.weighed(FOREIGN);
    const sender = random.one(['7', 'bob', 'eve']);
    switch (name) {
      case 'message':
        await world.message(random.one(TYPES), this.title, sender);
        break;
      case 'announce':
        await world.announce(random.one(TYPES), this.title, random.one([{ everyone: true }, { groups: ['crew'] }]));
        break;
      case 'remind':
        await world.remind(random.one(TYPES), this.title, random.one(TARGETS), random.one(ACTIONS), sender);
        break;
      case 'activity':
        await world.activity(random.one(VIEWS), random.one(['bob', 'eve', world.user]));
        break;
      case 'join':
      case 'leave':
        await world[name](random.one(VIEWS));
        break;
      case 'retract': {
        const items = this.items();
        if (items.length > 0) await world.retract(random.one(items).notificationId);
        break;
      }
      case 'mark':
        await this.mark(random.one(MARKS), this.select());
        break;
      case 'members':
        await world.asService(
          `mutation($users: [ID!]!) { ${random.one(['add', 'remove'])}UserGroupMembers(code: "crew", users: $users) { code } }`,
          { users: [world.user] },
        );
        break;
    }
    await Promise.all([this.look(), this.device.load()]);
    this.loaded(name);
    return name;
  }

  /** A service marks the user's items, as another device would. */
  async mark(name, select) {
    const { world } = this;
    const answer = (await world.mark(name, select))[name];
    assert.equal(answer.viewer, null);
    const { overview } = await this.look();
    assert.equal(`${answer.inboxUser.overview.unread.count}`, overview.unread);
  }

  loaded(what) {
    assert.deepEqual(shown(this.device.look()), this.now, `loaded after ${what}`);
  }

  /** The subscribed device has received everything. */
  async heard(what) {
    const { overview, views } = this.now;
    await until(() => {
      assert.deepEqual(shown(this.listener.look()).overview, overview, `heard after ${what}`);
      for (const { id, key, unread } of views) {
        const known = this.listener.unread(id);
        if (known !== undefined) assert.equal(`${known}`, unread, `unread of ${key} heard after ${what}`);
      }
    });
  }

  async run(steps) {
    const { world, device, listener } = this;
    await world.asService('mutation { saveUserGroup(code: "crew", title: "Crew") { id } }');
    for (let times = 0; times < 12; times += 1) await world.message(TYPES[times % 3], this.title);
    // A view without any activity cannot be left.
    for (const key of VIEWS) await world.activity(key);
    await Promise.all([this.look(), device.load(), listener.load()]);
    listener.hear('viewChanged');
    listener.hear('overviewChanged');
    await until(() => assert.ok(listener.heard.has('overviewChanged'), 'nothing is heard'));
    const done = [];
    for (let step = 0; step < steps; step += 1) {
      try {
        const isOwn = this.random.happens(0.72);
        const what = await (isOwn ? this.own() : this.foreign());
        done.push(what.slice(0, 150));
        if (this.random.happens(0.12)) await this.heard(what);
      } catch (error) {
        error.stack = `step ${step}, after\n  ${done.slice(-5).join('\n  ')}\n${error.stack}`;
        throw error;
      }
    }
    await this.heard('all');
  }
}

/** Walks this many steps with two devices of a user. */
export function walk(device, listener, seed, steps) {
  return new Walk(device, listener, seed).run(steps);
}

/** The seed from `TIDINGS_SEED`, or a random one. */
export const seed = () => Number(process.env.TIDINGS_SEED ?? Math.floor(Math.random() * 1e9));
