//! Outputs, with the names of the schema. New versions may add fields and variants.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Adds the common derives and attributes to the objects.
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

/// Adds the common derives and attributes to the enums. An unknown value becomes the last variant.
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
    /// The result of a send.
    SendPayload {
        /// `true` if the idempotency key was used before and nothing new was sent.
        replayed: bool,
        /// The notification; if `replayed`, the one that was sent first.
        notification: SentNotificationState,
    }

    /// A notification, as returned by a send.
    SentNotificationState {
        /// Opaque id; use it to amend or retract the notification.
        id: String,
        /// Its current state.
        status: NotificationStatus,
    }

    /// A sent or scheduled notification.
    SentNotification {
        /// Opaque id; use it to amend or retract the notification.
        id: String,
        /// Its kind.
        kind: NotificationKind,
        /// Its current state.
        status: NotificationStatus,
        /// Its message type.
        #[serde(rename = "type")]
        message_type: MessageTypeName,
        /// As sent; the type's title if it was sent without one.
        title: String,
        /// As sent.
        body: Option<String>,
        /// As sent.
        link: Option<String>,
        /// The sender's data, unchanged.
        data: Option<Value>,
        /// The action on the target.
        action: Option<String>,
        /// The target of a reminder.
        target: Option<TopicTarget>,
        /// The user who sent it or performed the action.
        sender: Option<UserId>,
        /// When the server accepted it.
        created_at: DateTime<Utc>,
        /// When its text was last amended.
        updated_at: Option<DateTime<Utc>>,
        /// When it is or was due; `None` if it was not scheduled.
        publish_at: Option<DateTime<Utc>>,
        /// When it was published; `None` while it is scheduled.
        published_at: Option<DateTime<Utc>>,
        /// From this instant on it is in no list and no count.
        expires_at: Option<DateTime<Utc>>,
        /// When it was retracted.
        retracted_at: Option<DateTime<Utc>>,
        /// Its counts of users.
        stats: NotificationStats,
    }

    /// How many users a notification addressed, reached and was read by.
    NotificationStats {
        /// Users addressed at publication; `None` until counted, within a minute.
        audience_size: Option<i32>,
        /// Users who received it, even if they deleted it since. May lag by a minute.
        delivered_count: i32,
        /// Users who have read it and not marked it unread since. May lag by a minute.
        read_count: i32,
    }

    /// A reference to a message type.
    MessageTypeName {
        /// Your code of it.
        code: String,
        /// For people.
        title: String,
    }

    /// An object that actions happen to.
    TopicTarget {
        /// The kind of object, such as `order`.
        #[serde(rename = "type")]
        target_type: String,
        /// Your id of it, unique within its type.
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
        /// `None` if you have not set it.
        name: Option<String>,
        /// An absolute http(s) URL or a path; `None` if you have not set it.
        avatar_url: Option<String>,
        /// A BCP 47 tag; `None` if you have not set it.
        locale: Option<String>,
    }

    /// A role, user type or segment.
    UserGroup {
        /// Opaque.
        id: String,
        /// Your code of it.
        code: String,
        /// For people.
        title: Option<String>,
        /// Current number of members.
        member_count: i32,
    }

    /// A category of notifications: a tab of the inbox.
    MessageType {
        /// Opaque.
        id: String,
        /// Your code of it.
        code: String,
        /// For people.
        title: String,
        /// Label that user interfaces group types by.
        group: Option<String>,
        /// Order in overviews, ascending, then by code.
        position: i32,
        /// Users cannot switch it off, neither by type nor by action.
        mandatory: bool,
        /// How its items become read.
        read_policy: ReadPolicy,
        /// Seconds for which its items are kept; `None`: for the server's retention window.
        ttl_seconds: Option<i32>,
        /// Templates of the titles, bodies and links of its items, rendered at each read.
        template: Option<MessageTemplate>,
        /// What is wrong with the template; `None` if nothing is.
        template_error: Option<String>,
    }

    /// Templates of a type.
    MessageTemplate {
        /// Template of the title.
        title: String,
        /// Template of the body. `None`: as the sender wrote it.
        body: Option<String>,
        /// Template of the link. `None`: as the sender wrote it.
        link: Option<String>,
    }

    /// The result of subscribing.
    SubscribeTopicPayload {
        /// Number of new subscriptions.
        created_count: i32,
        /// All requested subscriptions of a user; empty for a group.
        subscriptions: Vec<TopicSubscription>,
    }

    /// A subscription to an action on a target.
    TopicSubscription {
        /// Opaque.
        id: String,
        /// The action.
        action: String,
        /// The target.
        target: TopicTarget,
        /// Earlier reminders are not delivered.
        created_at: DateTime<Utc>,
    }

    /// The result of marking items.
    InboxItemsPayload {
        /// Number of items that changed.
        changed_count: i32,
    }

    /// Unread counts and latest items of a user.
    InboxOverview {
        /// The position in the inbox: everything published before it is included.
        cursor: String,
        /// Unread items of the requested types, without archived and expired ones.
        unread: CappedCount,
        /// Items that arrived since the whole inbox was last marked seen.
        unseen: CappedCount,
        /// In catalogue order, including types without items.
        types: Vec<MessageTypeOverview>,
    }

    /// Unread count and latest item of one type.
    MessageTypeOverview {
        /// The message type.
        #[serde(rename = "type")]
        message_type: MessageTypeName,
        /// Unread items of the type, without archived and expired ones.
        unread: CappedCount,
        /// Newest item that is neither archived nor expired, read or not.
        latest: Option<InboxItem>,
    }

    /// A count, possibly capped.
    CappedCount {
        /// The exact count, or the cap if there are more.
        count: i32,
        /// `false` if the count was capped.
        exact: bool,
    }

    /// A notification in a user's inbox.
    InboxItem {
        /// Opaque.
        id: String,
        /// The same for all recipients of the notification.
        notification_id: String,
        /// Its kind.
        kind: NotificationKind,
        /// Its message type.
        #[serde(rename = "type")]
        message_type: MessageTypeName,
        /// Rendered by the type's template, else as the sender wrote it.
        title: String,
        /// Rendered by the type's template, else as the sender wrote it.
        body: Option<String>,
        /// An absolute http(s) URL or a path, opened by a click.
        link: Option<String>,
        /// The sender's data, unchanged.
        data: Option<Value>,
        /// The action on the target.
        action: Option<String>,
        /// The target of a reminder.
        target: Option<TopicTarget>,
        /// The user who sent it or performed the action.
        sender: Option<UserId>,
        /// When the notification was published.
        created_at: DateTime<Utc>,
        /// When its text was last amended.
        updated_at: Option<DateTime<Utc>>,
        /// From this instant on it is in no list and no count.
        expires_at: Option<DateTime<Utc>>,
        /// Whether the user has read it.
        is_read: bool,
        /// When the user read it.
        read_at: Option<DateTime<Utc>>,
        /// Whether it is archived.
        is_archived: bool,
        /// When it was archived.
        archived_at: Option<DateTime<Utc>>,
    }

    /// A server of yours that receives events.
    WebhookEndpoint {
        /// Opaque.
        id: String,
        /// Each event is posted to this URL.
        url: String,
        /// The events it receives.
        events: Vec<WebhookEvent>,
        /// Whether it receives the texts of notifications, too.
        full: bool,
        /// Where its disabling is announced.
        alarm: Option<OutboundAlarm>,
        /// Whether events are sent to it.
        state: OutboundState,
        /// Start of the current failure streak; `None` if the last attempt succeeded.
        failing_since: Option<DateTime<Utc>>,
        /// No attempts until then, after five or more failures in a row.
        resting_until: Option<DateTime<Utc>>,
        /// When the last attempt ended.
        last_attempt_at: Option<DateTime<Utc>>,
        /// HTTP status of the last attempt; `None` if there was no response.
        last_status: Option<i32>,
        /// Error of the last failed attempt.
        last_error: Option<String>,
        /// Number of deliveries that wait for an attempt.
        pending_count: i32,
        /// Number of failed deliveries within the retention window.
        dead_count: i32,
        /// Until when the previous secret also signs.
        previous_secret_until: Option<DateTime<Utc>>,
        /// When it was created.
        created_at: DateTime<Utc>,
    }

    /// An endpoint with its secret, which no other response contains.
    WebhookEndpointSecret {
        /// Its current settings and state.
        endpoint: WebhookEndpoint,
        /// Signs the requests to it: `whsec_` and base64, as the libraries of Standard Webhooks expect it.
        secret: String,
    }

    /// An announcement to a group about a disabled destination.
    OutboundAlarm {
        /// Code of the message type.
        #[serde(rename = "type")]
        message_type: String,
        /// Code of the group.
        group: String,
    }

    /// The SMTP server that accepts your emails.
    MailRelay {
        /// Opaque.
        id: String,
        /// Without user name and password, which are never shown again.
        url: String,
        /// The sender's address, with a name if it has one.
        from: String,
        /// The address for replies; `None` if it is `from`.
        reply_to: Option<String>,
        /// Base of links in emails that are paths.
        link_base: Option<String>,
        /// Where its disabling is announced.
        alarm: Option<OutboundAlarm>,
        /// Whether it sends.
        state: OutboundState,
        /// Start of the current failure streak; `None` if the last attempt succeeded.
        failing_since: Option<DateTime<Utc>>,
        /// No attempts until then, after five or more failures in a row.
        resting_until: Option<DateTime<Utc>>,
        /// Error of the last failed attempt.
        last_error: Option<String>,
        /// Number of emails that wait for an attempt.
        pending_count: i32,
        /// Number of failed emails within the retention window.
        dead_count: i32,
    }

    /// A delivery of an event to an endpoint or a user.
    OutboundDelivery {
        /// Opaque id; receivers of webhooks see it as `webhook-id`.
        id: String,
        /// The channel.
        channel: OutboundChannel,
        /// The endpoint; `None` if it goes to a user.
        endpoint_id: Option<String>,
        /// The user; `None` if it goes to an endpoint.
        user: Option<UserId>,
        /// The event.
        event: WebhookEvent,
        /// The notification that the event is about, if any.
        notification_id: Option<String>,
        /// When the event happened or will happen.
        happened_at: DateTime<Utc>,
        /// Its current state.
        state: OutboundDeliveryState,
        /// Number of attempts.
        attempt_count: i32,
        /// Time of the next attempt; `None` if there will be none.
        due_at: Option<DateTime<Utc>>,
        /// Status of the last attempt; `None` if there was no response.
        last_status: Option<i32>,
        /// Error of the last attempt.
        last_error: Option<String>,
        /// When the delivery was created.
        created_at: DateTime<Utc>,
        /// When the receiver accepted it.
        delivered_at: Option<DateTime<Utc>>,
    }

    /// The result of a replay.
    ReplayOutboundDeliveriesPayload {
        /// Number of deliveries.
        replayed_count: i32,
    }

    /// The result of a deletion.
    DeletePayload {
        /// `None` if there was nothing to delete.
        deleted_id: Option<String>,
    }

    /// Position of a page in its list.
    PageInfo {
        /// Whether there is another page.
        has_next_page: bool,
        /// The `after` of the next page.
        end_cursor: Option<String>,
    }
}

/// A page of a list, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Page<Node> {
    /// The entries.
    pub nodes: Vec<Node>,
    /// Position of the page in the list.
    pub page_info: PageInfo,
}

enums! {
    /// The kind of a notification.
    NotificationKind {
        /// To everyone, to groups or to named users.
        Announcement,
        /// To one user.
        Message,
        /// To the subscribers of a target's action.
        Reminder,
        /// A value that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// The state of a notification.
    NotificationStatus {
        /// Past its `expires_at`: in no list and no count.
        Expired,
        /// In the inboxes of its recipients.
        Published,
        /// Withdrawn: in no list and no count.
        Retracted,
        /// Waiting for its `publish_at`.
        Scheduled,
        /// A value that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// How items of a type become read.
    ReadPolicy {
        /// Marking the type as seen marks its items as read.
        Auto,
        /// Items are marked as read one by one or in bulk.
        Manual,
        /// A value that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// An event that endpoints receive.
    WebhookEvent {
        /// A user's digest is due; only for deliveries by email.
        Digest,
        /// Another endpoint was disabled.
        EndpointDisabled,
        /// Users have read items.
        ItemRead,
        /// A notification's text or expiry has changed.
        NotificationAmended,
        /// A notification has expired.
        NotificationExpired,
        /// A notification was published.
        NotificationPublished,
        /// A notification was retracted.
        NotificationRetracted,
        /// A test of the endpoint.
        TestPing,
        /// A value that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// A channel of deliveries.
    OutboundChannel {
        /// Email to a user.
        Email,
        /// Webhook to a server of yours.
        Webhook,
        /// Web Push to a user's browser.
        WebPush,
        /// WeChat message to a follower of your official account.
        #[serde(rename = "WECHAT")]
        WeChat,
        /// A value that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// The state of a delivery.
    OutboundDeliveryState {
        /// The last attempt failed.
        Dead,
        /// The receiver or the relay has accepted it.
        Delivered,
        /// Waiting for an attempt.
        Pending,
        /// A value that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// Whether an endpoint or a relay is in use.
    OutboundState {
        /// Deliveries are sent.
        Active,
        /// Disabled after too many failures, until it is resumed.
        Disabled,
        /// Paused by a caller.
        Paused,
        /// A value that this version does not know.
        #[serde(other)]
        Unknown,
    }

    /// Why an operation failed. An unknown code becomes `Internal`.
    ErrorCode {
        /// The input is invalid, and `field` names the argument; nothing was changed.
        BadUserInput,
        /// The input conflicts with existing data; nothing was changed.
        Conflict,
        /// The caller's role may not do this.
        Forbidden,
        /// The document is not valid GraphQL; nothing was executed.
        GraphqlParseFailed,
        /// The document does not fit the schema or exceeds a limit; nothing was executed.
        GraphqlValidationFailed,
        /// It does not exist, or is not accessible to the caller.
        NotFound,
        /// No document with this hash is known.
        PersistedQueryNotFound,
        /// This server does not accept documents by hash.
        PersistedQueryNotSupported,
        /// The caller's rate limit is reached; `retry_after` says how long to wait.
        RateLimited,
        /// The token is missing, invalid or expired.
        Unauthenticated,
        /// There was no response, or the server is busy. The same call may succeed soon.
        Unavailable,
        /// An error that the caller cannot fix, or a response that is not from Tidings.
        #[serde(other)]
        Internal,
    }
}
