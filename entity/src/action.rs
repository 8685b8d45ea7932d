//! A kind of event on targets. The backend may use any string; each is stored once.

use sea_orm::entity::prelude::*;

use crate::ids::{ActionId, TenantId};
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "action")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: ActionId,
    pub tenant_id: TenantId,
    pub code: String,
    /// When it was last looked up for use, in milliseconds since 1970; up to an hour too early.
    pub used_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
