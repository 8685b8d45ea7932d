//! A publication that becomes deliveries to users when it is due, and how many users of its audience are done.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId, UserId};
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "dispatch")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub lane_id: i64,
    /// The log position of the publication.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: Seq,
    pub tenant_id: TenantId,
    pub notification_id: i64,
    /// Milliseconds since 1970.
    pub due_at: i64,
    /// Users up to this id have their deliveries.
    pub after_user: UserId,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
