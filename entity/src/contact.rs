//! Where a user is reached outside: an address of theirs.

use sea_orm::entity::prelude::*;

use crate::ids::{TenantId, UserId};
use crate::lane::Kind;
use crate::statement::{OfTenant, OfUser};

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "contact")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub user_id: UserId,
    /// By what kind of lane it is reached.
    pub kind: Kind,
    pub address: String,
    /// Times in a row that it was refused for good.
    pub failures: i64,
    /// Milliseconds since 1970; since when nothing is sent to it, for it was refused too often.
    pub bad_since: Option<i64>,
    pub created_at: i64,
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
