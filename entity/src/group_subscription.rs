//! A group listens to a target. Its members are resolved when a reminder is sent.

use sea_orm::entity::prelude::*;

use crate::ids::ChannelId;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "group_subscription")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub group_channel_id: ChannelId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub target_channel_id: ChannelId,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {
    #[sea_orm(
        belongs_to = "super::channel::Entity",
        from = "Column::TargetChannelId",
        to = "super::channel::Column::Id"
    )]
    Target,
}

impl ActiveModelBehavior for ActiveModel {}
