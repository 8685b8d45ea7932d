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
    /// Of a browser: the SHA-256 of its endpoint, in base64url.
    pub address: String,
    /// Times in a row that it was refused for good; of a browser, that nothing was heard of it.
    pub failures: i64,
    /// Milliseconds since 1970; since when nothing is sent to it, for it was refused too often. Of a browser: since when nothing was heard of
    /// it, and it is tried all the same.
    pub bad_since: Option<i64>,
    pub created_at: i64,
    /// Of a browser: the URL of its push service that leads to it.
    pub endpoint: Option<String>,
    /// Of a browser: its public key and its secret, 65 and 16 bytes, in base64url.
    pub push_keys: Option<String>,
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
