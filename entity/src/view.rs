//! Something that reads itself while it is looked at: a chat, a feed, a news page.

use sea_orm::entity::prelude::*;

use crate::ids::{TenantId, ViewId};
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "view")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: ViewId,
    pub tenant_id: TenantId,
    /// What kind of view it is.
    pub code: String,
    /// The partner's id of it, among those of its code.
    pub external_id: String,
    /// How many activities it has had.
    pub position: i64,
    /// Milliseconds since 1970; null while nothing has happened.
    pub last_activity_at: Option<i64>,
    /// The JSON that the latest activity carried.
    pub latest: Option<String>,
    /// When somebody last did, looked or joined, up to a day late, so that looking seldom writes here. The sweep goes by it.
    pub touched_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
