//! What notifications are published to and users listen to.

use sea_orm::entity::prelude::*;

use crate::ids::{ChannelId, TenantId};
use crate::statement::OfTenant;

/// What a channel stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum Kind {
    /// All users of the tenant, without a row each.
    Everyone = 0,
    /// A role, user type or segment.
    Group = 1,
    /// An action on a target.
    Target = 2,
    /// All that a user does.
    Actor = 3,
    /// A group that was deleted, or somebody who was erased: who listened keeps what was published to it, and is then taken off.
    Deleted = 9,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "channel")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: ChannelId,
    pub tenant_id: TenantId,
    pub kind: Kind,
    /// Which of its kind; see `channel::Code` for how a target's is written.
    pub code: String,
    /// Of a group.
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
