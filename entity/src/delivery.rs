//! An event on its way along a lane, or what came of it.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId};
use crate::statement::OfTenant;

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum Event {
    /// A notification was published.
    Published = 0,
    /// It was taken back.
    Retracted = 1,
    /// Its text or expiry is another.
    Amended = 2,
    /// It has expired.
    Expired = 3,
    /// Another endpoint of the tenant was disabled.
    Disabled = 4,
    /// Somebody tries the endpoint.
    Ping = 5,
    /// Users have read items.
    Read = 6,
    /// An hour has come at which a user is told what is unread.
    Digest = 7,
}

impl Event {
    /// Those that are about a notification.
    pub const OF_NOTIFICATIONS: [Self; 4] = [Self::Published, Self::Retracted, Self::Amended, Self::Expired];

    /// Its bit among those that an endpoint wants.
    pub fn bit(self) -> i64 {
        1 << (self as i64)
    }
}

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum State {
    /// Not tried yet.
    Fresh = 0,
    /// Tried, and to be tried again.
    Retrying = 1,
    Delivered = 2,
    /// Tried for the last time, unless somebody wants it again.
    Dead = 3,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "delivery")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub lane_id: i64,
    /// To whom, where it goes to a user; 0 where it does not.
    pub contact_id: i64,
    pub event: Event,
    /// The number of the notification, of the endpoint that was disabled, or of the batch of what was read. Of a digest: the place in the
    /// log up to which the user was told already.
    pub subject_id: Option<i64>,
    /// The place in the log by which it is there once; nothing where the log does not tell of it. Of a digest: up to where the user's inbox
    /// was looked at.
    pub seq: Option<Seq>,
    /// Milliseconds since 1970, as every instant here.
    pub happened_at: i64,
    pub state: State,
    /// When it is, or was, to be tried.
    pub due_at: i64,
    pub attempts: i64,
    /// When it was tried first since it was to be sent; nothing before that.
    pub first_tried_at: Option<i64>,
    /// The status of the last attempt, where there was an answer: of HTTP or SMTP.
    pub status: Option<i64>,
    /// Why the last attempt failed; at most 500 bytes.
    pub error: Option<String>,
    pub created_at: i64,
    /// When it was delivered, or given up.
    pub done_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
