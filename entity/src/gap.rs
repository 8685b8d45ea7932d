//! Places that a log never had, since its numbers were raised after a failover or a restore.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId};
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "gap")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub tenant_id: TenantId,
    /// The newest entry before it.
    pub after_seq: Seq,
    /// The next entry comes after this.
    #[sea_orm(primary_key, auto_increment = false)]
    pub upto_seq: Seq,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
