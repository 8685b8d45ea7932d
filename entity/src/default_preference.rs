//! What is on or off for a tenant's users who have not said otherwise.

use sea_orm::entity::prelude::*;

use crate::ids::TenantId;
use crate::preference::Scope;
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "default_preference")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub tenant_id: TenantId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub scope: Scope,
    /// The action's or the message type's id.
    #[sea_orm(primary_key, auto_increment = false)]
    pub subject_id: i64,
    pub enabled: bool,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
