// What graphql-eslint says of the schema and is not heeded, each with its reason: rule, coordinates (`*` is any number of
// letters) and why. One that no message needs any more is a failure.

export const EXCEPTIONS = [
  {
    rule: 'strict-id-in-types',
    // What a call did is no thing of its own.
    of: ['*Payload'],
  },
  {
    rule: 'strict-id-in-types',
    // Relay's own, which have no id there either.
    of: ['*Connection', '*Edge', 'PageInfo'],
  },
  {
    rule: 'strict-id-in-types',
    // Parts of what has the id: a cache that keeps them below their owner is right.
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
    // Told apart by their `code` or `name`; nobody looks them up by an id. A preference is of a user, too.
    of: ['ChannelPreference', 'NotificationPreference', 'RuleSource', 'SubscriptionReason', 'TargetType', 'ViewCode'],
  },
  {
    rule: 'strict-id-in-types',
    // Lines of a log, and how things stand in a moment: nobody refers to them.
    of: ['AuditEntry', 'NotificationHour', 'ServiceBus', 'ServiceNode', 'ServiceStatus'],
  },
  {
    rule: 'relay-edge-types',
    of: ['AuditEntryEdge'],
  },
  {
    rule: 'strict-id-in-types',
    // The federation specification's own, as are its names, and that it describes nothing.
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
    // The GraphQL specification's own.
    of: ['@include(if:)', '@skip(if:)', '@specifiedBy(url:)'],
  },
  {
    rule: 'naming-convention',
    // The domain's own word: a notification is of a message type.
    of: ['MessageType'],
  },
  {
    rule: 'relay-edge-types',
    // A `User` is the federation's, with the partner's id: no node.
    of: ['FollowedUserEdge', 'UserGroupMemberEdge'],
  },
];
