//! A destination: where a tenant's notifications leave the server. It reads the tenant's log with a cursor of its own;
//! its row also records the health of the receiver.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId};
use crate::statement::OfTenant;

/// The kind of receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum DestinationKind {
    /// A server that receives events.
    Webhook = 0,
    /// A mail relay.
    Email = 1,
    /// An official account of WeChat, which sends messages to its followers.
    WeChat = 2,
    /// The push services of users' browsers.
    WebPush = 3,
}

impl DestinationKind {
    /// The name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Email => "email",
            Self::WeChat => "wechat",
            Self::WebPush => "web_push",
        }
    }
}

/// Whether anything is sent to the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum DestinationState {
    Active = 0,
    /// A client has paused it.
    Paused = 1,
    /// The server has disabled it, because it failed for too long or refused further messages.
    Disabled = 2,
}

impl DestinationState {
    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "lane")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub kind: DestinationKind,
    /// Without user name and password.
    pub url: String,
    /// Bit set of the events that it receives: 1 << the event's number.
    pub events: i64,
    /// Webhooks: whether the payload contains texts.
    pub is_full: bool,
    /// Email: the sender address, with its name. WeChat: the app id of the account. Web Push: the contact of the tenant
    /// for push services.
    pub sender: Option<String>,
    /// Email: the Reply-To address, if different.
    pub reply_to: Option<String>,
    /// All but webhooks: the base URL for links that are paths.
    pub link_base: Option<String>,
    /// Encrypted. Webhooks: the signing secret. Email: the relay's credentials. WeChat: the account's app secret. Web
    /// Push: the private key.
    pub secret: String,
    /// Encrypted. Webhooks: the previous secret, which signs as well until `previous_until`.
    pub previous_secret: Option<String>,
    /// Milliseconds since 1970, as are all times here.
    pub previous_until: Option<i64>,
    /// Code of the message type for its alarms.
    pub alarm_type: Option<String>,
    pub alarm_group: Option<String>,
    pub state: DestinationState,
    /// Entries of the log up to here have become deliveries or were not wanted.
    pub cursor_seq: Seq,
    /// When the next delivery is due, if there is one; while a node works on it, the end of its lease.
    pub due_at: Option<i64>,
    /// The end of the current lease.
    pub lease_until: i64,
    /// Incremented by each lease. A node with an older number must not write.
    pub lease_no: i64,
    /// Consecutive failures. From the fifth on, only failed probes count.
    pub failures: i64,
    /// No attempts are made before this time.
    pub open_until: i64,
    /// Start of the current failure streak.
    pub failing_since: Option<i64>,
    /// When its last attempt ended.
    pub attempted_at: Option<i64>,
    /// The HTTP or SMTP status of the last attempt, if there was a response.
    pub last_status: Option<i64>,
    /// The error of the last failed attempt.
    pub last_error: Option<String>,
    /// Start of the interval of the `pings` counter.
    pub pings_since: i64,
    pub pings: i64,
    /// Encrypted. WeChat: the access token of the account.
    pub token: Option<String>,
    /// When to stop using the token, some minutes before it expires.
    pub token_until: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
    /// Web Push: the public key that browsers know the tenant by, in base64url.
    pub public_key: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
