//! The documents of `operations/` and the types of their responses. `tests/schema.rs` checks both against
//! `schema.graphql`.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::output::{
    DeletePayload, InboxItem, InboxItemsPayload, InboxOverview, MailRelay, MessageType, OutboundDelivery, Page,
    ReplayOutboundDeliveriesPayload, SendPayload, SentNotification, SubscribeTopicPayload, User, UserGroup,
    WebhookEndpoint, WebhookEndpointSecret,
};

/// A document with one root field, and the type `Data` of that field.
pub struct Operation<Data> {
    pub name: &'static str,
    pub document: &'static str,
    data: PhantomData<fn() -> Data>,
}

/// `inboxUser` with its overview.
#[derive(Serialize, Deserialize)]
pub struct OfOverview {
    pub overview: InboxOverview,
}

/// `inboxUser` with its items.
#[derive(Serialize, Deserialize)]
pub struct OfInbox {
    pub inbox: Page<InboxItem>,
}

/// An operation from the names of its file and of its fragments' files.
macro_rules! operation {
    ($name:literal $(, $fragment:literal)*) => {
        Operation {
            name: $name,
            document: concat!(
                include_str!(concat!("../operations/", $name, ".graphql")),
                $(include_str!(concat!("../operations/", $fragment, ".graphql"))),*
            ),
            data: PhantomData,
        }
    };
}

pub const SEND_ANNOUNCEMENT: Operation<SendPayload> = operation!("SendAnnouncement", "OutcomeFields");
pub const SEND_REMINDER: Operation<SendPayload> = operation!("SendReminder", "OutcomeFields");
pub const SEND_MESSAGE: Operation<SendPayload> = operation!("SendMessage", "OutcomeFields");
pub const SEND_NOTIFICATIONS: Operation<Vec<SendPayload>> = operation!("SendNotifications", "OutcomeFields");
pub const UPDATE_SENT_NOTIFICATION: Operation<SentNotification> = operation!("UpdateSentNotification", "SentFields");
pub const RETRACT_SENT_NOTIFICATION: Operation<SentNotification> = operation!("RetractSentNotification", "SentFields");
pub const SAVE_USER_PROFILES: Operation<Vec<User>> = operation!("SaveUserProfiles", "UserFields");
pub const SAVE_USER_GROUP: Operation<UserGroup> = operation!("SaveUserGroup", "UserGroupFields");
pub const ADD_USER_GROUP_MEMBERS: Operation<UserGroup> = operation!("AddUserGroupMembers", "UserGroupFields");
pub const REMOVE_USER_GROUP_MEMBERS: Operation<UserGroup> = operation!("RemoveUserGroupMembers", "UserGroupFields");
pub const SAVE_MESSAGE_TYPE: Operation<MessageType> = operation!("SaveMessageType");
pub const SUBSCRIBE_TOPIC: Operation<SubscribeTopicPayload> = operation!("SubscribeTopic");
pub const MARK_READ: Operation<InboxItemsPayload> = operation!("MarkRead");
pub const MARK_UNREAD: Operation<InboxItemsPayload> = operation!("MarkUnread");
pub const MARK_SEEN: Operation<InboxItemsPayload> = operation!("MarkSeen");
pub const ARCHIVE_ITEMS: Operation<InboxItemsPayload> = operation!("ArchiveItems");
pub const UNARCHIVE_ITEMS: Operation<InboxItemsPayload> = operation!("UnarchiveItems");
pub const DELETE_ITEMS: Operation<InboxItemsPayload> = operation!("DeleteItems");
pub const INBOX_USER_OVERVIEW: Operation<Option<OfOverview>> =
    operation!("InboxUserOverview", "CountFields", "ItemFields");
pub const INBOX_USER_INBOX: Operation<Option<OfInbox>> = operation!("InboxUserInbox", "ItemFields");
pub const SENT_NOTIFICATIONS: Operation<Page<SentNotification>> = operation!("SentNotifications", "SentFields");
pub const WEBHOOK_ENDPOINTS: Operation<Vec<WebhookEndpoint>> = operation!("WebhookEndpoints", "WebhookEndpointFields");
pub const CREATE_WEBHOOK_ENDPOINT: Operation<WebhookEndpointSecret> =
    operation!("CreateWebhookEndpoint", "WebhookEndpointFields");
pub const UPDATE_WEBHOOK_ENDPOINT: Operation<WebhookEndpoint> =
    operation!("UpdateWebhookEndpoint", "WebhookEndpointFields");
pub const ROTATE_WEBHOOK_SECRET: Operation<WebhookEndpointSecret> =
    operation!("RotateWebhookSecret", "WebhookEndpointFields");
pub const PAUSE_WEBHOOK_ENDPOINT: Operation<WebhookEndpoint> =
    operation!("PauseWebhookEndpoint", "WebhookEndpointFields");
pub const RESUME_WEBHOOK_ENDPOINT: Operation<WebhookEndpoint> =
    operation!("ResumeWebhookEndpoint", "WebhookEndpointFields");
pub const DELETE_WEBHOOK_ENDPOINT: Operation<DeletePayload> = operation!("DeleteWebhookEndpoint");
pub const TEST_WEBHOOK_ENDPOINT: Operation<OutboundDelivery> =
    operation!("TestWebhookEndpoint", "OutboundDeliveryFields");
pub const MAIL_RELAY: Operation<Option<MailRelay>> = operation!("MailRelay", "MailRelayFields");
pub const SAVE_MAIL_RELAY: Operation<MailRelay> = operation!("SaveMailRelay", "MailRelayFields");
pub const SWITCH_MAIL_RELAY: Operation<MailRelay> = operation!("SwitchMailRelay", "MailRelayFields");
pub const DELETE_MAIL_RELAY: Operation<DeletePayload> = operation!("DeleteMailRelay");
pub const OUTBOUND_DELIVERIES: Operation<Page<OutboundDelivery>> =
    operation!("OutboundDeliveries", "OutboundDeliveryFields");
pub const REPLAY_OUTBOUND_DELIVERIES: Operation<ReplayOutboundDeliveriesPayload> =
    operation!("ReplayOutboundDeliveries");
