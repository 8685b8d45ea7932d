//! An address at which a user is reached outside of the inbox.

use sea_orm::entity::prelude::*;

use crate::destination::DestinationKind;
use crate::ids::{TenantId, UserId};
use crate::statement::{OfTenant, OfUser};

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "contact")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub user_id: UserId,
    /// The kind of destination that it is for.
    pub kind: DestinationKind,
    /// Web Push: the SHA-256 of the browser's endpoint, in base64url.
    pub address: String,
    /// Consecutive permanent rejections. For a browser: consecutive failures to reach it.
    pub failures: i64,
    /// Milliseconds since 1970. Since then, nothing is sent to it, because it was rejected too often. For a browser:
    /// the start of the current failure streak, during which messages are still sent.
    pub bad_since: Option<i64>,
    pub created_at: i64,
    /// Web Push: the URL of the browser at its push service.
    pub endpoint: Option<String>,
    /// Web Push: the browser's public key (65 bytes) and secret (16 bytes), in base64url.
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
