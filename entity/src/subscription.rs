//! A user listens to a channel: as a subscriber, a follower, or a member of a group.

use sea_orm::entity::prelude::*;

use crate::ids::{ChannelId, Seq, UserId};
use crate::statement::OfUser;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "subscription")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub channel_id: ChannelId,
    /// The user receives publications after this position.
    pub since_seq: Seq,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {
    #[sea_orm(belongs_to = "super::channel::Entity", from = "Column::ChannelId", to = "super::channel::Column::Id")]
    Channel,
}

impl ActiveModelBehavior for ActiveModel {}

impl OfUser for Entity {
    const USER: Column = Column::UserId;
}
