// Tenants for the tests, and actions of their services.

import { Server, token } from '../server.mjs';

/** Without rate limits: a test does in a second what a user does in a day. */
const SETTINGS = { TIDINGS_RATE: '0', TIDINGS_SOCKET_RATE: '0' };

const TYPES = [
  { code: 'news', title: 'News', position: 1 },
  { code: 'talk', title: 'Talk', position: 2, readPolicy: 'AUTO' },
  { code: 'alarm', title: 'Alarms', position: 3, mandatory: true },
];

const SETUP = `mutation($news: MessageTypeInput!, $talk: MessageTypeInput!, $alarm: MessageTypeInput!) {
  news: saveMessageType(input: $news) { id }
  talk: saveMessageType(input: $talk) { id }
  alarm: saveMessageType(input: $alarm) { id }
  chat: saveViewCode(code: "chat", open: true) { code }
  feed: saveViewCode(code: "feed", open: false) { code }
  order: saveTargetType(code: "order", subscriptionPolicy: OPEN) { code }
  document: saveTargetType(code: "document", subscriptionPolicy: OPEN) { code }
  saveFollowPolicy(followPolicy: OPEN) { followPolicy }
  owner: saveSubscriptionReason(code: "owner", actions: ["comment", "like"]) { code }
}`;

/** A tenant with a catalogue and the user Ada. */
export class World {
  /** If a server has a list of allowed operations, Ada can run only these. */
  static async of(server, tenant) {
    const world = new World();
    Object.assign(world, { server, user: 'ada' });
    world.operator = token(tenant, 'operator', 'admin');
    world.service = token(tenant, 'shop', 'service');
    world.own = token(tenant, world.user);
    const [news, talk, alarm] = TYPES;
    await server.ask(world.operator, SETUP, { news, talk, alarm });
    return world;
  }

  get url() {
    return `http://127.0.0.1:${this.server.port}/graphql`;
  }

  /** Runs an operation as Ada, without a store. */
  ask(query, variables) {
    return this.server.ask(this.own, query, variables);
  }

  /** Reads Ada's `viewer` without a store; as a service if Ada's operations are restricted. */
  read(query) {
    if (!this.server.settings.TIDINGS_OPERATIONS) return this.ask(query);
    return this.asService(query.replace('viewer {', `viewer: inboxUser(id: "${this.user}") {`));
  }

  asService(query, variables) {
    return this.server.ask(this.service, query, variables);
  }

  /** Sends a message to Ada and returns the notification's id. */
  async message(type, title, sender = 'bob') {
    const query = `mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } } }`;
    const input = { type, receiver: this.user, sender, content: { title } };
    return (await this.asService(query, { input })).sendMessage.notification.id;
  }

  announce(type, title, audience = { everyone: true }) {
    const query = `mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed } }`;
    return this.asService(query, { input: { type, audience, content: { title } } });
  }

  /** Sends a reminder about a target. */
  remind(type, title, target, action, sender = 'bob') {
    const query = `mutation($input: SendReminderInput!) { sendReminder(input: $input) { replayed } }`;
    return this.asService(query, { input: { type, target, action, sender, content: { title } } });
  }

  /** Records an activity in a view. */
  activity(key, actor = 'bob') {
    const query = `mutation($inputs: [ViewActivityInput!]!) { recordActivity(inputs: $inputs) { views { id } } }`;
    return this.asService(query, { inputs: [{ view: key, actor }] });
  }

  /** Adds Ada to a view. */
  join(key) {
    const query = `mutation($key: ViewKeyInput!, $users: [ID!]) { joinView(key: $key, users: $users) { view { id } } }`;
    return this.asService(query, { key, users: [this.user] });
  }

  leave(key) {
    const query = `mutation($key: ViewKeyInput!, $users: [ID!]) { leaveView(key: $key, users: $users) { view { id } } }`;
    return this.asService(query, { key, users: [this.user] });
  }

  /** Marks Ada's items as a service. */
  mark(name, select) {
    const query = `mutation($select: InboxItemSelector!, $user: ID) {
      ${name}(select: $select, user: $user) { viewer { id } inboxUser { overview { unread { count } } } }
    }`;
    return this.asService(query, { select, user: this.user });
  }

  retract(notification) {
    return this.asService('mutation($id: ID!) { retractSentNotification(id: $id) { id } }', { id: notification });
  }
}

export const startServer = (settings = {}) => Server.start({ ...SETTINGS, ...settings });
