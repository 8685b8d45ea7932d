//! A tenant's default preferences, for users without a preference of their own.

use sea_orm::entity::prelude::*;

use crate::ids::TenantId;
use crate::preference::PreferenceScope;
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "default_preference")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub tenant_id: TenantId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub scope: PreferenceScope,
    /// The id of the action or the message type.
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
