// Made by generate.mjs from operations/ and schema.graphql.

import type { Document } from './request.js';

/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
/** What to list; conditions left out do not count. */
export type InboxFilter = {
  /** What happened to the target. */
  action?: string | null | undefined;
  /** Of one of these kinds. */
  kinds?: Array<NotificationKind> | null | undefined;
  /** True: only read, false: only unread, null: both. */
  read?: boolean | null | undefined;
  /** The partner's id of a user. */
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

/** Which items a bulk mark is about; conditions left out do not count. */
export type InboxItemMatch = {
  /** About this target. */
  target?: TopicTargetInput | null | undefined;
  /** Codes of message types. */
  types?: Array<string> | null | undefined;
  /** Up to and including the item at this cursor: what arrives during the click stays as it is. */
  upTo?: string | null | undefined;
};

/** Which items of an inbox: either some, or all that match. */
export type InboxItemSelector =
  {   /** At most 1,000. An item that was deleted or has expired is passed over. */
  ids: Array<string>; matching?: never; }
  |  { ids?: never;   /** Every item that matches; an empty match is the whole inbox. */
  matching: InboxItemMatch; };

/** Which part of an inbox to list. */
export type InboxState =
  /** Both. */
  | 'ALL'
  /** What is archived. */
  | 'ARCHIVED'
  /** The inbox proper: what is not archived. */
  | 'INBOX';

/** Whom an announcement is for. */
export type NotificationAudienceInput =
  {   /** True: all users of the tenant, also those first mentioned within the retention window after it. */
  everyone: boolean; groups?: never; users?: never; }
  |  { everyone?: never;   /** Who is in one of these groups when it is published; 1 to 100. */
  groups: Array<string>; users?: never; }
  |  { everyone?: never; groups?: never;   /** 1 to 10,000 users by name. */
  users: Array<string>; };

/** What a notification says. */
export type NotificationContentInput = {
  /** 16 KiB at most. */
  body?: string | null | undefined;
  /** For the client, untouched; 16 KiB of JSON at most. */
  data?: unknown;
  /** Where a click leads: an absolute http(s) URL or a path; 2,048 characters at most. */
  link?: string | null | undefined;
  /** For the type's template; 16 KiB of JSON at most. */
  params?: unknown;
  /** 1 to 256 characters. Required, unless the type has a template. */
  title?: string | null | undefined;
};

/** What a notification is. */
export type NotificationKind =
  /** Sent by an operator to an audience. */
  | 'ANNOUNCEMENT'
  /** Addressed to one user. */
  | 'MESSAGE'
  /** Raised by something that happened to a target; reaches its subscribers. */
  | 'REMINDER';

/** A switch to set. */
export type NotificationPreferenceInput = {
  /** An action or a message type's code. */
  code: string;
  /** Whether it shall be on. */
  enabled: boolean;
};

/** Something to say to an audience. */
export type SendAnnouncementInput = {
  /** Whom it is for. */
  audience: NotificationAudienceInput;
  /** What it says. */
  content: NotificationContentInput;
  /** In the future, and after `publishAt`. Default: the type's ttl after publication. */
  expiresAt?: string | null | undefined;
  /**
   * 1 to 128 characters. A second call with the same key sends nothing and returns the first one's notification; with
   * other content it is a CONFLICT. Keys are remembered as long as the notification. The tenant's services and operators
   * share theirs; each user has keys of their own.
   */
  idempotencyKey?: string | null | undefined;
  /**
   * In the future: scheduled, and published within a second of it to whoever listens then. Within ten years; at once
   * where it is left out, or past.
   */
  publishAt?: string | null | undefined;
  /** Who it is from, by the partner's own id; nobody where it is left out. */
  sender?: string | null | undefined;
  /**
   * True: refused with BAD_USER_INPUT while the type's template has flaws on it, as `previewNotification` shows them, which the error
   * names. False: sent in any case, and readers see what `content` gives in the place of what fails.
   */
  strict?: boolean;
  /** Code of a message type. */
  type: string;
};

/** Something to say to one user. */
export type SendMessageInput = {
  /** What it says. */
  content: NotificationContentInput;
  /** In the future, and after `publishAt`. Default: the type's ttl after publication. */
  expiresAt?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  idempotencyKey?: string | null | undefined;
  /**
   * In the future: scheduled, and published within a second of it to whoever listens then. Within ten years; at once
   * where it is left out, or past.
   */
  publishAt?: string | null | undefined;
  /** Whom it is for, by the partner's own id. */
  receiver: string;
  /** Who it is from, by the partner's own id: nobody where it is left out, and USER themselves. */
  sender?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  strict?: boolean;
  /** Code of a message type. */
  type: string;
};

/** One of the three. */
export type SendNotificationInput =
  {   /** To everyone, to groups or to named users. */
  announcement: SendAnnouncementInput; message?: never; reminder?: never; }
  |  { announcement?: never;   /** To one user. */
  message: SendMessageInput; reminder?: never; }
  |  { announcement?: never; message?: never;   /** To the subscribers of a target's action. */
  reminder: SendReminderInput; };

/** Something happened to a target. */
export type SendReminderInput = {
  /** What happened, such as `comment`; 1 to 128 characters. */
  action: string;
  /** What it says. */
  content: NotificationContentInput;
  /** In the future, and after `publishAt`. Default: the type's ttl after publication. */
  expiresAt?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  idempotencyKey?: string | null | undefined;
  /**
   * In the future: scheduled, and published within a second of it to whoever listens then. Within ten years; at once
   * where it is left out, or past.
   */
  publishAt?: string | null | undefined;
  /** Who did it; they are never reminded of their own doing. Their followers are reminded too. */
  sender?: string | null | undefined;
  /** As in `SendAnnouncementInput`. */
  strict?: boolean;
  /** To what it happened. */
  target: TopicTargetInput;
  /** Code of a message type. */
  type: string;
};

/** A target by the partner's own strings, 1 to 128 characters each. */
export type TopicTargetInput = {
  /** The partner's own id, among the targets of its type. */
  externalId: string;
  /** What kind of thing it is, such as `order`. */
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
