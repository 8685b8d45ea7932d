//! What notifications are published to and users listen to.

use sea_orm::entity::prelude::*;

use crate::ids::{ChannelId, TenantId};

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "channel")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: ChannelId,
    pub tenant_id: TenantId,
    /// 0 everyone, 1 group, 2 target, 3 actor, 9 a group that was deleted.
    pub kind: i16,
    /// Which of its kind; see `channel::Code` for how a target's is written.
    pub code: String,
    /// Of a group.
    pub title: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
