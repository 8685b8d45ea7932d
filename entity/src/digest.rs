//! The digest of a user at a destination: when the next one is due, and how far earlier ones went. Created with the
//! first item for it.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TenantId, UserId};
use crate::statement::{OfTenant, OfUser};

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "digest")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub lane_id: i64,
    pub tenant_id: TenantId,
    /// Milliseconds since 1970. NULL while there is nothing new to report.
    pub next_at: Option<i64>,
    /// The user has been informed of unread items up to this log position.
    pub upto_seq: Seq,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}

impl OfUser for Entity {
    const USER: Column = Column::UserId;
}
