//! What comes out, under the names of the schema. Fields and variants may be added in any version.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Gives the objects of the schema what all of them have.
macro_rules! outputs {
    ($($(#[$about:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)+ })+) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            #[non_exhaustive]
            pub struct $name { $($(#[$meta])* pub $field: $type,)+ }
        )+
    };
}

/// Gives the enums of the schema what all of them have. The last variant is what a value becomes that this version does not know.
macro_rules! enums {
    ($($(#[$about:meta])* $name:ident { $($(#[$meta:meta])* $variant:ident,)+ })+) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
            #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
            #[non_exhaustive]
            pub enum $name { $($(#[$meta])* $variant,)+ }
        )+
    };
}

outputs! {
    /// What came of a send.
    SendPayload {
        /// True when the idempotency key had been used and nothing new was sent.
        replayed: bool,
        /// What was sent; the first one's where it is `replayed`.
        notification: SentNotificationState,
    }

    /// A notification, as sending it answers.
    SentNotificationState {
        /// Opaque; names it when it is amended or retracted.
        id: String,
        /// Where it is in its life.
        status: NotificationStatus,
    }

    /// What was sent, or is scheduled.
    SentNotification {
        /// Opaque; names it when it is amended or retracted.
        id: String,
        /// What it is.
        kind: NotificationKind,
        /// Where it is in its life.
        status: NotificationStatus,
        /// Its category.
        #[serde(rename = "type")]
        message_type: MessageTypeName,
        /// As it was sent; the type's title where it was sent without one.
        title: String,
        /// As it was sent.
        body: Option<String>,
        /// As it was sent.
        link: Option<String>,
        /// What the sender attached, untouched.
        data: Option<Value>,
        /// What happened to the target.
        action: Option<String>,
        /// What a reminder is about.
        target: Option<TopicTarget>,
        /// Who sent it, or did what it is about.
        sender: Option<UserId>,
        /// When it was handed in.
        created_at: DateTime<Utc>,
        /// When its text was last amended.
        updated_at: Option<DateTime<Utc>>,
        /// When it is, or was, to be published; `None` where it was not scheduled.
        publish_at: Option<DateTime<Utc>>,
        /// When it was published; `None` while it is scheduled.
        published_at: Option<DateTime<Utc>>,
        /// From this instant on it is in no list and no count.
        expires_at: Option<DateTime<Utc>>,
        /// When it was taken back.
        retracted_at: Option<DateTime<Utc>>,
        /// How many users it addressed, has reached and was read by.
        stats: NotificationStats,
    }

    /// How many users a notification addressed, has reached and was read by.
    NotificationStats {
        /// Users addressed at the time of publication; `None` until counted, within a minute.
        audience_size: Option<i32>,
        /// Users in whose inbox it has arrived, whatever they did with it since. May lag by a minute.
        delivered_count: i32,
        /// Users who have read it, and not marked it unread since. May lag by a minute.
        read_count: i32,
    }

    /// A message type, as what belongs to it names it.
    MessageTypeName {
        /// Your own name of it.
        code: String,
        /// For people.
        title: String,
    }

    /// Something that things happen to.
    TopicTarget {
        /// What kind of thing it is, such as `order`.
        #[serde(rename = "type")]
        target_type: String,
        /// Your own id of it, among the targets of its type.
        external_id: String,
    }

    /// A user, by your own id.
    UserId {
        /// The `sub` of their tokens.
        id: String,
    }

    /// The public profile of a user.
    User {
        /// Your own id of the user.
        id: String,
        /// As far as you have told it.
        name: Option<String>,
        /// As far as you have told it: an absolute http(s) URL or a path.
        avatar_url: Option<String>,
        /// BCP 47, as far as you have told it.
        locale: Option<String>,
    }

    /// A role, user type or segment.
    UserGroup {
        /// Opaque.
        id: String,
        /// Your own name of it.
        code: String,
        /// For people.
        title: Option<String>,
        /// How many users are in it now.
        member_count: i32,
    }

    /// A category: a tab of the inbox.
    MessageType {
        /// Opaque.
        id: String,
        /// Your own name of it.
        code: String,
        /// For people.
        title: String,
        /// Free label under which a UI groups types.
        group: Option<String>,
        /// Order in overviews, ascending; ties by code.
        position: i32,
        /// Users cannot switch it off, neither by type nor by action.
        mandatory: bool,
        /// How its items come to be read.
        read_policy: ReadPolicy,
        /// How long its items are kept, in seconds; `None`: as long as the server keeps all.
        ttl_seconds: Option<i32>,
        /// Renders titles, bodies and links of its items when they are read.
        template: Option<MessageTemplate>,
        /// What is wrong with the template; `None` where nothing is.
        template_error: Option<String>,
    }

    /// Templates of a type.
    MessageTemplate {
        /// Renders the title.
        title: String,
        /// Renders the body; `None`: as the sender wrote it.
        body: Option<String>,
        /// Renders the link; `None`: as the sender wrote it.
        link: Option<String>,
    }

    /// What subscribing did.
    SubscribeTopicPayload {
        /// How many there were not before.
        created_count: i32,
        /// All that were asked for, a user's; none of a group.
        subscriptions: Vec<TopicSubscription>,
    }

    /// Somebody hears of an action on a target.
    TopicSubscription {
        /// Opaque.
        id: String,
        /// What happens to it.
        action: String,
        /// What it is about.
        target: TopicTarget,
        /// Reminders sent before this are not heard.
        created_at: DateTime<Utc>,
    }

    /// What a mark did.
    InboxItemsPayload {
        /// How many items are otherwise than before.
        changed_count: i32,
    }

    /// Unread counts and latest items of a user.
    InboxOverview {
        /// Where the inbox stands: all that was published before is in it.
        cursor: String,
        /// Unread items of the types asked for, archived and expired ones left out.
        unread: CappedCount,
        /// Items that arrived since the whole inbox was last marked seen.
        unseen: CappedCount,
        /// In catalogue order; a type without items is there, too.
        types: Vec<MessageTypeOverview>,
    }

    /// Unread count and latest item of one type.
    MessageTypeOverview {
        /// The category.
        #[serde(rename = "type")]
        message_type: MessageTypeName,
        /// Unread items of the type, archived and expired ones left out.
        unread: CappedCount,
        /// Newest item that is neither archived nor expired, read or not.
        latest: Option<InboxItem>,
    }

    /// How many.
    CappedCount {
        /// Exact, or the cap when there are more.
        count: i32,
        /// False when the count was cut at the cap.
        exact: bool,
    }

    /// A notification in somebody's inbox.
    InboxItem {
        /// Opaque.
        id: String,
        /// Shared by every recipient of the same notification.
        notification_id: String,
        /// What it is.
        kind: NotificationKind,
        /// Its category.
        #[serde(rename = "type")]
        message_type: MessageTypeName,
        /// Rendered by the type's template where it has one; else as the sender wrote it.
        title: String,
        /// Rendered in the same way.
        body: Option<String>,
        /// Where a click leads: an absolute http(s) URL or a path.
        link: Option<String>,
        /// What the sender attached, untouched.
        data: Option<Value>,
        /// What happened to the target.
        action: Option<String>,
        /// What a reminder is about.
        target: Option<TopicTarget>,
        /// Who sent it, or did what it is about.
        sender: Option<UserId>,
        /// When the notification was published.
        created_at: DateTime<Utc>,
        /// When its text was last amended.
        updated_at: Option<DateTime<Utc>>,
        /// From this instant on it is in no list and no count.
        expires_at: Option<DateTime<Utc>>,
        /// Whether the user has read it.
        is_read: bool,
        /// When they did.
        read_at: Option<DateTime<Utc>>,
        /// Whether it is out of the inbox proper.
        is_archived: bool,
        /// When it was archived.
        archived_at: Option<DateTime<Utc>>,
    }

    /// A server of yours that is told of events.
    WebhookEndpoint {
        /// Opaque.
        id: String,
        /// To which each event is posted.
        url: String,
        /// What it wants to hear of.
        events: Vec<WebhookEvent>,
        /// Whether it is sent the texts of notifications, too.
        full: bool,
        /// Whom it tells that it was disabled.
        alarm: Option<OutboundAlarm>,
        /// Whether anything is sent to it.
        state: OutboundState,
        /// Since when nothing but failures has been.
        failing_since: Option<DateTime<Utc>>,
        /// Until when nothing is tried, since it has failed five times in a row or more.
        resting_until: Option<DateTime<Utc>>,
        /// When the last attempt ended.
        last_attempt_at: Option<DateTime<Utc>>,
        /// HTTP status of the last attempt; `None` where there was no answer.
        last_status: Option<i32>,
        /// Why the last attempt failed that did.
        last_error: Option<String>,
        /// How many deliveries wait to be sent, or to be tried again.
        pending_count: i32,
        /// How many deliveries were given up, of those of the retention window.
        dead_count: i32,
        /// Until when the secret before signs, too.
        previous_secret_until: Option<DateTime<Utc>>,
        /// When it was made.
        created_at: DateTime<Utc>,
    }

    /// An endpoint with its secret, which no other answer has.
    WebhookEndpointSecret {
        /// As it is now.
        endpoint: WebhookEndpoint,
        /// Signs what is sent to it; `whsec_` and base64, as the libraries of Standard Webhooks take it.
        secret: String,
    }

    /// Who is told by an announcement to a group.
    OutboundAlarm {
        /// Code of its message type.
        #[serde(rename = "type")]
        message_type: String,
        /// Code of the group.
        group: String,
    }

    /// The server that takes mail to your users.
    MailRelay {
        /// Opaque.
        id: String,
        /// Without user name and password, which nobody is shown again.
        url: String,
        /// The address that mail comes from, with its name where it has one.
        from: String,
        /// Where answers go; `None` where they go to `from`.
        reply_to: Option<String>,
        /// What links of notifications that are paths belong to.
        link_base: Option<String>,
        /// Whom it tells that it was disabled.
        alarm: Option<OutboundAlarm>,
        /// Whether anything is sent by it.
        state: OutboundState,
        /// Since when nothing but failures has been.
        failing_since: Option<DateTime<Utc>>,
        /// Until when nothing is tried, since it has failed five times in a row or more.
        resting_until: Option<DateTime<Utc>>,
        /// Why the last attempt failed that did.
        last_error: Option<String>,
        /// How many letters wait to be sent, or to be tried again.
        pending_count: i32,
        /// How many letters were given up, of those of the retention window.
        dead_count: i32,
    }

    /// An event on its way to an endpoint or a user, or what came of it.
    OutboundDelivery {
        /// Opaque: the `webhook-id` that the receiver of a webhook sees.
        id: String,
        /// By what it goes.
        channel: OutboundChannel,
        /// The endpoint; `None` where it goes to a user.
        endpoint_id: Option<String>,
        /// To whom it goes; `None` where it goes to an endpoint.
        user: Option<UserId>,
        /// What has happened.
        event: WebhookEvent,
        /// The notification that it is about, where it is about one.
        notification_id: Option<String>,
        /// When that happened, or will.
        happened_at: DateTime<Utc>,
        /// Where it is.
        state: OutboundDeliveryState,
        /// How often it was tried.
        attempt_count: i32,
        /// When it is tried next; `None` where it is not any more.
        due_at: Option<DateTime<Utc>>,
        /// Status of the last attempt; `None` where there was no answer.
        last_status: Option<i32>,
        /// Why the last attempt failed.
        last_error: Option<String>,
        /// When it was made of the event.
        created_at: DateTime<Utc>,
        /// When the receiver had taken it.
        delivered_at: Option<DateTime<Utc>>,
    }

    /// What was sent again.
    ReplayOutboundDeliveriesPayload {
        /// How many deliveries.
        replayed_count: i32,
    }

    /// What was deleted.
    DeletePayload {
        /// `None` where there was nothing.
        deleted_id: Option<String>,
    }

    /// Whether and where a list goes on.
    PageInfo {
        /// Whether there is more after it.
        has_next_page: bool,
        /// `after` of the next page.
        end_cursor: Option<String>,
    }
}

/// A page of a list, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Page<Node> {
    /// What is on it.
    pub nodes: Vec<Node>,
    /// Whether and where the list goes on.
    pub page_info: PageInfo,
}

enums! {
    /// What a notification is.
    NotificationKind {
        /// To everyone, to groups or to named users.
        Announcement,
        /// To one user.
        Message,
        /// To the subscribers of a target's action.
        Reminder,
        /// One that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// Where a notification is in its life.
    NotificationStatus {
        /// Past its `expires_at`: in no list and no count.
        Expired,
        /// In the inboxes of those it reaches.
        Published,
        /// Taken back: in no list and no count.
        Retracted,
        /// It waits for its `publish_at`.
        Scheduled,
        /// One that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// How items of a type come to be read.
    ReadPolicy {
        /// Marking the type seen marks its items read.
        Auto,
        /// They are marked one by one or in bulk.
        Manual,
        /// One that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// What endpoints hear of.
    WebhookEvent {
        /// The hour of a user's digest has come: of letters alone.
        Digest,
        /// Another endpoint was given up.
        EndpointDisabled,
        /// Users have read items.
        ItemRead,
        /// A notification's text or expiry is another.
        NotificationAmended,
        /// It has expired.
        NotificationExpired,
        /// It was sent, or was due.
        NotificationPublished,
        /// It was taken back.
        NotificationRetracted,
        /// Somebody tries the endpoint.
        TestPing,
        /// One that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// How something leaves for the outside.
    OutboundChannel {
        /// As a letter to a user.
        Email,
        /// To a server of yours.
        Webhook,
        /// To a browser of a user.
        WebPush,
        /// As a message to a user who follows your official account of WeChat.
        #[serde(rename = "WECHAT")]
        WeChat,
        /// One that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// Where a delivery is.
    OutboundDeliveryState {
        /// It was tried for the last time.
        Dead,
        /// The receiver or the relay has taken it.
        Delivered,
        /// It waits to be sent, or to be tried again.
        Pending,
        /// One that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// Whether anything is sent to an endpoint, or by a relay.
    OutboundState {
        /// It is.
        Active,
        /// It was given up; resuming it tries it again.
        Disabled,
        /// Somebody has paused it.
        Paused,
        /// One that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// Why an operation failed. A code that this version does not know is `Internal`.
    ErrorCode {
        /// The input is to blame, and `field` says which; nothing was changed.
        BadUserInput,
        /// It contradicts what is already there; nothing was changed.
        Conflict,
        /// The caller's role may not do this.
        Forbidden,
        /// The document is not GraphQL; nothing was executed.
        GraphqlParseFailed,
        /// The document does not fit the schema, or asks for too much at once; nothing was executed.
        GraphqlValidationFailed,
        /// Does not exist, or belongs to somebody else.
        NotFound,
        /// No document is known by this hash.
        PersistedQueryNotFound,
        /// This server takes no documents by hash.
        PersistedQueryNotSupported,
        /// More than the caller's share: `retry_after` says when to come back.
        RateLimited,
        /// A token is missing or wrong, or has expired.
        Unauthenticated,
        /// No answer came, or the server has no time: the same call may succeed in a moment.
        Unavailable,
        /// What no caller can help, or an answer that is none of Tidings.
        #[serde(other)]
        Internal,
    }
}
