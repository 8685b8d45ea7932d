// Accepted messages of graphql-eslint, each with its reason: the rule, coordinates (`*` matches any letters) and why.
// An exception that no message needs is a failure.

export const EXCEPTIONS = [
  {
    rule: 'strict-id-in-types',
    // The result of a call is not an object with an identity.
    of: ['*Payload'],
  },
  {
    rule: 'strict-id-in-types',
    // Types of the Relay specification, which have no id there.
    of: ['*Connection', '*Edge', 'PageInfo'],
  },
  {
    rule: 'strict-id-in-types',
    // Parts of an object with an id: a cache should keep them under their owner.
    of: [
      'AuditActor',
      'CappedCount',
      'DigestTime',
      'InboxExplanation',
      'InboxOverview',
      'InboxStep',
      '*TypeOverview',
      'MessageTemplate',
      'MessageTemplateFlaw',
      'NotificationAudience',
      'NotificationPreferences',
      'NotificationPreview',
      'NotificationStats',
      'MessageDeliveryRule',
      'MessageLetter',
      'NotificationDeliveries',
      'OutboundAlarm',
      'QuietHours',
      'RuleAlarm',
      'RuleAudience',
      'RuleReminder',
      'RuleRun',
      'RuleSample',
      'RuleScan',
      'ShownNotification',
      'UserContact',
      'WeChatField',
      'WeChatTemplate',
    ],
  },
  {
    rule: 'strict-id-in-types',
    // Identified by `code` or `name`; no query looks them up by id. A preference also belongs to one user.
    of: ['ChannelPreference', 'NotificationPreference', 'RuleSource', 'SubscriptionReason', 'TargetType', 'ViewCode'],
  },
  {
    rule: 'strict-id-in-types',
    // Log entries and momentary states: nothing refers to them.
    of: ['AuditEntry', 'NotificationHour', 'ServiceBus', 'ServiceNode', 'ServiceStatus'],
  },
  {
    rule: 'relay-edge-types',
    of: ['AuditEntryEdge'],
  },
  {
    rule: 'strict-id-in-types',
    // Defined by the federation specification, including the names and the missing descriptions.
    of: ['_Service'],
  },
  {
    rule: 'naming-convention',
    of: ['_Any', '_Entity', '_Service', 'Query._entities', 'Query._entities(representations:)', 'Query._service'],
  },
  {
    rule: 'require-description',
    of: ['_Entity', '_Service', '_Service.sdl', 'Query._entities', 'Query._entities(representations:)', 'Query._service'],
  },
  {
    rule: 'require-description',
    // Defined by the GraphQL specification.
    of: ['@include(if:)', '@skip(if:)', '@specifiedBy(url:)'],
  },
  {
    rule: 'naming-convention',
    // Terms of the domain: every notification has a message type, and may be about a target of a target type.
    of: ['MessageType', 'TargetType'],
  },
  {
    rule: 'relay-edge-types',
    // `User` is an entity of the federation with the backend's own id, not a node.
    of: ['FollowedUserEdge', 'UserGroupMemberEdge'],
  },
];
