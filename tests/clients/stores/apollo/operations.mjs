// The documents of the Apollo client, written as in an application; the manifest's tool extracts them from here.

import { gql } from '@apollo/client';

export const COUNTS = gql`
  fragment Counts on Viewer {
    overview {
      cursor
      unread { count exact }
      unseen { count exact }
      total { count exact }
      types {
        type { id code title }
        unread { count exact }
        latest { id title isRead isArchived }
      }
      views(first: 20) { id code externalId unread { count exact } }
    }
  }
`;

const FEW = gql`
  fragment Few on Viewer {
    few: overview(types: ["news", "talk"], cap: 3) {
      unread { count exact }
      unseen { count exact }
      total { count exact }
      types { type { id code } unread { count exact } }
    }
  }
`;

const VIEW = gql`
  fragment ViewParts on InboxView { id code externalId lastVisitedAt unread { count exact } }
`;

const VIEWS = gql`
  fragment Views on Viewer { views(first: 20) { ...ViewParts } }
  ${VIEW}
`;

const PREFERENCES = gql`
  fragment Preferences on Viewer {
    preferences {
      types { code enabled source }
      actions { code enabled source }
    }
  }
`;

export const ITEM = gql`
  fragment ItemParts on InboxItem {
    id
    title
    isRead
    readAt
    isArchived
    notificationId
    type { id code title }
    sender { id name }
    target { id type externalId }
  }
`;

const SUBSCRIPTION = gql`
  fragment SubscriptionParts on TopicSubscription { id action target { id type externalId } }
`;

export const VISIBLE = gql`
  query Visible {
    viewer {
      id
      user { id name }
      groups { id code title memberCount }
      ...Counts
      ...Few
      ...Views
      ...Preferences
      subscriptions(first: 20) {
        edges { cursor node { ...SubscriptionParts } }
        pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
      }
      following(first: 20) {
        edges { cursor node { id name } }
        pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
      }
      inbox(first: 100, filter: { state: ALL }) {
        edges { cursor node { ...ItemParts } }
        pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
      }
    }
  }
  ${COUNTS}
  ${FEW}
  ${VIEWS}
  ${PREFERENCES}
  ${SUBSCRIPTION}
  ${ITEM}
`;

export const CAPPED = gql`
  query Capped {
    viewer {
      id
      views(first: 20) { id unread { count exact } }
      overview(cap: 2) { total { count exact } views(first: 20) { id unread { count exact } } }
    }
  }
`;

// Pagination in both directions.

export const PAGES = {
  inbox: gql`
    query InboxPages($first: Int, $after: String, $last: Int, $before: String, $filter: InboxFilter) {
      viewer {
        id
        inbox(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
          edges { cursor node { id title } }
          pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
        }
      }
    }
  `,
  subscriptions: gql`
    query SubscriptionPages($first: Int, $after: String, $last: Int, $before: String) {
      viewer {
        id
        subscriptions(first: $first, after: $after, last: $last, before: $before) {
          edges { cursor node { id action } }
          pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
        }
      }
    }
  `,
  following: gql`
    query FollowingPages($first: Int, $after: String, $last: Int, $before: String) {
      viewer {
        id
        following(first: $first, after: $after, last: $last, before: $before) {
          edges { cursor node { id } }
          pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
        }
      }
    }
  `,
};

// Marks: the items if they are named by id, and the viewer's counts.

const MARKED = gql`
  fragment Marked on InboxItemsPayload {
    changedCount
    affectedTypes { id code }
    deletedIds
    items { id isRead readAt isArchived }
    viewer { id ...Counts ...Few }
  }
  ${COUNTS}
  ${FEW}
`;

const SEEN = gql`
  fragment Seen on ViewPayload {
    view { ...ViewParts }
    viewer { id ...Counts ...Few ...Views }
  }
  ${COUNTS}
  ${FEW}
  ${VIEWS}
`;

export const MUTATIONS = {
  markRead: gql`
    mutation MarkRead($select: InboxItemSelector!) { markRead(select: $select) { ...Marked } }
    ${MARKED}
  `,
  markUnread: gql`
    mutation MarkUnread($select: InboxItemSelector!) { markUnread(select: $select) { ...Marked } }
    ${MARKED}
  `,
  archiveItems: gql`
    mutation ArchiveItems($select: InboxItemSelector!) { archiveItems(select: $select) { ...Marked } }
    ${MARKED}
  `,
  unarchiveItems: gql`
    mutation UnarchiveItems($select: InboxItemSelector!) { unarchiveItems(select: $select) { ...Marked } }
    ${MARKED}
  `,
  deleteItems: gql`
    mutation DeleteItems($select: InboxItemSelector!) { deleteItems(select: $select) { ...Marked } }
    ${MARKED}
  `,
  markSeen: gql`
    mutation MarkSeen($type: String) { markSeen(type: $type) { ...Marked } }
    ${MARKED}
  `,
  subscribeTopic: gql`
    mutation SubscribeTopic($input: SubscribeTopicInput!) {
      subscribeTopic(input: $input) { createdCount subscriptions { ...SubscriptionParts } viewer { id } }
    }
    ${SUBSCRIPTION}
  `,
  unsubscribeTopic: gql`
    mutation UnsubscribeTopic($input: UnsubscribeTopicInput!) {
      unsubscribeTopic(input: $input) { removedCount deletedIds viewer { id } }
    }
  `,
  followUser: gql`
    mutation FollowUser($user: ID!) { followUser(user: $user) { user { id name } viewer { id } } }
  `,
  unfollowUser: gql`
    mutation UnfollowUser($user: ID!) { unfollowUser(user: $user) { user { id } viewer { id } } }
  `,
  updatePreferences: gql`
    mutation UpdatePreferences(
      $types: [NotificationPreferenceInput!]
      $actions: [NotificationPreferenceInput!]
      $resetTypes: [String!]
      $resetActions: [String!]
    ) {
      updatePreferences(types: $types, actions: $actions, resetTypes: $resetTypes, resetActions: $resetActions) {
        viewer { id ...Preferences }
      }
    }
    ${PREFERENCES}
  `,
  visitView: gql`
    mutation VisitView($key: ViewKeyInput!) { visitView(key: $key) { ...Seen } }
    ${SEEN}
  `,
  joinView: gql`
    mutation JoinView($key: ViewKeyInput!) { joinView(key: $key) { ...Seen } }
    ${SEEN}
  `,
  leaveView: gql`
    mutation LeaveView($key: ViewKeyInput!) { leaveView(key: $key) { ...Seen } }
    ${SEEN}
  `,
};

export const SUBSCRIPTIONS = {
  overviewChanged: gql`
    subscription OverviewChanged { overviewChanged { id ...Counts } }
    ${COUNTS}
  `,
  viewChanged: gql`
    subscription ViewChanged { viewChanged { ...ViewParts } }
    ${VIEW}
  `,
  itemReceived: gql`
    subscription ItemReceived($after: String) { itemReceived(after: $after) { cursor node { ...ItemParts } } }
    ${ITEM}
  `,
};
