//! An entry of the log that says: what was published at an earlier place was retracted, or expires at another instant.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId};
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "amendment")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub tenant_id: TenantId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: Seq,
    /// The place of what was amended; its notification says how.
    pub subject_seq: Seq,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
