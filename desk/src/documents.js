// All GraphQL documents of the page; `tests/documents.test.mjs` validates them against schema.graphql.

const PAGE = 'pageInfo { hasNextPage endCursor }';
const SENT = `id kind title body link shown { title body link } status createdAt publishAt publishedAt retractedAt updatedAt expiresAt action rule
  type { code title icon } sender { id name } target { type externalId }
  audience { everyone groups { code title } userCount } stats { audienceSize deliveredCount readCount }`;
const ACTOR = 'name role origin';
const TYPE = `code title group icon position readPolicy mandatory usersMaySend ttlSeconds ui template { title body link } templateError
  delivery { channel condition delaySeconds digest letter { subject text html } wechat { templateId link fields { name value } } }`;

// Used by all pages.
export const Types = `query Types { messageTypes { code title icon template { title body link } } }`;
export const Groups = `query Groups { userGroups { id code title memberCount } }`;
export const Members = `query Members($group: ID!, $after: String) {
  node(id: $group) { ... on UserGroup { id members(first: 50, after: $after) { nodes { id name } ${PAGE} } } }
}`;
export const SearchUsers = `query SearchUsers($text: String!) { searchUsers(text: $text, first: 10) { id name locale } }`;

// Compose.
export const Preview = `query Preview($input: PreviewNotificationInput!) {
  previewNotification(input: $input) { title body link flaws { field line message } }
}`;
export const Size = `query Size($audience: NotificationAudienceInput!) { audienceSize(audience: $audience) { count exact } }`;
export const Known = `query Known($ids: [ID!]!) { inboxUsers(ids: $ids) { id } }`;
export const Announce = `mutation Announce($input: SendAnnouncementInput!) {
  sendAnnouncement(input: $input) { replayed notification { id status publishAt } }
}`;
export const Tell = `mutation Tell($input: SendMessageInput!) {
  sendMessage(input: $input) { replayed notification { id status publishAt } }
}`;

// Sent.
export const SentList = `query SentList($filter: NotificationFilter, $after: String) {
  sentNotifications(filter: $filter, first: 25, after: $after) { nodes { ${SENT} sentBy { ${ACTOR} } } ${PAGE} }
}`;
export const SentOne = `query SentOne($id: ID!) {
  sentNotification(id: $id) { ${SENT} data statsByHour { at deliveredCount readCount } sentBy { ${ACTOR} } history { at action actor { ${ACTOR} } } type { template { title body link } } deliveries { channel pending delivered dead } }
}`;
export const Amend = `mutation Amend($id: ID!, $input: NotificationPatch!) { updateSentNotification(id: $id, input: $input) { ${SENT} } }`;
export const Retract = `mutation Retract($id: ID!) { retractSentNotification(id: $id) { ${SENT} } }`;

// Users.
const ITEM = 'id notificationId title body link createdAt readAt isRead isArchived archivedAt expiresAt type { code title } sender { id name }';
export const UserHead = `query UserHead($id: ID!) {
  inboxUser(id: $id) {
    id user { id name locale avatarUrl } timeZone quiet { from to } digest { at weekday }
    contacts { channel address refusedSince }
    overview { unread { count } unseen { count } total { count }
      types { type { code title } unread { count } latest { title createdAt } } }
  }
}`;
export const UserInbox = `query UserInbox($id: ID!, $filter: InboxFilter, $after: String) {
  inboxUser(id: $id) { id inbox(filter: $filter, first: 25, after: $after) { nodes { ${ITEM} } ${PAGE} } }
}`;
export const UserListens = `query UserListens($id: ID!, $after: String) {
  inboxUser(id: $id) { id groups { code title }
    subscriptions(first: 50, after: $after) { nodes { id action createdAt target { type externalId } } ${PAGE} }
    following(first: 50) { nodes { id name } } }
}`;
export const UserPreferences = `query UserPreferences($id: ID!) {
  inboxUser(id: $id) { id preferences { types { code enabled source } actions { code enabled source }
    channels { channel type enabled source } } }
}`;
export const UserViews = `query UserViews($id: ID!) {
  inboxUser(id: $id) { id views(first: 100) { id code externalId lastActivityAt lastVisitedAt unread { count exact } } }
}`;
export const Mark = (what) => `mutation Mark($user: ID!, $id: ID!) { ${what}(user: $user, select: { ids: [$id] }) { changedCount } }`;
export const SavePreferences = `mutation SavePreferences($user: ID!, $types: [NotificationPreferenceInput!], $actions: [NotificationPreferenceInput!],
  $channels: [ChannelPreferenceInput!]) {
  updatePreferences(user: $user, types: $types, actions: $actions, channels: $channels) { preferences { types { code enabled source } } }
}`;
export const Unsubscribe = `mutation Unsubscribe($input: UnsubscribeTopicInput!) { unsubscribeTopic(input: $input) { removedCount } }`;
export const Export = `query Export($id: ID!, $after: String) { exportUser(id: $id, after: $after) }`;
export const Erase = `mutation Erase($id: ID!) { eraseUser(id: $id) { erasedId } }`;
export const Explain = `query Explain($notification: ID!, $user: ID!) {
  explainDelivery(notification: $notification, user: $user) { present decision at steps { rule passed at detail } }
}`;

// Catalogue.
export const Catalogue = `query Catalogue { messageTypes { ${TYPE} } }`;
export const CatalogueTitles = `query CatalogueTitles { messageTypes { code title } }`;
export const SaveType = `mutation SaveType($input: MessageTypeInput!) { saveMessageType(input: $input) { ${TYPE} } }`;
export const DeleteType = `mutation DeleteType($code: String!) { deleteMessageType(code: $code) { deletedId } }`;
export const Reasons = `query Reasons { subscriptionReasons { code actions } }`;
export const SaveReason = `mutation SaveReason($code: String!, $actions: [String!]!) { saveSubscriptionReason(code: $code, actions: $actions) { code } }`;
export const DeleteReason = `mutation DeleteReason($code: String!) { deleteSubscriptionReason(code: $code) { deletedCode } }`;
export const SaveGroup = `mutation SaveGroup($code: String!, $title: String) { saveUserGroup(code: $code, title: $title) { code } }`;
export const DeleteGroup = `mutation DeleteGroup($code: String!) { deleteUserGroup(code: $code) { deletedId } }`;
export const AddMembers = `mutation AddMembers($code: String!, $users: [ID!]!) { addUserGroupMembers(code: $code, users: $users) { code memberCount } }`;
export const RemoveMembers = `mutation RemoveMembers($code: String!, $users: [ID!]!) {
  removeUserGroupMembers(code: $code, users: $users) { code memberCount }
}`;
export const Defaults = `query Defaults {
  defaultPreferences { types { code enabled source } actions { code enabled source } channels { channel type enabled source } }
}`;
export const SaveDefaults = `mutation SaveDefaults($types: [NotificationPreferenceInput!], $actions: [NotificationPreferenceInput!],
  $channels: [ChannelPreferenceInput!], $resetActions: [String!]) {
  saveDefaultPreferences(types: $types, actions: $actions, channels: $channels, resetActions: $resetActions) { types { code } }
}`;
export const ViewCodes = `query ViewCodes { viewCodes { code open } }`;
export const SaveViewCode = `mutation SaveViewCode($code: String!, $open: Boolean!) { saveViewCode(code: $code, open: $open) { code } }`;
export const DeleteViewCode = `mutation DeleteViewCode($code: String!) { deleteViewCode(code: $code) { deletedCode } }`;
export const TargetTypes = `query TargetTypes { targetTypes { code subscriptionPolicy } followPolicy }`;
export const SaveTargetType = `mutation SaveTargetType($code: String!, $policy: SubscriptionPolicy!) {
  saveTargetType(code: $code, subscriptionPolicy: $policy) { code }
}`;
export const DeleteTargetType = `mutation DeleteTargetType($code: String!) { deleteTargetType(code: $code) { deletedCode } }`;
export const SaveFollowPolicy = `mutation SaveFollowPolicy($policy: SubscriptionPolicy!) { saveFollowPolicy(followPolicy: $policy) { followPolicy } }`;

// Deliveries.
const LANE = 'id state pendingCount deadCount lastError';
export const Lanes = `query Lanes {
  webhookEndpoints { ${LANE} url events full failingSince restingUntil lastAttemptAt lastStatus }
  mailRelay { ${LANE} url from failingSince restingUntil }
  weChatAccount { ${LANE} appId failingSince restingUntil }
  webPush { ${LANE} contact }
}`;
export const Deliveries = `query Deliveries($filter: OutboundDeliveryFilter, $after: String) {
  outboundDeliveries(filter: $filter, first: 25, after: $after) {
    nodes { id channel event state attemptCount createdAt happenedAt dueAt deliveredAt lastStatus lastError endpointId notificationId
      user { id name } } ${PAGE} }
}`;
export const Replay = `mutation Replay($select: OutboundDeliverySelector!) { replayOutboundDeliveries(select: $select) { replayedCount } }`;
export const PauseEndpoint = `mutation PauseEndpoint($id: ID!) { pauseWebhookEndpoint(id: $id) { id state } }`;
export const ResumeEndpoint = `mutation ResumeEndpoint($id: ID!) { resumeWebhookEndpoint(id: $id) { id state } }`;
export const TestEndpoint = `mutation TestEndpoint($id: ID!) { testWebhookEndpoint(id: $id) { id state lastStatus lastError } }`;
export const SwitchMail = `mutation SwitchMail($to: MailRelaySwitch!) { switchMailRelay(to: $to) { id state } }`;
export const SwitchWeChat = `mutation SwitchWeChat($to: WeChatAccountSwitch!) { switchWeChatAccount(to: $to) { id state } }`;
export const SwitchPush = `mutation SwitchPush($to: WebPushSwitch!) { switchWebPush(to: $to) { id state } }`;

// Rules.
export const Rules = `query Rules {
  notificationRules { id code state rowCount failureCount nextRunAt lastCompleteAt type { code title } scan { source schedule timeZone }
    runs(first: 10) { startedAt seconds outcome rows raised amended resolved error } }
}`;
export const RunRule = `mutation RunRule($code: String!) { runNotificationRule(code: $code) { outcome rows raised amended resolved error } }`;
export const PauseRule = `mutation PauseRule($code: String!) { pauseNotificationRule(code: $code) { id state } }`;
export const ResumeRule = `mutation ResumeRule($code: String!) { resumeNotificationRule(code: $code) { id state } }`;

// Audit log and Now.
export const Audit = `query Audit($filter: AuditFilter, $first: Int, $after: String) {
  auditLog(filter: $filter, first: $first, after: $after) { nodes { at action count subject subjectKind actor { ${ACTOR} } } ${PAGE} }
}`;
export const Status = `query Status {
  serviceStatus { version now healthy sentLastMinute sentLastHour scheduled { count exact } nextScheduledAt overdueSeconds
    nodes { name version startedAt heardAt sessionCount syncsLastMinute errorsLastMinute } bus { connected lagSeconds } }
}`;
