// The operations of the Relay client. relay-compiler reads this file; the tests load its artifacts.

graphql`
  fragment store_counts on Viewer {
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

graphql`
  fragment store_few on Viewer {
    few: overview(types: ["news", "talk"], cap: 3) {
      unread { count exact }
      unseen { count exact }
      total { count exact }
      types { type { id code } unread { count exact } }
    }
  }
`;

graphql`
  fragment store_view on InboxView {
    id
    code
    externalId
    lastVisitedAt
    unread { count exact }
  }
`;

graphql`
  fragment store_views on Viewer {
    views(first: 20) { ...store_view @relay(mask: false) }
  }
`;

graphql`
  fragment store_preferences on Viewer {
    preferences {
      types { code enabled source }
      actions { code enabled source }
    }
  }
`;

graphql`
  fragment store_item on InboxItem {
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

graphql`
  fragment store_subscription on TopicSubscription {
    id
    action
    target { id type externalId }
  }
`;

graphql`
  query storeVisibleQuery {
    viewer {
      id
      user { id name }
      groups { id code title memberCount }
      ...store_counts @relay(mask: false)
      ...store_few @relay(mask: false)
      ...store_views @relay(mask: false)
      ...store_preferences @relay(mask: false)
      subscriptions(first: 20) @connection(key: "store_subscriptions") {
        edges { node { ...store_subscription @relay(mask: false) } }
      }
      following(first: 20) @connection(key: "store_following") {
        edges { node { id name } }
      }
      inbox(first: 100, filter: { state: ALL }) @connection(key: "store_inbox", filters: []) {
        edges { node { ...store_item @relay(mask: false) } }
      }
    }
  }
`;

// A refetchable fragment for each type of node.

graphql`
  fragment store_itemNode on InboxItem @refetchable(queryName: "storeItemQuery") { ...store_item @relay(mask: false) }
`;

graphql`
  fragment store_viewNode on InboxView @refetchable(queryName: "storeViewQuery") { ...store_view @relay(mask: false) }
`;

graphql`
  fragment store_subscriptionNode on TopicSubscription @refetchable(queryName: "storeSubscriptionQuery") { ...store_subscription @relay(mask: false) }
`;

graphql`
  fragment store_targetNode on TopicTarget @refetchable(queryName: "storeTargetQuery") { id type externalId }
`;

graphql`
  fragment store_typeNode on MessageType @refetchable(queryName: "storeTypeQuery") { id code title }
`;

graphql`
  fragment store_groupNode on UserGroup @refetchable(queryName: "storeGroupQuery") { id code title memberCount }
`;

// Pagination in both directions.

graphql`
  fragment store_inboxPages on Viewer
  @refetchable(queryName: "storeInboxPagesQuery")
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
    filter: { type: "InboxFilter" }
  ) {
    pages: inbox(first: $first, after: $after, last: $last, before: $before, filter: $filter)
    @connection(key: "store_pages", filters: ["filter"]) {
      edges { node { id title } }
    }
  }
`;

graphql`
  query storeInboxQuery($first: Int, $after: String, $last: Int, $filter: InboxFilter) {
    viewer { ...store_inboxPages @arguments(first: $first, after: $after, last: $last, filter: $filter) }
  }
`;

graphql`
  fragment store_defaultPages on Viewer
  @refetchable(queryName: "storeDefaultPagesQuery")
  @argumentDefinitions(
    first: { type: "Int", defaultValue: 4 }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  ) {
    pages: inbox(first: $first, after: $after, last: $last, before: $before) @connection(key: "defaults__pages") {
      edges { node { id title } }
    }
  }
`;

graphql`
  query storeDefaultQuery($after: String) { viewer { ...store_defaultPages @arguments(after: $after) } }
`;

graphql`
  fragment store_subscriptionPages on Viewer
  @refetchable(queryName: "storeSubscriptionPagesQuery")
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  ) {
    pages: subscriptions(first: $first, after: $after, last: $last, before: $before)
    @connection(key: "store_pages") {
      edges { node { id action } }
    }
  }
`;

graphql`
  query storeSubscriptionsQuery($first: Int, $after: String, $last: Int) {
    viewer { ...store_subscriptionPages @arguments(first: $first, after: $after, last: $last) }
  }
`;

graphql`
  fragment store_followingPages on Viewer
  @refetchable(queryName: "storeFollowingPagesQuery")
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  ) {
    pages: following(first: $first, after: $after, last: $last, before: $before)
    @connection(key: "store_pages") {
      edges { node { id } }
    }
  }
`;

graphql`
  query storeFollowingQuery($first: Int, $after: String, $last: Int) {
    viewer { ...store_followingPages @arguments(first: $first, after: $after, last: $last) }
  }
`;

// Marks: the items if they are named by id, and the viewer's counts.

graphql`
  fragment store_marked on InboxItemsPayload {
    changedCount
    affectedTypes { id code }
    deletedIds
    items { id isRead readAt isArchived }
    viewer { id ...store_counts ...store_few }
  }
`;

graphql`
  mutation storeMarkReadMutation($select: InboxItemSelector!) {
    markRead(select: $select) { ...store_marked @relay(mask: false) }
  }
`;

graphql`
  mutation storeMarkUnreadMutation($select: InboxItemSelector!) {
    markUnread(select: $select) { ...store_marked @relay(mask: false) }
  }
`;

graphql`
  mutation storeArchiveItemsMutation($select: InboxItemSelector!) {
    archiveItems(select: $select) { ...store_marked @relay(mask: false) }
  }
`;

graphql`
  mutation storeUnarchiveItemsMutation($select: InboxItemSelector!) {
    unarchiveItems(select: $select) { ...store_marked @relay(mask: false) }
  }
`;

graphql`
  mutation storeDeleteItemsMutation($select: InboxItemSelector!, $inbox: [ID!]!) {
    deleteItems(select: $select) {
      ...store_marked @relay(mask: false)
      gone: deletedIds @deleteEdge(connections: $inbox)
      deleted: deletedIds @deleteRecord
    }
  }
`;

graphql`
  mutation storeMarkSeenMutation($type: String) {
    markSeen(type: $type) { ...store_marked @relay(mask: false) }
  }
`;

// Topics, follows and preferences.

graphql`
  mutation storeSubscribeTopicMutation($input: SubscribeTopicInput!, $subscriptions: [ID!]!) {
    subscribeTopic(input: $input) {
      createdCount
      subscriptions @appendNode(connections: $subscriptions, edgeTypeName: "TopicSubscriptionEdge") {
        ...store_subscription @relay(mask: false)
      }
      viewer { id }
    }
  }
`;

graphql`
  mutation storeUnsubscribeTopicMutation($input: UnsubscribeTopicInput!, $subscriptions: [ID!]!) {
    unsubscribeTopic(input: $input) {
      removedCount
      deletedIds @deleteEdge(connections: $subscriptions)
      viewer { id }
    }
  }
`;

graphql`
  mutation storeFollowUserMutation($user: ID!, $following: [ID!]!) {
    followUser(user: $user) {
      user @appendNode(connections: $following, edgeTypeName: "FollowedUserEdge") { id name }
      viewer { id }
    }
  }
`;

graphql`
  mutation storeUnfollowUserMutation($user: ID!, $following: [ID!]!) {
    unfollowUser(user: $user) {
      user { id @deleteEdge(connections: $following) }
      viewer { id }
    }
  }
`;

graphql`
  mutation storeUpdatePreferencesMutation(
    $types: [NotificationPreferenceInput!]
    $actions: [NotificationPreferenceInput!]
    $resetTypes: [String!]
    $resetActions: [String!]
  ) {
    updatePreferences(types: $types, actions: $actions, resetTypes: $resetTypes, resetActions: $resetActions) {
      viewer { id ...store_preferences }
    }
  }
`;

// Views.

graphql`
  fragment store_seen on ViewPayload {
    view { ...store_view @relay(mask: false) }
    viewer { id ...store_counts ...store_few ...store_views }
  }
`;

graphql`
  mutation storeVisitViewMutation($key: ViewKeyInput!) {
    visitView(key: $key) { ...store_seen @relay(mask: false) }
  }
`;

graphql`
  mutation storeJoinViewMutation($key: ViewKeyInput!) {
    joinView(key: $key) { ...store_seen @relay(mask: false) }
  }
`;

graphql`
  mutation storeLeaveViewMutation($key: ViewKeyInput!) {
    leaveView(key: $key) { ...store_seen @relay(mask: false) }
  }
`;

graphql`
  query storeCappedQuery {
    viewer {
      views(first: 20) { id unread { count exact } }
      overview(cap: 2) { total { count exact } views(first: 20) { id unread { count exact } } }
    }
  }
`;

// Subscriptions.

graphql`
  subscription storeOverviewChangedSubscription {
    overviewChanged { id ...store_counts }
  }
`;

graphql`
  subscription storeViewChangedSubscription {
    viewChanged { ...store_view @relay(mask: false) }
  }
`;

graphql`
  subscription storeItemReceivedSubscription($after: String, $inbox: [ID!]!) {
    itemReceived(after: $after) @prependEdge(connections: $inbox) {
      cursor
      node { ...store_item @relay(mask: false) }
    }
  }
`;
