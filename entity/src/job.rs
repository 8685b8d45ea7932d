//! Work of several transactions that was begun and is not done yet. Whoever locks the row does the next part of it.

use sea_orm::entity::prelude::*;

use crate::ids::TenantId;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    /// 0 erasing a user, 1 taking a channel away that nothing is published to any more.
    pub kind: i16,
    /// The user's or the channel's id.
    pub subject_id: i64,
    /// What the tenant calls it, where the same request again is to find it.
    pub name: Option<String>,
    /// How far it has come; see who does it.
    pub place: i64,
    /// Not before this instant, in milliseconds since 1970.
    pub due_at: i64,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
