// A model of a tenant, with random operations. Each operation runs on a server first, and the response must match the
// model. In the model, everything arrives at once.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { until } from '../markdown.mjs';

export const USERS = ['ada', 'bob', 'cyd', 'dan'];
const GROUPS = ['crew', 'staff'];
const TARGETS = ['d1', 'd2'];
const ACTIONS = ['comment', 'like'];

/** In catalogue order. Users cannot switch off a mandatory type; items of an `AUTO` type become read when seen. */
const TYPES = [
  { code: 'alert', title: 'Alerts', position: 1, mandatory: true },
  { code: 'chat', title: 'Chat', position: 2, readPolicy: 'AUTO' },
  { code: 'news', title: 'News', position: 3 },
];
const CODES = TYPES.map(({ code }) => code);
const MANDATORY = 'alert';
const AUTO = 'chat';

/** Operations and their weights. */
const STEPS = { send: 8, mark: 7, hear: 5, gather: 3, prefer: 2, see: 1, amend: 1, retract: 1 };

/** How soon scheduled notifications are published, in milliseconds. */
const SOON = 1_000;

const SENT = '{ replayed notification { id } }';
const MARKS = { markRead: 3, markUnread: 2, archiveItems: 3, unarchiveItems: 2, deleteItems: 1 };

const on = (target) => ({ type: 'doc', externalId: target });
const topic = (target, action) => `${target} ${action}`;

export class Tenant {
  /** The published notifications, oldest first. */
  log = [];
  groups = new Map(GROUPS.map((code) => [code, new Set()]));
  users = new Map();
  count = 0;

  /**
   * `ask(role, sub, query, variables)` runs an operation on any server. `settled()` waits until all live sessions have
   * received everything: an item that is deleted earlier may never arrive.
   */
  constructor(random, ask, settled) {
    Object.assign(this, { random, settled });
    this.ask = ask;
    for (const name of USERS) {
      const sets = { topics: new Set(), follows: new Set(), groups: new Set(), off: new Set() };
      this.users.set(name, { name, inbox: new Map(), heard: [], shown: new Map(), seen: 0, ...sets });
    }
  }

  /** Creates the catalogue, the groups and the users. */
  async begin() {
    const define = 'mutation($input: MessageTypeInput!) { saveMessageType(input: $input) { code } }';
    for (const input of TYPES) await this.ask('admin', 'operator', define, { input });
    for (const code of GROUPS) await this.#save(code);
    for (const name of USERS) await this.ask('user', name, '{ viewer { overview { unread { count } } } }');
  }

  /** Runs a random operation. */
  step() {
    return this[this.random.weighed(STEPS)]();
  }

  #service(query, variables) {
    return this.ask('service', 'shop', query, variables);
  }

  /** Prefers Ada, so that one inbox gets more items. */
  #someone() {
    return this.users.get(this.random.happens(0.4) ? USERS[0] : this.random.one(USERS));
  }

  /** A random notification of any kind: its name in a batch, its input, and its recipients. */
  #draft() {
    const { random } = this;
    this.count += 1;
    const type = random.one(CODES);
    const sender = random.happens(0.5) ? random.one(USERS) : undefined;
    const input = { type, content: { title: `${type} ${this.count}` }, idempotencyKey: `key ${this.count}`, sender };
    const draft = { type, sender, title: input.content.title };
    const announcement = (audience, reaches) => ({ ...draft, kind: 'announcement', input: { ...input, audience }, reaches });
    switch (random.weighed({ everyone: 2, groups: 1, users: 2, message: 2, reminder: 5 })) {
      case 'groups': {
        const groups = random.some([...this.groups.keys()], GROUPS.length);
        if (groups.length > 0) return announcement({ groups }, (user) => groups.some((code) => user.groups.has(code)));
      }
      // With no group, it is for everyone.
      case 'everyone':
        return announcement({ everyone: true }, () => true);
      case 'users': {
        const users = random.some(USERS, USERS.length);
        return announcement({ users }, ({ name }) => users.includes(name));
      }
      case 'message': {
        const receiver = random.one(USERS);
        return { ...draft, kind: 'message', input: { ...input, receiver }, reaches: ({ name }) => name === receiver };
      }
      default: {
        const [target, action] = [random.one(TARGETS), random.one(ACTIONS)];
        const hears = (user) =>
          user.name !== sender &&
          (user.topics.has(topic(target, action)) ||
            user.follows.has(sender) ||
            [...user.groups].some((code) => this.groups.get(code).has(topic(target, action))));
        return { ...draft, kind: 'reminder', target, action, input: { ...input, target: on(target), action }, reaches: hears };
      }
    }
  }

  /** Sends one, or several in a batch; sometimes repeats the request, which must return the same response. */
  async send() {
    const drafts = Array.from({ length: this.random.happens(0.6) ? 1 : 3 }, () => this.#draft());
    const attempt = async () => {
      const [{ kind, input }] = drafts;
      const name = `Send${kind[0].toUpperCase()}${kind.slice(1)}`;
      const alone = `mutation($of: ${name}Input!) { sent: ${name[0].toLowerCase()}${name.slice(1)}(input: $of) ${SENT} }`;
      if (drafts.length === 1) return [(await this.#service(alone, { of: input })).sent];
      const together = `mutation($of: [SendNotificationInput!]!) { sent: sendNotifications(inputs: $of) ${SENT} }`;
      return (await this.#service(together, { of: drafts.map(({ kind, input }) => ({ [kind]: input })) })).sent;
    };
    const sent = await attempt();
    assert.deepEqual(sent.map(({ replayed }) => replayed), drafts.map(() => false), 'it is new');
    drafts.forEach((draft, place) => this.#publish(draft, sent[place].notification.id));
    if (this.random.happens(0.2)) {
      const again = sent.map(({ notification }) => ({ replayed: true, notification }));
      assert.deepEqual(await attempt(), again, 'it was sent before');
    }
  }

  /** Schedules a notification; any node may publish it. */
  async later() {
    const draft = this.#draft();
    const publishAt = new Date(Date.now() + SOON).toISOString();
    const query = `mutation($of: [SendNotificationInput!]!) { sent: sendNotifications(inputs: $of) ${SENT} }`;
    const { sent } = await this.#service(query, { of: [{ [draft.kind]: { ...draft.input, publishAt } }] });
    const { id } = sent[0].notification;
    await sleep(SOON);
    const status = 'query($id: ID!) { sentNotification(id: $id) { status } }';
    const isPublished = async () => (await this.#service(status, { id })).sentNotification.status === 'PUBLISHED';
    await until(isPublished, `${draft.title} is not published`);
    this.#publish(draft, id);
  }

  #publish({ type, title, target, action, reaches }, id) {
    const place = this.log.push({ id, type, title, target }) - 1;
    for (const user of this.users.values()) {
      const isWanted = type === MANDATORY || !(user.off.has(type) || user.off.has(action));
      if (!isWanted || !reaches(user)) continue;
      user.inbox.set(place, { isRead: false, isArchived: false });
      user.heard.push(id);
    }
  }

  /** Marks items by id or by condition. Conditions match the inbox proper, or the archive for `unarchiveItems`. */
  async mark() {
    const user = this.#someone();
    const how = this.random.weighed(MARKS);
    const [select, isMeant] = this.#selection(user, how);
    if (how === 'deleteItems') await this.settled();
    const query = `mutation($of: InboxItemSelector!) { mark: ${how}(select: $of) { changedCount } }`;
    const { mark } = await this.ask('user', user.name, query, { of: select });
    assert.equal(mark.changedCount, this.#change(user, how, isMeant), `${how} by ${JSON.stringify(select)}`);
  }

  #selection(user, how) {
    const shown = [...user.shown];
    if (shown.length > 0 && this.random.happens(0.5)) {
      const chosen = this.random.some(shown, 4);
      const places = chosen.map(([place]) => place);
      return [{ ids: chosen.map(([, { id }]) => id) }, (place) => places.includes(place)];
    }
    const types = this.random.happens(0.5) ? this.random.some(CODES, CODES.length) : undefined;
    const target = this.random.happens(0.3) ? this.random.one(TARGETS) : undefined;
    const [upTo, { cursor } = {}] = shown.length > 0 && this.random.happens(0.5) ? this.random.one(shown) : [Infinity];
    const isMeant = (place, { isArchived }) =>
      isArchived === (how === 'unarchiveItems') &&
      (types?.includes(this.log[place].type) ?? true) &&
      (target === undefined || this.log[place].target === target) &&
      place <= upTo;
    return [{ matching: { types, target: target && on(target), upTo: cursor } }, isMeant];
  }

  /** Applies a mark to the model; returns the number of changed items. */
  #change({ inbox }, how, isMeant) {
    const to = {
      markRead: { isRead: true },
      markUnread: { isRead: false },
      archiveItems: { isArchived: true },
      unarchiveItems: { isArchived: false },
    }[how];
    let changed = 0;
    for (const [place, item] of [...inbox].filter(([place, item]) => isMeant(place, item))) {
      changed += to && Object.entries(to).every(([name, value]) => item[name] === value) ? 0 : 1;
      if (to) inbox.set(place, { ...item, ...to });
      else inbox.delete(place);
    }
    return changed;
  }

  /** A user sees the whole inbox, or one type. */
  async see() {
    const user = this.#someone();
    const type = this.random.happens(0.5) ? this.random.one(CODES) : undefined;
    const isMeant = (place, { isArchived }) => !isArchived && this.log[place].type === AUTO;
    if (type === undefined || type === AUTO) this.#change(user, 'markRead', isMeant);
    if (type === undefined) user.seen = this.log.length;
    const query = 'mutation($type: String) { markSeen(type: $type) { viewer { overview { unread { count } } } } }';
    const { markSeen } = await this.ask('user', user.name, query, { type });
    assert.equal(markSeen.viewer.overview.unread.count, this.standing(user).unread.count, 'unread after looking');
  }

  /** A user or group subscribes or unsubscribes; a user follows or unfollows another. */
  async hear() {
    const user = this.#someone();
    if (this.random.happens(0.3)) {
      const other = this.random.one(USERS.filter((name) => name !== user.name));
      const how = this.random.weighed({ followUser: 2, unfollowUser: 1 });
      await this.#service(`mutation($id: ID!, $own: ID!) { ${how}(user: $id, follower: $own) { user { id } } }`, { id: other, own: user.name });
      if (how === 'followUser') user.follows.add(other);
      else user.follows.delete(other);
      return;
    }
    const group = this.groups.size > 0 && this.random.happens(0.3) ? this.random.one([...this.groups.keys()]) : undefined;
    const topics = group ? this.groups.get(group) : user.topics;
    const who = group ? { group } : { user: user.name };
    const [target, actions] = [this.random.one(TARGETS), this.random.some(ACTIONS, ACTIONS.length)];
    const input = { who, target: on(target), what: { actions } };
    const before = topics.size;
    if (this.random.happens(0.7)) {
      const query = 'mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }';
      actions.forEach((action) => topics.add(topic(target, action)));
      const { subscribeTopic } = await this.#service(query, { input });
      assert.equal(subscribeTopic.createdCount, topics.size - before, `subscribeTopic by ${JSON.stringify(input)}`);
    } else {
      const query = 'mutation($input: UnsubscribeTopicInput!) { unsubscribeTopic(input: $input) { removedCount } }';
      actions.forEach((action) => topics.delete(topic(target, action)));
      const { unsubscribeTopic } = await this.#service(query, { input });
      assert.equal(unsubscribeTopic.removedCount, before - topics.size, `unsubscribeTopic by ${JSON.stringify(input)}`);
    }
  }

  /** Creates and deletes groups, and changes their members. */
  async gather() {
    const code = this.random.one(GROUPS);
    if (!this.groups.has(code)) return this.#save(code);
    const members = [...this.users.values()].filter(() => this.random.happens(0.5));
    const how = this.random.weighed({ addUserGroupMembers: 4, removeUserGroupMembers: 2, deleteUserGroup: 1 });
    if (how === 'deleteUserGroup') {
      await this.#service('mutation($code: String!) { deleteUserGroup(code: $code) { deletedId } }', { code });
      this.groups.delete(code);
      this.users.forEach(({ groups }) => groups.delete(code));
      return undefined;
    }
    const query = `mutation($code: String!, $users: [ID!]!) { group: ${how}(code: $code, users: $users) { memberCount } }`;
    members.forEach(({ groups }) => (how === 'addUserGroupMembers' ? groups.add(code) : groups.delete(code)));
    const { group } = await this.#service(query, { code, users: members.map(({ name }) => name) });
    const count = [...this.users.values()].filter(({ groups }) => groups.has(code)).length;
    assert.equal(group.memberCount, count, `members of ${code}`);
    return undefined;
  }

  async #save(code) {
    await this.#service('mutation($code: String!) { saveUserGroup(code: $code) { code } }', { code });
    this.groups.set(code, this.groups.get(code) ?? new Set());
  }

  async prefer() {
    const user = this.#someone();
    const isType = this.random.happens(0.5);
    const code = this.random.one(isType ? CODES.filter((code) => code !== MANDATORY) : ACTIONS);
    const enabled = this.random.happens(0.5);
    const query = `mutation($of: [NotificationPreferenceInput!]) {
      updatePreferences(${isType ? 'types' : 'actions'}: $of) { preferences { types { code enabled } } } }`;
    const { updatePreferences } = await this.ask('user', user.name, query, { of: [{ code, enabled }] });
    if (enabled) user.off.delete(code);
    else user.off.add(code);
    assert.deepEqual(updatePreferences.preferences, { types: this.#switches(user) }, 'switches');
  }

  #switches({ off }) {
    return CODES.map((code) => ({ code, enabled: !off.has(code) }));
  }

  /** Gives a sent notification another title. */
  async amend() {
    const sent = this.#sent();
    if (!sent) return;
    this.count += 1;
    const title = `amended ${this.count}`;
    const query = 'mutation($id: ID!, $title: String) { updateSentNotification(id: $id, input: { title: $title }) { title } }';
    await this.#service(query, { id: sent.id, title });
    sent.title = title;
  }

  /** Retracts a sent notification. */
  async retract() {
    const sent = this.#sent();
    if (!sent) return;
    await this.settled();
    await this.#service('mutation($id: ID!) { retractSentNotification(id: $id) { status } }', { id: sent.id });
    sent.isRetracted = true;
    this.users.forEach(({ inbox }) => inbox.delete(this.log.indexOf(sent)));
  }

  #sent() {
    const left = this.log.slice(-20).filter(({ isRetracted }) => !isRetracted);
    return left.length > 0 ? this.random.one(left) : undefined;
  }

  /** A user's overview and profile, according to the model. */
  standing(user) {
    const inbox = [...user.inbox].filter(([, { isArchived }]) => !isArchived);
    const unread = (code) => inbox.filter(([place, { isRead }]) => !isRead && (!code || this.log[place].type === code)).length;
    const latest = (code) => inbox.map(([place]) => place).findLast((place) => this.log[place].type === code);
    return {
      total: { count: unread() },
      unread: { count: unread() },
      unseen: { count: inbox.filter(([place]) => place >= user.seen).length },
      types: CODES.map((code) => {
        const place = latest(code);
        const title = this.log[place]?.title;
        return { type: { code }, unread: { count: unread(code) }, latest: title === undefined ? null : { title } };
      }),
    };
  }

  /** All items of a user with their states, newest first. */
  list(user) {
    const item = ([place, state]) => {
      const { id, type, title } = this.log[place];
      return { notificationId: id, title, type: { code: type }, ...state };
    };
    return [...user.inbox].map(item).reverse();
  }

  /** A user's settings: groups, subscriptions, follows and switched-off types. */
  wishes(user) {
    return {
      groups: [...user.groups].toSorted(),
      topics: [...user.topics].toSorted(),
      following: [...user.follows].toSorted(),
      types: this.#switches(user),
    };
  }

  /** The part of `viewer` to compare with the model. */
  static READ = `{ viewer {
    overview { total { count } unread { count } unseen { count } types { type { code } unread { count } latest { title } } }
    groups { code } subscriptions(first: 200) { nodes { action target { externalId } } } following(first: 200) { nodes { id } }
    preferences { types { code enabled } } } }`;

  static LIST = `query($after: String) { viewer { inbox(first: 20, after: $after, filter: { state: ALL }) {
    edges { cursor node { id notificationId title type { code } isRead isArchived } } pageInfo { hasNextPage endCursor } } } }`;

  /** Compares a user's data with the model, and remembers the ids and cursors of the shown items. */
  compare(user, viewer, edges) {
    assert.deepEqual(viewer.overview, this.standing(user), 'overview');
    const { groups, subscriptions, following, preferences } = viewer;
    const read = {
      groups: groups.map(({ code }) => code).toSorted(),
      topics: subscriptions.nodes.map(({ target, action }) => topic(target.externalId, action)).toSorted(),
      following: following.nodes.map(({ id }) => id).toSorted(),
      ...preferences,
    };
    assert.deepEqual(read, this.wishes(user), 'wishes');
    assert.deepEqual(edges.map(({ node: { id, ...rest } }) => rest), this.list(user), 'list');
    const places = [...user.inbox.keys()].reverse();
    edges.forEach(({ cursor, node: { id } }, index) => {
      const before = user.shown.get(places[index]);
      if (before) assert.equal(id, before.id, 'an item keeps its id');
      user.shown.set(places[index], { id, cursor });
    });
  }
}
