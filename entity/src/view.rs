//! A view: a chat, feed or news page. A visit marks all of it as read.

use sea_orm::entity::prelude::*;

use crate::ids::{TenantId, ViewId};
use crate::statement::OfTenant;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "view")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: ViewId,
    pub tenant_id: TenantId,
    /// The kind of view.
    pub code: String,
    /// The backend's id of the view, unique within its kind.
    pub external_id: String,
    /// The number of activities so far.
    pub position: i64,
    /// Milliseconds since 1970. NULL before the first activity.
    pub last_activity_at: Option<i64>,
    /// The JSON of the latest activity.
    pub latest: Option<String>,
    /// The time of the last activity, visit or join, for the sweep. Up to a day late, so that visits rarely write here.
    pub touched_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
