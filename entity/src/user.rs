//! A recipient, known by the partner's own id. The table is `users`, for `user` is reserved in PostgreSQL.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId, UserId};
use crate::statement::{OfTenant, OfUser};

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "users")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: UserId,
    pub tenant_id: TenantId,
    /// The partner's id of the user.
    pub external_id: String,
    pub name: Option<String>,
    /// The beginning of the name, without regard to case: what users are found by.
    pub folded_name: Option<String>,
    pub avatar_url: Option<String>,
    /// BCP 47.
    pub locale: Option<String>,
    /// Of IANA's list.
    pub time_zone: Option<String>,
    /// Nothing goes out to them from then on, in minutes since midnight.
    pub quiet_from: Option<i64>,
    /// Until then.
    pub quiet_to: Option<i64>,
    /// When they are told what is unread, in minutes since midnight.
    pub digest_at: Option<i64>,
    /// The one day of the week on which they are, from 0 for Monday to 6; NULL where it is each.
    pub digest_weekday: Option<i64>,
    /// How far into the log the inbox has been synced.
    pub cursor_seq: Seq,
    /// Where the log stood when the whole inbox was last looked at.
    pub seen_seq: Seq,
    /// How many channels they listen to, so that `behind?` can choose the cheaper way.
    pub subscription_count: i64,
    /// Raised by whatever changes what the inbox shows, but for what arrives in it.
    pub version: i64,
    /// Raised by whatever changes the profile.
    pub profile_version: i64,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}

impl OfUser for Entity {
    const USER: Column = Column::Id;
}
