//! When a user is told by a lane what is unread, and what they were told of already. The row is made with the first item for it.

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
    /// Milliseconds since 1970; NULL while nothing has come that they were not told of.
    pub next_at: Option<i64>,
    /// Up to this place in the log they were told what was unread.
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
