//! Where something goes out of a tenant: a reader of its log with a place of its own, and the health of what is at the other end.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId};
use crate::statement::OfTenant;

/// What is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum Kind {
    /// Somebody's server, which hears of events.
    Webhook = 0,
    /// A relay, which takes mail to users.
    Email = 1,
    /// An official account of WeChat, whose messages go to those who follow it.
    WeChat = 2,
    /// The push services of users' browsers.
    WebPush = 3,
}

impl Kind {
    /// As metrics and logs call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Email => "email",
            Self::WeChat => "wechat",
            Self::WebPush => "web_push",
        }
    }
}

/// Whether anything is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum State {
    Active = 0,
    /// By somebody.
    Paused = 1,
    /// By itself, since it has failed for too long or does not want to hear more.
    Disabled = 2,
}

impl State {
    /// As metrics call it.
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
    pub kind: Kind,
    /// Without user name and password.
    pub url: String,
    /// A bit for each event that it wants: 1 << the event's number.
    pub events: i64,
    /// Whether what a webhook is sent has texts in it.
    pub is_full: bool,
    /// Of mail: the address that it comes from, with its name. Of WeChat: the app id of the account. Of Web Push: where its services reach
    /// the tenant.
    pub sender: Option<String>,
    /// Of mail: where answers go, where that is another address.
    pub reply_to: Option<String>,
    /// Of all but webhooks: the URL that links belong to which are paths.
    pub link_base: Option<String>,
    /// Sealed: what a webhook is signed with, how to sign in at a relay, the app secret of an account of WeChat, or the private key of Web
    /// Push.
    pub secret: String,
    /// Sealed; of a webhook, signs, too, until `previous_until`.
    pub previous_secret: Option<String>,
    /// Milliseconds since 1970, as every instant here.
    pub previous_until: Option<i64>,
    /// Code of the type by which its alarm is told.
    pub alarm_type: Option<String>,
    pub alarm_group: Option<String>,
    pub state: State,
    /// Up to here the log's entries are deliveries, or not wanted.
    pub cursor_seq: Seq,
    /// When its next delivery is due, as far as there is one; while a node is at it, the end of its lease.
    pub due_at: Option<i64>,
    /// Until then a node is at it.
    pub lease_until: i64,
    /// Counts who took it: whoever has an older number may change nothing.
    pub lease_no: i64,
    /// Attempts in a row that failed; from the fifth on, those by which it was tried anew.
    pub failures: i64,
    /// Until then nothing is tried.
    pub open_until: i64,
    /// Since when nothing but failures has been.
    pub failing_since: Option<i64>,
    /// When its last attempt ended.
    pub attempted_at: Option<i64>,
    /// The status of that attempt, where there was an answer: of HTTP or SMTP.
    pub last_status: Option<i64>,
    /// Of the last attempt that failed.
    pub last_error: Option<String>,
    /// Since when `pings` are counted.
    pub pings_since: i64,
    pub pings: i64,
    /// Sealed; of WeChat: by what its owner, whoever that is by then, is let in.
    pub token: Option<String>,
    /// Until then it is used, which is some minutes before it ends.
    pub token_until: Option<i64>,
    pub created_at: i64,
    pub updated_at: i64,
    /// Of Web Push: what browsers know the tenant by, in base64url.
    pub public_key: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
