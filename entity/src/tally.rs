//! A pending change of a notification's counters.

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
    /// Negative if items were marked unread.
    pub was_read: i64,
    /// The reader, if webhooks may be sent; 0 if not.
    pub reader_id: UserId,
    /// Milliseconds since 1970.
    pub happened_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
