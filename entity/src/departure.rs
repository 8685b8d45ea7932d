//! A user stopped listening to a channel before its publications were counted. Deleted once they are.

use sea_orm::entity::prelude::*;

use crate::ids::{ChannelId, Seq, TenantId, UserId};
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "departure")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub channel_id: ChannelId,
    /// May have been erased.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The user received publications after this position,
    #[sea_orm(primary_key, auto_increment = false)]
    pub since_seq: Seq,
    /// up to this one.
    pub upto_seq: Seq,
    pub tenant_id: TenantId,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
