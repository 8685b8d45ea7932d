// The prepared operations. They go together on an empty tenant: define the type `news` first, then send
// with it. `roles` says which tokens the server accepts; the console only warns, the server decides.

const USER = ['USER'];
const BACKEND = ['SERVICE', 'ADMIN'];
const ANYBODY = ['USER', 'SERVICE', 'ADMIN'];

const SENT = `{
    replayed
    notification {
      id
      status
      title
      createdAt
      audience { everyone groups { code } userCount }
    }
  }`;

const CONTENT = { title: 'Version 2 is out', body: 'Faster search, and a new inbox.', link: '/news/v2' };

export const OPERATIONS = [
  {
    id: 'overview', group: 'Inbox', name: 'My overview', roles: USER,
    about: 'What a bell needs, for all types at once. Counts stop at the cap; exact says whether they did.',
    query: `query MyOverview($cap: Int) {
  viewer {
    id
    overview(cap: $cap) {
      unread { count exact }
      unseen { count exact }
      cursor
      types {
        type { code title readPolicy }
        unread { count exact }
        latest { id title createdAt isRead }
      }
    }
  }
}`,
    variables: { cap: 99 },
  },
  {
    id: 'inbox', group: 'Inbox', name: 'My inbox', roles: USER,
    about: 'The first page, newest first. Give endCursor as "after" for the next one.',
    query: `query MyInbox($filter: InboxFilter, $first: Int, $after: String) {
  viewer {
    inbox(filter: $filter, first: $first, after: $after) {
      nodes {
        id
        kind
        type { code }
        title
        body
        link
        sender { id name }
        target { type id }
        action
        createdAt
        isRead
      }
      pageInfo { hasNextPage endCursor }
    }
  }
}`,
    variables: { filter: { archived: false }, first: 20, after: null },
  },
  {
    id: 'read', group: 'Inbox', name: 'Mark all read', roles: USER,
    about: 'An empty match is the whole inbox. Add types or a target to narrow it, upTo (a cursor) to leave newer items alone, or select by ids instead.',
    query: `mutation MarkAllRead($select: ItemSelector!) {
  markRead(select: $select) {
    changedCount
    overview {
      unread { count exact }
      types { type { code } unread { count exact } }
    }
  }
}`,
    variables: { select: { matching: {} } },
  },
  {
    id: 'preferences', group: 'Inbox', name: 'Preferences', roles: USER,
    about: 'What the user has switched on and off. Two operations: the caret, or the list beside Run, chooses. enabled: null goes back to the default.',
    query: `query MyPreferences {
  viewer {
    preferences {
      types { code enabled source }
      actions { code enabled source }
    }
  }
}

mutation SetPreferences($types: [PreferenceInput!], $actions: [PreferenceInput!]) {
  updatePreferences(types: $types, actions: $actions) {
    types { code enabled source }
    actions { code enabled source }
  }
}`,
    variables: { types: [{ code: 'news', enabled: true }], actions: [{ code: 'like', enabled: false }] },
  },
  {
    id: 'subscribe', group: 'Follow', name: 'Subscribe to a target', roles: ANYBODY,
    about: 'A user token subscribes its own user; a service names a "user" or a "group". Give actions, or a reason of the catalogue. Reminders sent from now on arrive.',
    query: `mutation Subscribe($input: SubscribeInput!) {
  subscribe(input: $input) {
    createdCount
    subscriptions { target { type id } action createdAt }
  }
}

mutation Unsubscribe($target: TargetInput!) {
  unsubscribe(input: { target: $target }) { removedCount }
}

query MySubscriptions {
  viewer {
    subscriptions(first: 20) {
      nodes { target { type id } action createdAt }
      pageInfo { hasNextPage endCursor }
    }
  }
}`,
    variables: {
      input: { target: { type: 'product', id: '42' }, actions: ['comment', 'like'] },
      target: { type: 'product', id: '42' },
    },
  },
  {
    id: 'follow', group: 'Follow', name: 'Follow somebody', roles: ANYBODY,
    about: 'Whoever follows a user is reminded of what he does. A service also names the "follower".',
    query: `mutation Follow($user: ID!, $follower: ID) {
  follow(user: $user, follower: $follower) { id name }
}

mutation Unfollow($user: ID!, $follower: ID) {
  unfollow(user: $user, follower: $follower) { id name }
}

query Following {
  viewer {
    following(first: 20) { nodes { id name avatarUrl } }
  }
}`,
    variables: { user: 'bob' },
  },
  {
    id: 'announce', group: 'Send', name: 'Announce to everyone', roles: BACKEND,
    about: 'Reaches every user of the tenant, at the same small cost however many they are. With an idempotencyKey a repeated call sends nothing.',
    query: `mutation AnnounceToEveryone($input: AnnouncementInput!) {
  sendAnnouncement(input: $input) ${SENT}
}`,
    variables: { input: { type: 'news', audience: { everyone: true }, content: CONTENT } },
  },
  {
    id: 'announce-group', group: 'Send', name: 'Announce to a group', roles: BACKEND,
    about: 'Reaches the members of the groups; who is in several gets it once. The tab "Groups" makes one.',
    query: `mutation AnnounceToGroup($input: AnnouncementInput!) {
  sendAnnouncement(input: $input) ${SENT}
}`,
    variables: { input: { type: 'news', audience: { groups: ['staff'] }, content: CONTENT } },
  },
  {
    id: 'remind', group: 'Send', name: "Remind a target's subscribers", roles: BACKEND,
    about: 'Something happened to a target: its subscribers for that action and the sender\'s followers are told, the sender is not.',
    query: `mutation Remind($input: ReminderInput!) {
  sendReminder(input: $input) ${SENT}
}`,
    variables: {
      input: {
        type: 'news', target: { type: 'product', id: '42' }, action: 'comment', sender: 'bob',
        content: { title: 'Bob commented on your product', link: '/products/42' },
      },
    },
  },
  {
    id: 'message', group: 'Send', name: 'Message one user', roles: BACKEND,
    about: 'In the receiver\'s inbox at once. A user token may send as himself where the tenant allows it.',
    query: `mutation MessageOneUser($input: MessageInput!) {
  sendMessage(input: $input) ${SENT}
}`,
    variables: {
      input: {
        type: 'news', receiver: 'ada', sender: 'bob',
        content: { title: 'Lunch on Friday?', body: 'At noon, the usual place.', data: { table: 4 } },
      },
    },
  },
  {
    id: 'user', group: 'Users', name: "Look into a user's inbox", roles: BACKEND,
    about: 'What this user sees, without marking anything. Null where the tenant has never heard of him.',
    query: `query LookIntoInbox($id: ID!, $filter: InboxFilter, $first: Int, $after: String) {
  user(id: $id) {
    id
    name
    groups { code }
    overview(cap: 99) { unread { count exact } }
    inbox(filter: $filter, first: $first, after: $after) {
      nodes {
        id
        notificationId
        type { code }
        title
        createdAt
        isRead
        readAt
        isArchived
        expiresAt
      }
      pageInfo { hasNextPage endCursor }
    }
  }
}`,
    variables: { id: 'ada', filter: {}, first: 20, after: null },
  },
  {
    id: 'users', group: 'Users', name: "Several users' overviews", roles: BACKEND,
    about: 'In the order asked for, all of them with one statement; null for an unknown user.',
    query: `query SeveralOverviews($ids: [ID!]!) {
  users(ids: $ids) {
    id
    name
    overview(cap: 99) {
      unread { count exact }
      types {
        type { code }
        unread { count exact }
        latest { title createdAt }
      }
    }
  }
}`,
    variables: { ids: ['ada', 'bob', 'eve'] },
  },
  {
    id: 'type', group: 'Catalogue', name: 'Define a message type', roles: ['ADMIN'],
    about: 'A tab of the inbox. Saving a code again changes it. A template may stand in for the title of what is sent with the type.',
    query: `mutation DefineMessageType($input: MessageTypeInput!) {
  saveMessageType(input: $input) {
    code
    title
    group
    readPolicy
    mandatory
    ttlSeconds
    position
    template { title body link }
  }
}`,
    variables: {
      input: { code: 'news', title: 'News', group: 'general', readPolicy: 'MANUAL', mandatory: false, position: 10 },
    },
  },
  {
    id: 'groups', group: 'Catalogue', name: 'Groups', roles: ANYBODY,
    about: 'Roles, user types, segments. Reading them is open to all, changing them is for SERVICE and ADMIN.',
    query: `query Groups {
  groups { code title memberCount }
}

mutation FillGroup($code: String!, $title: String, $users: [ID!]!) {
  saveGroup(code: $code, title: $title) { code }
  addGroupMembers(code: $code, users: $users) { code title memberCount }
}

mutation RemoveFromGroup($code: String!, $users: [ID!]!) {
  removeGroupMembers(code: $code, users: $users) { code title memberCount }
}`,
    variables: { code: 'staff', title: 'Our people', users: ['ada', 'bob'] },
  },
  {
    id: 'catalogue', group: 'Catalogue', name: 'Catalogue', roles: ANYBODY,
    about: 'The tenant\'s message types and reasons. Changing them is for ADMIN.',
    query: `query Catalogue {
  messageTypes {
    code
    title
    group
    readPolicy
    mandatory
    ttlSeconds
    position
    template { title body link }
  }
  reasons { code actions }
}

mutation SaveReason($code: String!, $actions: [String!]!) {
  saveReason(code: $code, actions: $actions) { code actions }
}`,
    variables: { code: 'create_product', actions: ['comment', 'like'] },
  },
];
