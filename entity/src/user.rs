//! A recipient, identified by the backend's own id. The table is `users`, because `user` is reserved in PostgreSQL.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId, UserId};
use crate::statement::{OfTenant, OfUser};

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "users")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: UserId,
    pub tenant_id: TenantId,
    /// The backend's id of the user.
    pub external_id: String,
    pub name: Option<String>,
    /// The beginning of the name in folded case, for searches.
    pub folded_name: Option<String>,
    pub avatar_url: Option<String>,
    /// BCP 47.
    pub locale: Option<String>,
    /// An IANA time zone.
    pub time_zone: Option<String>,
    /// Start of the quiet hours, in minutes since midnight. Nothing is sent to outside addresses then.
    pub quiet_from: Option<i64>,
    /// End of the quiet hours.
    pub quiet_to: Option<i64>,
    /// When digests are sent, in minutes since midnight.
    pub digest_at: Option<i64>,
    /// The weekday of digests, from 0 for Monday to 6. NULL for every day.
    pub digest_weekday: Option<i64>,
    /// The log position up to which the inbox has been synced.
    pub cursor_seq: Seq,
    /// The end of the log when the user last looked at the whole inbox.
    pub seen_seq: Seq,
    /// The number of channels that the user listens to. The freshness check uses it to choose the cheaper query.
    pub subscription_count: i64,
    /// Increases with every change of the visible inbox except new items.
    pub version: i64,
    /// Increases with every change of the profile.
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
