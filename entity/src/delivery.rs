//! A delivery: an event for a destination, and its result.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId};
use crate::statement::OfTenant;

/// The kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum DeliveryEvent {
    /// A notification was published.
    Published = 0,
    /// The notification was retracted.
    Retracted = 1,
    /// Its text or expiry has changed.
    Amended = 2,
    /// It has expired.
    Expired = 3,
    /// Another endpoint of the tenant was disabled.
    Disabled = 4,
    /// A test event, sent on request.
    Ping = 5,
    /// Users have read items.
    Read = 6,
    /// A digest of unread items is due for a user.
    Digest = 7,
}

impl DeliveryEvent {
    /// The events that are about a notification.
    pub const OF_NOTIFICATIONS: [Self; 4] = [Self::Published, Self::Retracted, Self::Amended, Self::Expired];

    /// Its bit in the set of events that an endpoint wants.
    pub fn bit(self) -> i64 {
        1 << (self as i64)
    }
}

/// The progress of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum DeliveryState {
    /// Not attempted yet.
    Fresh = 0,
    /// Failed, and to be retried.
    Retrying = 1,
    Delivered = 2,
    /// Failed for good, unless a client requests another attempt.
    Dead = 3,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "delivery")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub lane_id: i64,
    /// The contact it goes to, or 0 if it does not go to a user.
    pub contact_id: i64,
    pub event: DeliveryEvent,
    /// The id of the notification, the disabled endpoint or the batch of read items. For a digest: the log position up
    /// to which the user was informed already.
    pub subject_id: Option<i64>,
    /// Its log position, which makes it unique; NULL for events outside of the log. For a digest: the log position up
    /// to which the user's inbox was examined.
    pub seq: Option<Seq>,
    /// Milliseconds since 1970, as are all times here.
    pub happened_at: i64,
    pub state: DeliveryState,
    /// When the next attempt is due, or when the last one was.
    pub due_at: i64,
    pub attempts: i64,
    /// When it was first attempted since it was last queued. NULL before that.
    pub first_tried_at: Option<i64>,
    /// The HTTP or SMTP status of the last attempt, if there was a response.
    pub status: Option<i64>,
    /// Why the last attempt failed, in at most 500 bytes.
    pub error: Option<String>,
    pub created_at: i64,
    /// When it was delivered or given up.
    pub done_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
