//! Inputs, with the names of the schema. `None` is not sent, and [`Default`] omits all that is optional.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::output::{
    NotificationKind, NotificationStatus, OutboundChannel, OutboundDeliveryState, ReadPolicy, WebhookEvent,
};

/// Adds the common derives and attributes to the inputs.
macro_rules! inputs {
    ($($(#[$about:meta])* $name:ident { $($(#[$meta:meta])* $field:ident: $type:ty,)+ })+) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
            #[serde(rename_all = "camelCase", deny_unknown_fields)]
            pub struct $name { $($(#[$meta])* pub $field: $type,)+ }
        )+
    };
}

inputs! {
    /// The content of a notification.
    NotificationContentInput {
        /// 1 to 256 characters. Required, unless the type has a template.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// At most 16 KiB.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
        /// An absolute http(s) URL or a path, opened by a click; at most 2,048 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<String>,
        /// Values for the type's template; at most 16 KiB of JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<Value>,
        /// Data for the client, returned unchanged; at most 16 KiB of JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    }

    /// A notification to an audience.
    SendAnnouncementInput {
        /// Code of a message type.
        #[serde(rename = "type")]
        message_type: String,
        /// The recipients.
        audience: NotificationAudienceInput,
        /// The content.
        content: NotificationContentInput,
        /// Your id of the sender; `None` for no sender.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// 1 to 128 characters; the client generates one for `None`. A second send with the same key sends nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// `true`: reject it if its preview shows errors.
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
        /// Time to publish it, within the next ten years. `None` or a past time: at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        publish_at: Option<DateTime<Utc>>,
        /// In the future, and after `publish_at`. `None`: the type's `ttl_seconds` after publication.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<DateTime<Utc>>,
    }

    /// A notification about an action on a target, to its subscribers.
    SendReminderInput {
        /// Code of a message type.
        #[serde(rename = "type")]
        message_type: String,
        /// The target of the action.
        target: TopicTargetInput,
        /// The action, such as `comment`; 1 to 128 characters.
        action: String,
        /// The content.
        content: NotificationContentInput,
        /// Your id of the user who acted. They get no reminder of their own action; their followers do.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// 1 to 128 characters; the client generates one for `None`. A second send with the same key sends nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// `true`: reject it if its preview shows errors.
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
        /// Time to publish it, within the next ten years. `None` or a past time: at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        publish_at: Option<DateTime<Utc>>,
        /// In the future, and after `publish_at`. `None`: the type's `ttl_seconds` after publication.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<DateTime<Utc>>,
    }

    /// A notification to one user.
    SendMessageInput {
        /// Code of a message type.
        #[serde(rename = "type")]
        message_type: String,
        /// Your id of the recipient.
        receiver: String,
        /// The content.
        content: NotificationContentInput,
        /// Your id of the sender; `None` for no sender.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// 1 to 128 characters; the client generates one for `None`. A second send with the same key sends nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// `true`: reject it if its preview shows errors.
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
        /// Time to publish it, within the next ten years. `None` or a past time: at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        publish_at: Option<DateTime<Utc>>,
        /// In the future, and after `publish_at`. `None`: the type's `ttl_seconds` after publication.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<DateTime<Utc>>,
    }

    /// A change of a notification; `None` keeps a field.
    NotificationPatch {
        /// 1 to 256 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// At most 16 KiB.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
        /// An absolute http(s) URL or a path, opened by a click; at most 2,048 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<String>,
        /// Values for the type's template; at most 16 KiB of JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<Value>,
        /// Data for the client, returned unchanged; at most 16 KiB of JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
        /// Only while it is scheduled. A past time means at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        publish_at: Option<DateTime<Utc>>,
        /// In the future.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<DateTime<Utc>>,
        /// Fields to clear; none of them may also be set.
        #[serde(skip_serializing_if = "Option::is_none")]
        clear: Option<Vec<NotificationField>>,
    }

    /// A target by your ids, 1 to 128 characters each.
    TopicTargetInput {
        /// The kind of object, such as `order`.
        #[serde(rename = "type")]
        target_type: String,
        /// Your id of it, unique within its type.
        external_id: String,
    }

    /// A change of a user's profile; `None` keeps a field.
    UserProfileInput {
        /// Your own id of the user; 1 to 128 characters.
        id: String,
        /// 1 to 256 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// An absolute http(s) URL or a path.
        #[serde(skip_serializing_if = "Option::is_none")]
        avatar_url: Option<String>,
        /// A BCP 47 tag.
        #[serde(skip_serializing_if = "Option::is_none")]
        locale: Option<String>,
        /// All addresses of the user for deliveries outside the inbox; at most five.
        #[serde(skip_serializing_if = "Option::is_none")]
        contacts: Option<Vec<UserContactInput>>,
        /// Their IANA time zone, such as `Europe/Berlin`.
        #[serde(skip_serializing_if = "Option::is_none")]
        time_zone: Option<String>,
        /// Daily hours without deliveries, in `time_zone`.
        #[serde(skip_serializing_if = "Option::is_none")]
        quiet: Option<QuietHoursInput>,
        /// When they get digests, in `time_zone`; by default daily at 08:00.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<DigestTimeInput>,
        /// Fields to clear; none of them may also be set.
        #[serde(skip_serializing_if = "Option::is_none")]
        clear: Option<Vec<ProfileField>>,
    }

    /// Daily hours in which nothing is delivered outside the inbox.
    QuietHoursInput {
        /// A time of day, from `00:00` to `23:59`.
        from: String,
        /// The end: another time of day.
        to: String,
    }

    /// When a user gets one email with all unread notifications.
    DigestTimeInput {
        /// A time of day, from `00:00` to `23:59`.
        at: String,
        /// The day of the week; `None` for every day.
        #[serde(skip_serializing_if = "Option::is_none")]
        weekday: Option<Weekday>,
    }

    /// All settings of a message type; `None` resets one to its default.
    MessageTypeInput {
        /// 1 to 128 characters. Creates the type with this code, or changes it.
        code: String,
        /// 1 to 256 characters.
        title: String,
        /// Label that user interfaces group types by; 1 to 128 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// Order in overviews, ascending, then by code. `None`: 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        position: Option<i32>,
        /// Users cannot switch it off, neither by type nor by action.
        #[serde(skip_serializing_if = "Option::is_none")]
        mandatory: Option<bool>,
        /// Users may send messages of this type to each other, if the server lets the tenant's users. Not together with
        /// `mandatory`.
        #[serde(skip_serializing_if = "Option::is_none")]
        users_may_send: Option<bool>,
        /// How its items become read.
        #[serde(skip_serializing_if = "Option::is_none")]
        read_policy: Option<ReadPolicy>,
        /// Seconds for which notifications sent from now on are kept; at least 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<i32>,
        /// Applies to everything read from now on, including earlier notifications.
        #[serde(skip_serializing_if = "Option::is_none")]
        template: Option<MessageTemplateInput>,
        /// Icon for user interfaces: a name they know, or an absolute https URL; at most 256 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        icon: Option<String>,
        /// Data for user interfaces, returned unchanged; at most 4 KiB of JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        ui: Option<Value>,
        /// Deliveries outside the inbox; none by default. At most one rule per channel.
        #[serde(skip_serializing_if = "Option::is_none")]
        delivery: Option<Vec<MessageDeliveryRuleInput>>,
    }

    /// How notifications of a type are delivered outside the inbox.
    MessageDeliveryRuleInput {
        /// The channel.
        channel: DeliveryChannel,
        /// Which items; `None`: the unread ones.
        #[serde(skip_serializing_if = "Option::is_none")]
        condition: Option<DeliveryCondition>,
        /// Seconds after publication: 300 by default, at most 2,592,000 (30 days). Must be 0 with `digest`.
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_seconds: Option<i32>,
        /// Email only: whether items are sent with the user's next digest instead of one by one.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<bool>,
        /// Email only: templates of the email. `None`: the texts of the item.
        #[serde(skip_serializing_if = "Option::is_none")]
        letter: Option<MessageLetterInput>,
        /// The message template; required for WeChat, and not allowed for other channels.
        #[serde(skip_serializing_if = "Option::is_none")]
        wechat: Option<WeChatTemplateInput>,
    }

    /// A WeChat template message. The sources are MiniJinja templates, which can also use `title` and `body`.
    WeChatTemplateInput {
        /// The template's id at WeChat: 1 to 128 letters, digits, `-` and `_`.
        template_id: String,
        /// The fields: 1 to 20, at most 16 KiB as JSON.
        fields: Vec<WeChatFieldInput>,
        /// Template of the link; at most 2,000 bytes. `None`: the item's link.
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    }

    /// A field of a WeChat template.
    WeChatFieldInput {
        /// The name in WeChat's template without `.DATA`: `thing1`.
        name: String,
        /// Template of the value; at most 2,000 bytes. The result is cut to the maximum of the field's kind.
        value: String,
    }

    /// Templates of an email, at most 16 KiB each. One that does not compile is rejected.
    MessageLetterInput {
        /// Replaces the item's title.
        #[serde(skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        /// Replaces the item's body.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Replaces the item's body in the HTML part.
        #[serde(skip_serializing_if = "Option::is_none")]
        html: Option<String>,
    }

    /// Templates of a type, at most 16 KiB each. One that does not compile is rejected.
    MessageTemplateInput {
        /// Template of the title.
        title: String,
        /// Template of the body. `None`: as the sender wrote it.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
        /// Template of the link. `None`: as the sender wrote it.
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    }

    /// A subscription to create.
    SubscribeTopicInput {
        /// The target.
        target: TopicTargetInput,
        /// The actions on it.
        what: TopicChoice,
        /// The subscriber; required for services.
        #[serde(skip_serializing_if = "Option::is_none")]
        who: Option<ListenerChoice>,
    }

    /// Items to mark: those that match all conditions.
    InboxItemMatch {
        /// Only these message types, by code.
        #[serde(skip_serializing_if = "Option::is_none")]
        types: Option<Vec<String>>,
        /// Only about this target.
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<TopicTargetInput>,
        /// Only up to and including the item at this cursor.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_to: Option<String>,
    }

    /// Filter of an inbox; `None` does not filter.
    InboxFilter {
        /// The part of the inbox. `None`: only items that are not archived.
        #[serde(skip_serializing_if = "Option::is_none")]
        state: Option<InboxState>,
        /// `true`: only read items; `false`: only unread items.
        #[serde(skip_serializing_if = "Option::is_none")]
        read: Option<bool>,
        /// Only these message types, by code.
        #[serde(skip_serializing_if = "Option::is_none")]
        types: Option<Vec<String>>,
        /// Only these kinds.
        #[serde(skip_serializing_if = "Option::is_none")]
        kinds: Option<Vec<NotificationKind>>,
        /// Only about this target.
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<TopicTargetInput>,
        /// Only about this action.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        /// Only from this user, by your id.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// Only published at or after this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<DateTime<Utc>>,
        /// Only published before this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<DateTime<Utc>>,
    }

    /// Filter of sent notifications; `None` does not filter.
    NotificationFilter {
        /// Only in these states.
        #[serde(skip_serializing_if = "Option::is_none")]
        statuses: Option<Vec<NotificationStatus>>,
        /// Only of these kinds.
        #[serde(skip_serializing_if = "Option::is_none")]
        kinds: Option<Vec<NotificationKind>>,
        /// Only these message types, by code.
        #[serde(skip_serializing_if = "Option::is_none")]
        types: Option<Vec<String>>,
        /// Only about this target.
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<TopicTargetInput>,
        /// Only from this user, by your id.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// Only published at or after this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<DateTime<Utc>>,
        /// Only published before this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<DateTime<Utc>>,
        /// Only with this text in the title, regardless of case.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    }

    /// A new webhook endpoint.
    CreateWebhookEndpointInput {
        /// Absolute https URL of at most 2,048 bytes. Its host must be on the public internet or allowed by the
        /// server's operator.
        url: String,
        /// Events to send. `None`: published, amended and retracted.
        #[serde(skip_serializing_if = "Option::is_none")]
        events: Option<Vec<WebhookEvent>>,
        /// Whether to send the texts of notifications, too.
        #[serde(skip_serializing_if = "Option::is_none")]
        full: Option<bool>,
        /// Where to announce that the endpoint was disabled.
        #[serde(skip_serializing_if = "Option::is_none")]
        alarm: Option<OutboundAlarmInput>,
    }

    /// A change of an endpoint; `None` keeps a field.
    UpdateWebhookEndpointInput {
        /// As for a new endpoint.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// All events to send from now on.
        #[serde(skip_serializing_if = "Option::is_none")]
        events: Option<Vec<WebhookEvent>>,
        /// Whether to send the texts of notifications, too.
        #[serde(skip_serializing_if = "Option::is_none")]
        full: Option<bool>,
        /// Where to announce that the endpoint was disabled.
        #[serde(skip_serializing_if = "Option::is_none")]
        alarm: Option<OutboundAlarmInput>,
        /// Fields to clear; none of them may also be set.
        #[serde(skip_serializing_if = "Option::is_none")]
        clear: Option<Vec<WebhookEndpointField>>,
    }

    /// An announcement to a group about a disabled destination.
    OutboundAlarmInput {
        /// Code of the message type.
        #[serde(rename = "type")]
        message_type: String,
        /// Code of the group; `None`: `operators`.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    }

    /// All settings of a mail relay.
    MailRelayInput {
        /// `smtps://user:password@host:465`, or `smtp://user:password@host:587`; user name and password are
        /// percent-encoded.
        url: String,
        /// The sender's address: `ada@example.com`, or `Ada <ada@example.com>`.
        from: String,
        /// The address for replies, if it differs.
        #[serde(skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
        /// Base of links in emails that are paths: an absolute http(s) URL.
        #[serde(skip_serializing_if = "Option::is_none")]
        link_base: Option<String>,
        /// Where to announce that the relay was disabled.
        #[serde(skip_serializing_if = "Option::is_none")]
        alarm: Option<OutboundAlarmInput>,
    }

    /// Filter of deliveries; `None` does not filter.
    OutboundDeliveryFilter {
        /// Only by this channel.
        #[serde(skip_serializing_if = "Option::is_none")]
        channel: Option<OutboundChannel>,
        /// Only to this user, by your id.
        #[serde(skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// Only to the endpoint with this `id`.
        #[serde(skip_serializing_if = "Option::is_none")]
        endpoint: Option<String>,
        /// Only in these states.
        #[serde(skip_serializing_if = "Option::is_none")]
        states: Option<Vec<OutboundDeliveryState>>,
        /// Only of these events.
        #[serde(skip_serializing_if = "Option::is_none")]
        events: Option<Vec<WebhookEvent>>,
        /// Only about the notification with this `id`.
        #[serde(skip_serializing_if = "Option::is_none")]
        notification: Option<String>,
    }

    /// Failed deliveries to an endpoint.
    OutboundDeadFilter {
        /// The `id` of the endpoint.
        endpoint: String,
        /// Only of events since this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<DateTime<Utc>>,
    }

    /// Failed deliveries to users.
    OutboundDeadToFilter {
        /// The channel.
        channel: DeliveryChannel,
        /// Only of events since this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<DateTime<Utc>>,
    }
}

/// A notification of one of the three kinds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SendNotificationInput {
    /// To everyone, to groups or to named users.
    Announcement(SendAnnouncementInput),
    /// To the subscribers of a target's action.
    Reminder(SendReminderInput),
    /// To one user.
    Message(SendMessageInput),
}

/// The recipients of an announcement. The default has none, which the server rejects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum NotificationAudienceInput {
    /// `true`: all users of the tenant, and users first seen within the retention window afterwards.
    Everyone(bool),
    /// The members of these groups at publication; 1 to 100 codes.
    Groups(Vec<String>),
    /// 1 to 10,000 users, by your ids.
    Users(Vec<String>),
}

/// Actions to subscribe to. The default has none, which the server rejects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum TopicChoice {
    /// These actions, 1 to 100.
    Actions(Vec<String>),
    /// The actions of a reason in the catalogue, by its code.
    Reason(String),
}

/// The subscriber.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ListenerChoice {
    /// A user, by your id.
    User(String),
    /// The group with this code: its members at the time of each notification.
    Group(String),
}

/// Items of an inbox: listed ones, or all that match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum InboxItemSelector {
    /// At most 1,000. Deleted and expired items are skipped.
    Ids(Vec<String>),
    /// All items that match; an empty match means the whole inbox.
    Matching(InboxItemMatch),
}

/// Deliveries to send again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OutboundDeliverySelector {
    /// At most 1,000 failed or delivered ones.
    Ids(Vec<String>),
    /// The failed ones of an endpoint; at most 100,000.
    Dead(OutboundDeadFilter),
    /// The failed ones to users by a channel; at most 100,000.
    DeadTo(OutboundDeadToFilter),
}

/// Whether a relay sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum MailRelaySwitch {
    /// Send, beginning with what is due.
    On,
    /// Send nothing for now.
    Off,
}

/// Fields of an endpoint that can be cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum WebhookEndpointField {
    Alarm,
}

/// An address of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum UserContactInput {
    /// For email: `ada@example.com`, at most 254 bytes.
    Email(String),
    /// For WeChat: the user's `openid` with the tenant's official account.
    WechatOpenId(String),
}

/// A channel outside the inbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum DeliveryChannel {
    /// An email to each of the user's addresses.
    #[default]
    Email,
    /// A template message of the tenant's official WeChat account.
    #[serde(rename = "WECHAT")]
    WeChat,
    /// A push message to each of the user's browsers.
    WebPush,
}

/// Which items are delivered outside the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum DeliveryCondition {
    /// Items that still exist after the delay and are not archived.
    Always,
    /// Items that still exist after the delay, are unread and not archived.
    IfUnread,
}

/// A part of an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum InboxState {
    /// Both parts.
    All,
    /// Archived items.
    Archived,
    /// Items that are not archived.
    Inbox,
}

/// Fields of a notification that can be cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum NotificationField {
    Body,
    Data,
    ExpiresAt,
    Link,
    Params,
    Title,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

/// Fields of a profile that can be cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum ProfileField {
    AvatarUrl,
    Contacts,
    Digest,
    Locale,
    Name,
    Quiet,
    TimeZone,
}

impl Default for NotificationAudienceInput {
    fn default() -> Self {
        Self::Users(Vec::new())
    }
}

impl Default for TopicChoice {
    fn default() -> Self {
        Self::Actions(Vec::new())
    }
}

impl NotificationContentInput {
    /// Content with only a title.
    pub fn titled(title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..Self::default() }
    }
}

impl TopicTargetInput {
    /// The target with this type and id.
    pub fn new(target_type: impl Into<String>, external_id: impl Into<String>) -> Self {
        Self { target_type: target_type.into(), external_id: external_id.into() }
    }
}

impl SendNotificationInput {
    /// Its idempotency key.
    pub(crate) fn key(&mut self) -> &mut Option<String> {
        match self {
            Self::Announcement(input) => &mut input.idempotency_key,
            Self::Reminder(input) => &mut input.idempotency_key,
            Self::Message(input) => &mut input.idempotency_key,
        }
    }
}

impl From<SendAnnouncementInput> for SendNotificationInput {
    fn from(input: SendAnnouncementInput) -> Self {
        Self::Announcement(input)
    }
}

impl From<SendReminderInput> for SendNotificationInput {
    fn from(input: SendReminderInput) -> Self {
        Self::Reminder(input)
    }
}

impl From<SendMessageInput> for SendNotificationInput {
    fn from(input: SendMessageInput) -> Self {
        Self::Message(input)
    }
}
