//! What is to be added to the counts of a notification.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId, UserId};
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "tally")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub seq: Seq,
    pub delivered: i64,
    /// Negative where it was marked unread.
    pub was_read: i64,
    /// Who has read it, where webhooks may be told; 0 where they are not.
    pub reader_id: UserId,
    /// When; milliseconds since 1970.
    pub happened_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
