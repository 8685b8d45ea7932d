//! What goes in, under the names of the schema. What is `None` is left out, and [`Default`] leaves out all that may be.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::output::{
    NotificationKind, NotificationStatus, OutboundChannel, OutboundDeliveryState, ReadPolicy, WebhookEvent,
};

/// Gives the inputs of the schema what all of them have.
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
    /// What a notification says.
    NotificationContentInput {
        /// 1 to 256 characters. Required, unless the type has a template.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// 16 KiB at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
        /// Where a click leads: an absolute http(s) URL or a path; 2,048 characters at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<String>,
        /// For the type's template; 16 KiB of JSON at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<Value>,
        /// For whoever shows it, untouched; 16 KiB of JSON at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    }

    /// Something to say to an audience.
    SendAnnouncementInput {
        /// Code of a message type.
        #[serde(rename = "type")]
        message_type: String,
        /// Whom it is for.
        audience: NotificationAudienceInput,
        /// What it says.
        content: NotificationContentInput,
        /// Who it is from, by your own id; nobody where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// 1 to 128 characters; made by the client where it is left out. A second send with the same key sends nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// True: refused while its preview shows flaws.
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
        /// In the future: scheduled. Within ten years; at once where it is left out, or past.
        #[serde(skip_serializing_if = "Option::is_none")]
        publish_at: Option<DateTime<Utc>>,
        /// In the future, and after `publish_at`. The type's ttl after publication where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<DateTime<Utc>>,
    }

    /// Something happened to a target: to whoever subscribed to that.
    SendReminderInput {
        /// Code of a message type.
        #[serde(rename = "type")]
        message_type: String,
        /// To what it happened.
        target: TopicTargetInput,
        /// What happened, such as `comment`; 1 to 128 characters.
        action: String,
        /// What it says.
        content: NotificationContentInput,
        /// Who did it, by your own id; they are never reminded of their own doing. Their followers are reminded too.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// 1 to 128 characters; made by the client where it is left out. A second send with the same key sends nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// True: refused while its preview shows flaws.
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
        /// In the future: scheduled. Within ten years; at once where it is left out, or past.
        #[serde(skip_serializing_if = "Option::is_none")]
        publish_at: Option<DateTime<Utc>>,
        /// In the future, and after `publish_at`. The type's ttl after publication where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<DateTime<Utc>>,
    }

    /// Something to say to one user.
    SendMessageInput {
        /// Code of a message type.
        #[serde(rename = "type")]
        message_type: String,
        /// Whom it is for, by your own id.
        receiver: String,
        /// What it says.
        content: NotificationContentInput,
        /// Who it is from, by your own id; nobody where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// 1 to 128 characters; made by the client where it is left out. A second send with the same key sends nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// True: refused while its preview shows flaws.
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
        /// In the future: scheduled. Within ten years; at once where it is left out, or past.
        #[serde(skip_serializing_if = "Option::is_none")]
        publish_at: Option<DateTime<Utc>>,
        /// In the future, and after `publish_at`. The type's ttl after publication where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<DateTime<Utc>>,
    }

    /// What to change of a notification; what is left out stays.
    NotificationPatch {
        /// 1 to 256 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// 16 KiB at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
        /// Where a click leads: an absolute http(s) URL or a path; 2,048 characters at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<String>,
        /// For the type's template; 16 KiB of JSON at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<Value>,
        /// For whoever shows it, untouched; 16 KiB of JSON at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
        /// Only while it is scheduled. What is past means at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        publish_at: Option<DateTime<Utc>>,
        /// In the future.
        #[serde(skip_serializing_if = "Option::is_none")]
        expires_at: Option<DateTime<Utc>>,
        /// What to erase of it; nothing that is given as well.
        #[serde(skip_serializing_if = "Option::is_none")]
        clear: Option<Vec<NotificationField>>,
    }

    /// A target by your own strings, 1 to 128 characters each.
    TopicTargetInput {
        /// What kind of thing it is, such as `order`.
        #[serde(rename = "type")]
        target_type: String,
        /// Your own id of it, among the targets of its type.
        external_id: String,
    }

    /// What to change of a user's profile; what is left out stays.
    UserProfileInput {
        /// Your own id of the user; 1 to 128 characters.
        id: String,
        /// 1 to 256 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// An absolute http(s) URL or a path.
        #[serde(skip_serializing_if = "Option::is_none")]
        avatar_url: Option<String>,
        /// BCP 47.
        #[serde(skip_serializing_if = "Option::is_none")]
        locale: Option<String>,
        /// Where they are reached outside: all of their addresses, five at the most.
        #[serde(skip_serializing_if = "Option::is_none")]
        contacts: Option<Vec<UserContactInput>>,
        /// Where they are, by IANA's name of it, such as `Europe/Berlin`.
        #[serde(skip_serializing_if = "Option::is_none")]
        time_zone: Option<String>,
        /// When nothing leaves the inbox for them, by the clocks of `time_zone`.
        #[serde(skip_serializing_if = "Option::is_none")]
        quiet: Option<QuietHoursInput>,
        /// When they are sent digests, by the same clocks; at 08:00 of each day where nothing is said.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<DigestTimeInput>,
        /// What to erase of it; nothing that is given as well.
        #[serde(skip_serializing_if = "Option::is_none")]
        clear: Option<Vec<ProfileField>>,
    }

    /// Hours of each day in which nothing goes out to somebody.
    QuietHoursInput {
        /// A time of day, from `00:00` to `23:59`.
        from: String,
        /// Another time of day, up to which it is so.
        to: String,
    }

    /// When somebody is told in one letter what they have not read.
    DigestTimeInput {
        /// A time of day, from `00:00` to `23:59`.
        at: String,
        /// The one day of the week; each where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        weekday: Option<Weekday>,
    }

    /// All of a type: what is left out goes back to its default.
    MessageTypeInput {
        /// 1 to 128 characters; the type with this code is changed, or made.
        code: String,
        /// 1 to 256 characters.
        title: String,
        /// Free label under which a UI groups types; 1 to 128 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
        /// Order in overviews, ascending; ties by code. 0 where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        position: Option<i32>,
        /// Users cannot switch it off, neither by type nor by action.
        #[serde(skip_serializing_if = "Option::is_none")]
        mandatory: Option<bool>,
        /// Users may send messages of it to each other, where the server lets the tenant's users. Not together with `mandatory`.
        #[serde(skip_serializing_if = "Option::is_none")]
        users_may_send: Option<bool>,
        /// How its items come to be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        read_policy: Option<ReadPolicy>,
        /// How long what is sent afterwards is kept, in seconds; at least 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttl_seconds: Option<i32>,
        /// Counts for everything that is read afterwards, also if it was sent before.
        #[serde(skip_serializing_if = "Option::is_none")]
        template: Option<MessageTemplateInput>,
        /// What user interfaces show beside its title: a name that they know, or an absolute https URL; 256 characters at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        icon: Option<String>,
        /// For user interfaces, untouched; 4 KiB of JSON at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        ui: Option<Value>,
        /// How what is sent under it leaves the inbox; not at all where it is left out. One rule for each channel at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        delivery: Option<Vec<MessageDeliveryRuleInput>>,
    }

    /// How what is sent under a type leaves the inbox.
    MessageDeliveryRuleInput {
        /// By what.
        channel: DeliveryChannel,
        /// Which items; those that are unread where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        condition: Option<DeliveryCondition>,
        /// How long after publication, in seconds; 300 where it is left out, at most 2,592,000, which are 30 days. 0 with `digest`.
        #[serde(skip_serializing_if = "Option::is_none")]
        delay_seconds: Option<i32>,
        /// Whether they go into their user's next digest, and not each by itself; of mail alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<bool>,
        /// What its letters say, of mail alone; what its items do where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        letter: Option<MessageLetterInput>,
        /// What the message is made of: needed for WeChat, and for nothing else.
        #[serde(skip_serializing_if = "Option::is_none")]
        wechat: Option<WeChatTemplateInput>,
    }

    /// A template message of WeChat. The templates are MiniJinja, with `title` and `body` in scope as well.
    WeChatTemplateInput {
        /// The template's id in the account: 1 to 128 letters, digits, `-` and `_`.
        template_id: String,
        /// What fills its fields: 1 to 20, of at most 16 KiB as JSON.
        fields: Vec<WeChatFieldInput>,
        /// Renders where a click leads; where the item leads where it is left out. 2,000 bytes at most.
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    }

    /// A field of a template of WeChat.
    WeChatFieldInput {
        /// As the template names it, without `.DATA`: `thing1`.
        name: String,
        /// Renders its value; 2,000 bytes at most. It is cut to what its kind holds.
        value: String,
    }

    /// Templates of what letters say; at most 16 KiB each. One that does not compile is refused.
    MessageLetterInput {
        /// Instead of the item's title.
        #[serde(skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        /// Instead of the item's body.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Instead of the item's body in the HTML of the letter.
        #[serde(skip_serializing_if = "Option::is_none")]
        html: Option<String>,
    }

    /// Templates of a type; at most 16 KiB each. One that does not compile is refused.
    MessageTemplateInput {
        /// Renders the title.
        title: String,
        /// Renders the body; as the sender wrote it where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<String>,
        /// Renders the link; as the sender wrote it where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    }

    /// Who hears of what.
    SubscribeTopicInput {
        /// What it is about.
        target: TopicTargetInput,
        /// Which actions on it.
        what: TopicChoice,
        /// Who hears; a service must say.
        #[serde(skip_serializing_if = "Option::is_none")]
        who: Option<ListenerChoice>,
    }

    /// Which items a mark is about; conditions left out do not count.
    InboxItemMatch {
        /// Codes of message types: only of these.
        #[serde(skip_serializing_if = "Option::is_none")]
        types: Option<Vec<String>>,
        /// About this target.
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<TopicTargetInput>,
        /// Up to and including the item at this cursor.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_to: Option<String>,
    }

    /// What of an inbox to list; conditions left out do not count.
    InboxFilter {
        /// Which part of the inbox; the inbox proper where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        state: Option<InboxState>,
        /// True: only read, false: only unread.
        #[serde(skip_serializing_if = "Option::is_none")]
        read: Option<bool>,
        /// Codes of message types: only of these.
        #[serde(skip_serializing_if = "Option::is_none")]
        types: Option<Vec<String>>,
        /// Of one of these kinds.
        #[serde(skip_serializing_if = "Option::is_none")]
        kinds: Option<Vec<NotificationKind>>,
        /// About this target.
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<TopicTargetInput>,
        /// What happened to the target.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        /// From this user, by your own id.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// Published at or after this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<DateTime<Utc>>,
        /// Published before this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<DateTime<Utc>>,
    }

    /// What of all that was sent to list; conditions left out do not count.
    NotificationFilter {
        /// In one of these states.
        #[serde(skip_serializing_if = "Option::is_none")]
        statuses: Option<Vec<NotificationStatus>>,
        /// Of one of these kinds.
        #[serde(skip_serializing_if = "Option::is_none")]
        kinds: Option<Vec<NotificationKind>>,
        /// Codes of message types: only of these.
        #[serde(skip_serializing_if = "Option::is_none")]
        types: Option<Vec<String>>,
        /// About this target.
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<TopicTargetInput>,
        /// From this user, by your own id.
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<String>,
        /// Published at or after this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<DateTime<Utc>>,
        /// Published before this instant.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<DateTime<Utc>>,
        /// Whose title has this in it, in capitals or not.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    }

    /// Where your events go.
    CreateWebhookEndpointInput {
        /// Absolute https URL of at most 2,048 bytes, whose host is on the public internet or allowed by whoever runs the server.
        url: String,
        /// What it wants to hear of; where it is left out: published, amended and retracted.
        #[serde(skip_serializing_if = "Option::is_none")]
        events: Option<Vec<WebhookEvent>>,
        /// Whether it is sent the texts of notifications, too.
        #[serde(skip_serializing_if = "Option::is_none")]
        full: Option<bool>,
        /// Whom it tells that it was disabled.
        #[serde(skip_serializing_if = "Option::is_none")]
        alarm: Option<OutboundAlarmInput>,
    }

    /// What to change of an endpoint; what is left out stays.
    UpdateWebhookEndpointInput {
        /// As of a new one.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// All that it wants to hear of from now on.
        #[serde(skip_serializing_if = "Option::is_none")]
        events: Option<Vec<WebhookEvent>>,
        /// Whether it is sent the texts of notifications, too.
        #[serde(skip_serializing_if = "Option::is_none")]
        full: Option<bool>,
        /// Whom it tells that it was disabled.
        #[serde(skip_serializing_if = "Option::is_none")]
        alarm: Option<OutboundAlarmInput>,
        /// What to erase of it; nothing that is given as well.
        #[serde(skip_serializing_if = "Option::is_none")]
        clear: Option<Vec<WebhookEndpointField>>,
    }

    /// An announcement to a group.
    OutboundAlarmInput {
        /// Code of its message type.
        #[serde(rename = "type")]
        message_type: String,
        /// Code of the group; `operators` where it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<String>,
    }

    /// All of a relay.
    MailRelayInput {
        /// `smtps://user:password@host:465`, or `smtp://user:password@host:587`; user name and password are percent-encoded.
        url: String,
        /// The address that mail comes from: `ada@example.com`, or `Ada <ada@example.com>`.
        from: String,
        /// Where answers go, where that is another address.
        #[serde(skip_serializing_if = "Option::is_none")]
        reply_to: Option<String>,
        /// What links of notifications that are paths belong to: an absolute http(s) URL.
        #[serde(skip_serializing_if = "Option::is_none")]
        link_base: Option<String>,
        /// Whom it tells that it was disabled.
        #[serde(skip_serializing_if = "Option::is_none")]
        alarm: Option<OutboundAlarmInput>,
    }

    /// What of all deliveries to list; conditions left out do not count.
    OutboundDeliveryFilter {
        /// By this channel.
        #[serde(skip_serializing_if = "Option::is_none")]
        channel: Option<OutboundChannel>,
        /// To this user, by your own id.
        #[serde(skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// To the endpoint with this `id`.
        #[serde(skip_serializing_if = "Option::is_none")]
        endpoint: Option<String>,
        /// In one of these states.
        #[serde(skip_serializing_if = "Option::is_none")]
        states: Option<Vec<OutboundDeliveryState>>,
        /// Of one of these events.
        #[serde(skip_serializing_if = "Option::is_none")]
        events: Option<Vec<WebhookEvent>>,
        /// About the notification with this `id`.
        #[serde(skip_serializing_if = "Option::is_none")]
        notification: Option<String>,
    }

    /// Deliveries to an endpoint that were given up.
    OutboundDeadFilter {
        /// The `id` of the endpoint.
        endpoint: String,
        /// Of what has happened since then alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<DateTime<Utc>>,
    }

    /// Deliveries to users that were given up.
    OutboundDeadToFilter {
        /// By what they were to go.
        channel: DeliveryChannel,
        /// Of what has happened since then alone.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<DateTime<Utc>>,
    }
}

/// One of the three that can be sent.
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

/// Whom an announcement is for. By default nobody, which the server refuses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum NotificationAudienceInput {
    /// True: all users of the tenant, also those first mentioned within the retention window after it.
    Everyone(bool),
    /// Who is in one of these groups when it is published; 1 to 100 codes.
    Groups(Vec<String>),
    /// 1 to 10,000 users, by your own ids.
    Users(Vec<String>),
}

/// Which actions on a target to hear of. By default none, which the server refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum TopicChoice {
    /// These, 1 to 100.
    Actions(Vec<String>),
    /// Those of a reason of the catalogue, by its code.
    Reason(String),
}

/// Who hears.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ListenerChoice {
    /// A user, by your own id.
    User(String),
    /// All members of the group with this code, whoever they are when something happens.
    Group(String),
}

/// Which items of an inbox: either some, or all that match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum InboxItemSelector {
    /// At most 1,000. An item that was deleted or has expired is passed over.
    Ids(Vec<String>),
    /// Every item that matches; an empty match is the whole inbox.
    Matching(InboxItemMatch),
}

/// Which deliveries are sent again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum OutboundDeliverySelector {
    /// At most 1,000 that were given up or delivered.
    Ids(Vec<String>),
    /// Those of an endpoint that were given up; 100,000 at most.
    Dead(OutboundDeadFilter),
    /// Those to users by a channel that were given up; 100,000 at most.
    DeadTo(OutboundDeadToFilter),
}

/// Whether a relay is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum MailRelaySwitch {
    /// What is due, at once.
    On,
    /// Nothing for now.
    Off,
}

/// What can be erased of an endpoint.
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
    /// For mail: `ada@example.com`, 254 bytes at the most.
    Email(String),
    /// For WeChat: the `openid` by which the tenant's official account knows them.
    WechatOpenId(String),
}

/// By what an item leaves the inbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum DeliveryChannel {
    /// As a letter, to each of the user's addresses.
    #[default]
    Email,
    /// As a template message of the tenant's official account of WeChat.
    #[serde(rename = "WECHAT")]
    WeChat,
    /// To each of the user's browsers.
    WebPush,
}

/// Which items leave the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum DeliveryCondition {
    /// Those that are still there when the delay is over, and not archived.
    Always,
    /// Those that are still there when the delay is over, unread and not archived.
    IfUnread,
}

/// A part of an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum InboxState {
    /// Both of the others.
    All,
    /// What was archived.
    Archived,
    /// The inbox proper.
    Inbox,
}

/// What can be erased of a notification.
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

/// What can be erased of a profile.
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
    /// A title and nothing else.
    pub fn titled(title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..Self::default() }
    }
}

impl TopicTargetInput {
    /// The target with this id among those of its type.
    pub fn new(target_type: impl Into<String>, external_id: impl Into<String>) -> Self {
        Self { target_type: target_type.into(), external_id: external_id.into() }
    }
}

impl SendNotificationInput {
    /// Where its idempotency key stands.
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
