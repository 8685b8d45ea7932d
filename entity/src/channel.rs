//! Channels: notifications are published to them, and users listen to them.

use sea_orm::entity::prelude::*;

use crate::ids::{ChannelId, TenantId};
use crate::statement::OfTenant;

/// The kind of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum ChannelKind {
    /// All users of the tenant, without subscription rows.
    Everyone = 0,
    /// A role, user type or segment.
    Group = 1,
    /// An action on a target.
    Target = 2,
    /// Everything a user does.
    Actor = 3,
    /// A deleted group or an erased user. Its listeners keep earlier publications until they are removed.
    Deleted = 9,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "channel")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: ChannelId,
    pub tenant_id: TenantId,
    pub kind: ChannelKind,
    /// The identity within its kind; see `ChannelCode` in `src/model/channel.rs` for the format of targets.
    pub code: String,
    /// Set for groups.
    pub title: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {
    #[sea_orm(belongs_to = "super::tenant::Entity", from = "Column::TenantId", to = "super::tenant::Column::Id")]
    Tenant,
}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
