// Made by generate.mjs from operations/ and schema.graphql.

import type { Document } from './request.js';

/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
/** Filter of an inbox. Items must match all given conditions. */
export type InboxFilter = {
  /** The action on the target. */
  action?: string | null | undefined;
  /** Kinds of notifications. */
  kinds?: Array<NotificationKind> | null | undefined;
  /** True: only read, false: only unread, null: both. */
  read?: boolean | null | undefined;
  /** Your id of the sender. */
  sender?: string | null | undefined;
  /** Published at or after this instant. */
  since?: string | null | undefined;
  /** Which part of the inbox. */
  state?: InboxState | null | undefined;
  /** About this target. */
  target?: TopicTargetInput | null | undefined;
  /** Codes of message types. */
  types?: Array<string> | null | undefined;
  /** Published before this instant. */
  until?: string | null | undefined;
};

/** Items of a bulk mark. They must match all given conditions. */
export type InboxItemMatch = {
  /** About this target. */
  target?: TopicTargetInput | null | undefined;
  /** Codes of message types. */
  types?: Array<string> | null | undefined;
  /** Up to and including the item at this cursor, so that items that arrive during the click stay as they are. */
  upTo?: string | null | undefined;
};

/** Items of an inbox: by ids, or all that match. */
export type InboxItemSelector =
  {   /** At most 1,000 ids. Deleted and expired items are skipped. */
  ids: Array<string>; matching?: never; }
  |  { ids?: never;   /** Every item that matches. An empty match selects the whole inbox. */
  matching: InboxItemMatch; };

/** Which part of an inbox to list. */
export type InboxState =
  /** Both. */
  | 'ALL'
  /** Archived items. */
  | 'ARCHIVED'
  /** Items that are not archived. */
  | 'INBOX';

/** Audience of an announcement. */
export type NotificationAudienceInput =
  {   /** True: all users of the tenant, including users first mentioned within the retention window after it. */
  everyone: boolean; groups?: never; users?: never; }
  |  { everyone?: never;   /** Users who are in one of these groups at publication; 1 to 100 groups. */
  groups: Array<string>; users?: never; }
  |  { everyone?: never; groups?: never;   /** 1 to 10,000 users, by your ids. */
  users: Array<string>; };

/** Content of a notification. */
export type NotificationContentInput = {
  /** At most 16 KiB. */
  body?: string | null | undefined;
  /** JSON for the client, at most 16 KiB. The server returns it unchanged. */
  data?: unknown;
  /** Where a click leads: an absolute http(s) URL or a path, at most 2,048 characters. */
  link?: string | null | undefined;
  /** Variables of the type's template, at most 16 KiB of JSON. */
  params?: unknown;
  /** 1 to 256 characters. Required, unless the type has a template. */
  title?: string | null | undefined;
};

/** Kind of a notification. */
export type NotificationKind =
  /** Sent to an audience: everyone, groups or named users. */
  | 'ANNOUNCEMENT'
  /** Sent to one user. */
  | 'MESSAGE'
  /** Sent about an action on a target, to its subscribers. */
  | 'REMINDER';

/** A switch and its new state. */
export type NotificationPreferenceInput = {
  /** An action or a message type's code. */
  code: string;
  /** Whether it is on. */
  enabled: boolean;
};

/** A notification to an audience. */
export type SendAnnouncementInput = {
  /** The audience. */
  audience: NotificationAudienceInput;
  /** The content. */
  content: NotificationContentInput;
  /** In the future, and after `publishAt`. Default: the type's ttl after publication. */
  expiresAt?: string | null | undefined;
  /**
   * 1 to 128 characters. A second call with the same key sends nothing and returns the notification of the first;
   * with other content it is `CONFLICT`. Keys are kept as long as the notification. The tenant's services and
   * operators share their keys; each user has separate ones.
   */
  idempotencyKey?: string | null | undefined;
  /**
   * Publishes within a second of this time instead of at once; at most ten years ahead. A time in the past means at
   * once.
   */
  publishAt?: string | null | undefined;
  /** Your id of the sender. Default: no sender. */
  sender?: string | null | undefined;
  /**
   * True: `BAD_USER_INPUT` if the type's template fails on this notification; the error names the flaws, as
   * `previewNotification` returns them. False: it is sent in any case, and readers see the text of `content` instead
   * of each part that fails.
   */
  strict?: boolean;
  /** Code of a message type. */
  type: string;
};

/** A notification to one user. */
export type SendMessageInput = {
  /** The content. */
  content: NotificationContentInput;
  /** In the future, and after `publishAt`. Default: the type's ttl after publication. */
  expiresAt?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  idempotencyKey?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  publishAt?: string | null | undefined;
  /** Your id of the receiver. */
  receiver: string;
  /** Your id of the sender. Default: no sender, or for USER the token's user, who must be the sender. */
  sender?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  strict?: boolean;
  /** Code of a message type. */
  type: string;
};

/** One of the three kinds of notifications. */
export type SendNotificationInput =
  {   /** To everyone, to groups or to named users. */
  announcement: SendAnnouncementInput; message?: never; reminder?: never; }
  |  { announcement?: never;   /** To one user. */
  message: SendMessageInput; reminder?: never; }
  |  { announcement?: never; message?: never;   /** To the subscribers of a target's action. */
  reminder: SendReminderInput; };

/** A notification about an action on a target. */
export type SendReminderInput = {
  /** The action, such as `comment`; 1 to 128 characters. */
  action: string;
  /** The content. */
  content: NotificationContentInput;
  /** In the future, and after `publishAt`. Default: the type's ttl after publication. */
  expiresAt?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  idempotencyKey?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  publishAt?: string | null | undefined;
  /** Your id of the user who did it. They do not receive the reminder; their followers do. */
  sender?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  strict?: boolean;
  /** The target. */
  target: TopicTargetInput;
  /** Code of a message type. */
  type: string;
};

/** A target, by your own strings of 1 to 128 characters each. */
export type TopicTargetInput = {
  /** Your id among the targets of that kind. */
  externalId: string;
  /** Kind of the target, such as `order`. */
  type: string;
};

export type CountsFragment = { cursor: string, unread: { count: number, exact: boolean }, types: Array<{ type: { code: string, title: string, icon: string | null, ui: unknown }, unread: { count: number, exact: boolean }, latest: { title: string, createdAt: string } | null }> };

export type InboxEntryFragment = { cursor: string, node: { id: string, notificationId: string, kind: NotificationKind, title: string, body: string | null, link: string | null, data: unknown, createdAt: string, isRead: boolean, isArchived: boolean, type: { code: string, title: string, icon: string | null, ui: unknown }, sender: { id: string, name: string | null, avatarUrl: string | null } | null } };

export type MarkedFragment = { deletedIds: Array<string>, items: Array<{ id: string, isRead: boolean, isArchived: boolean }>, viewer: { overview: { cursor: string, unread: { count: number, exact: boolean }, types: Array<{ type: { code: string, title: string, icon: string | null, ui: unknown }, unread: { count: number, exact: boolean }, latest: { title: string, createdAt: string } | null }> } } | null };

export type SwitchesFragment = { types: Array<{ code: string, enabled: boolean }> };

export type OverviewChangedSubscriptionVariables = Exact<{
  types?: Array<string> | string | null | undefined;
  cap?: number | null | undefined;
}>;


export type OverviewChangedSubscription = { overviewChanged: { overview: { cursor: string, unread: { count: number, exact: boolean }, types: Array<{ type: { code: string, title: string, icon: string | null, ui: unknown }, unread: { count: number, exact: boolean }, latest: { title: string, createdAt: string } | null }> } } };

export type ItemReceivedSubscriptionVariables = Exact<{
  after?: string | null | undefined;
  types?: Array<string> | string | null | undefined;
}>;


export type ItemReceivedSubscription = { itemReceived: { cursor: string, node: { id: string, notificationId: string, kind: NotificationKind, title: string, body: string | null, link: string | null, data: unknown, createdAt: string, isRead: boolean, isArchived: boolean, type: { code: string, title: string, icon: string | null, ui: unknown }, sender: { id: string, name: string | null, avatarUrl: string | null } | null } } };

export type MarkReadMutationVariables = Exact<{
  select: InboxItemSelector;
  types?: Array<string> | string | null | undefined;
  cap?: number | null | undefined;
}>;


export type MarkReadMutation = { marked: { deletedIds: Array<string>, items: Array<{ id: string, isRead: boolean, isArchived: boolean }>, viewer: { overview: { cursor: string, unread: { count: number, exact: boolean }, types: Array<{ type: { code: string, title: string, icon: string | null, ui: unknown }, unread: { count: number, exact: boolean }, latest: { title: string, createdAt: string } | null }> } } | null } };

export type MarkUnreadMutationVariables = Exact<{
  select: InboxItemSelector;
  types?: Array<string> | string | null | undefined;
  cap?: number | null | undefined;
}>;


export type MarkUnreadMutation = { marked: { deletedIds: Array<string>, items: Array<{ id: string, isRead: boolean, isArchived: boolean }>, viewer: { overview: { cursor: string, unread: { count: number, exact: boolean }, types: Array<{ type: { code: string, title: string, icon: string | null, ui: unknown }, unread: { count: number, exact: boolean }, latest: { title: string, createdAt: string } | null }> } } | null } };

export type ArchiveItemsMutationVariables = Exact<{
  select: InboxItemSelector;
  types?: Array<string> | string | null | undefined;
  cap?: number | null | undefined;
}>;


export type ArchiveItemsMutation = { marked: { deletedIds: Array<string>, items: Array<{ id: string, isRead: boolean, isArchived: boolean }>, viewer: { overview: { cursor: string, unread: { count: number, exact: boolean }, types: Array<{ type: { code: string, title: string, icon: string | null, ui: unknown }, unread: { count: number, exact: boolean }, latest: { title: string, createdAt: string } | null }> } } | null } };

export type UnarchiveItemsMutationVariables = Exact<{
  select: InboxItemSelector;
  types?: Array<string> | string | null | undefined;
  cap?: number | null | undefined;
}>;


export type UnarchiveItemsMutation = { marked: { deletedIds: Array<string>, items: Array<{ id: string, isRead: boolean, isArchived: boolean }>, viewer: { overview: { cursor: string, unread: { count: number, exact: boolean }, types: Array<{ type: { code: string, title: string, icon: string | null, ui: unknown }, unread: { count: number, exact: boolean }, latest: { title: string, createdAt: string } | null }> } } | null } };

export type DeleteItemsMutationVariables = Exact<{
  select: InboxItemSelector;
  types?: Array<string> | string | null | undefined;
  cap?: number | null | undefined;
}>;


export type DeleteItemsMutation = { marked: { deletedIds: Array<string>, items: Array<{ id: string, isRead: boolean, isArchived: boolean }>, viewer: { overview: { cursor: string, unread: { count: number, exact: boolean }, types: Array<{ type: { code: string, title: string, icon: string | null, ui: unknown }, unread: { count: number, exact: boolean }, latest: { title: string, createdAt: string } | null }> } } | null } };

export type SendNotificationsMutationVariables = Exact<{
  inputs: Array<SendNotificationInput> | SendNotificationInput;
}>;


export type SendNotificationsMutation = { sendNotifications: Array<{ replayed: boolean, notification: { id: string } }> };

export type OverviewQueryVariables = Exact<{
  types?: Array<string> | string | null | undefined;
  cap?: number | null | undefined;
}>;


export type OverviewQuery = { viewer: { overview: { cursor: string, unread: { count: number, exact: boolean }, types: Array<{ type: { code: string, title: string, icon: string | null, ui: unknown }, unread: { count: number, exact: boolean }, latest: { title: string, createdAt: string } | null }> } } };

export type InboxQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  filter?: InboxFilter | null | undefined;
}>;


export type InboxQuery = { viewer: { inbox: { edges: Array<{ cursor: string, node: { id: string, notificationId: string, kind: NotificationKind, title: string, body: string | null, link: string | null, data: unknown, createdAt: string, isRead: boolean, isArchived: boolean, type: { code: string, title: string, icon: string | null, ui: unknown }, sender: { id: string, name: string | null, avatarUrl: string | null } | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } };

export type PreferencesQueryVariables = Exact<{ [key: string]: never; }>;


export type PreferencesQuery = { viewer: { preferences: { types: Array<{ code: string, enabled: boolean }> } }, messageTypes: Array<{ code: string, title: string, icon: string | null, ui: unknown, mandatory: boolean }> };

export type UpdatePreferencesMutationVariables = Exact<{
  types?: Array<NotificationPreferenceInput> | NotificationPreferenceInput | null | undefined;
}>;


export type UpdatePreferencesMutation = { updatePreferences: { preferences: { types: Array<{ code: string, enabled: boolean }> } } };

export const OverviewChanged = 'subscription OverviewChanged($types:[String!]$cap:Int){overviewChanged{overview(types:$types cap:$cap){...Counts}}}fragment Counts on InboxOverview{cursor unread{count exact}types{type{code title icon ui}unread{count exact}latest{title createdAt}}}' as Document<OverviewChangedSubscription, OverviewChangedSubscriptionVariables>;
export const ItemReceived = 'subscription ItemReceived($after:String$types:[String!]){itemReceived(after:$after types:$types){...InboxEntry}}fragment InboxEntry on InboxItemEdge{cursor node{id notificationId kind title body link data createdAt isRead isArchived type{code title icon ui}sender{id name avatarUrl}}}' as Document<ItemReceivedSubscription, ItemReceivedSubscriptionVariables>;
export const MarkRead = 'mutation MarkRead($select:InboxItemSelector!$types:[String!]$cap:Int){marked:markRead(select:$select){...Marked}}fragment Marked on InboxItemsPayload{items{id isRead isArchived}deletedIds viewer{overview(types:$types cap:$cap){...Counts}}}fragment Counts on InboxOverview{cursor unread{count exact}types{type{code title icon ui}unread{count exact}latest{title createdAt}}}' as Document<MarkReadMutation, MarkReadMutationVariables>;
export const MarkUnread = 'mutation MarkUnread($select:InboxItemSelector!$types:[String!]$cap:Int){marked:markUnread(select:$select){...Marked}}fragment Marked on InboxItemsPayload{items{id isRead isArchived}deletedIds viewer{overview(types:$types cap:$cap){...Counts}}}fragment Counts on InboxOverview{cursor unread{count exact}types{type{code title icon ui}unread{count exact}latest{title createdAt}}}' as Document<MarkUnreadMutation, MarkUnreadMutationVariables>;
export const ArchiveItems = 'mutation ArchiveItems($select:InboxItemSelector!$types:[String!]$cap:Int){marked:archiveItems(select:$select){...Marked}}fragment Marked on InboxItemsPayload{items{id isRead isArchived}deletedIds viewer{overview(types:$types cap:$cap){...Counts}}}fragment Counts on InboxOverview{cursor unread{count exact}types{type{code title icon ui}unread{count exact}latest{title createdAt}}}' as Document<ArchiveItemsMutation, ArchiveItemsMutationVariables>;
export const UnarchiveItems = 'mutation UnarchiveItems($select:InboxItemSelector!$types:[String!]$cap:Int){marked:unarchiveItems(select:$select){...Marked}}fragment Marked on InboxItemsPayload{items{id isRead isArchived}deletedIds viewer{overview(types:$types cap:$cap){...Counts}}}fragment Counts on InboxOverview{cursor unread{count exact}types{type{code title icon ui}unread{count exact}latest{title createdAt}}}' as Document<UnarchiveItemsMutation, UnarchiveItemsMutationVariables>;
export const DeleteItems = 'mutation DeleteItems($select:InboxItemSelector!$types:[String!]$cap:Int){marked:deleteItems(select:$select){...Marked}}fragment Marked on InboxItemsPayload{items{id isRead isArchived}deletedIds viewer{overview(types:$types cap:$cap){...Counts}}}fragment Counts on InboxOverview{cursor unread{count exact}types{type{code title icon ui}unread{count exact}latest{title createdAt}}}' as Document<DeleteItemsMutation, DeleteItemsMutationVariables>;
export const SendNotifications = 'mutation SendNotifications($inputs:[SendNotificationInput!]!){sendNotifications(inputs:$inputs){notification{id}replayed}}' as Document<SendNotificationsMutation, SendNotificationsMutationVariables>;
export const Overview = 'query Overview($types:[String!]$cap:Int){viewer{overview(types:$types cap:$cap){...Counts}}}fragment Counts on InboxOverview{cursor unread{count exact}types{type{code title icon ui}unread{count exact}latest{title createdAt}}}' as Document<OverviewQuery, OverviewQueryVariables>;
export const Inbox = 'query Inbox($first:Int$after:String$filter:InboxFilter){viewer{inbox(first:$first after:$after filter:$filter){edges{...InboxEntry}pageInfo{hasNextPage endCursor}}}}fragment InboxEntry on InboxItemEdge{cursor node{id notificationId kind title body link data createdAt isRead isArchived type{code title icon ui}sender{id name avatarUrl}}}' as Document<InboxQuery, InboxQueryVariables>;
export const Preferences = 'query Preferences{viewer{preferences{...Switches}}messageTypes{code title icon ui mandatory}}fragment Switches on NotificationPreferences{types{code enabled}}' as Document<PreferencesQuery, PreferencesQueryVariables>;
export const UpdatePreferences = 'mutation UpdatePreferences($types:[NotificationPreferenceInput!]){updatePreferences(types:$types){preferences{...Switches}}}fragment Switches on NotificationPreferences{types{code enabled}}' as Document<UpdatePreferencesMutation, UpdatePreferencesMutationVariables>;
