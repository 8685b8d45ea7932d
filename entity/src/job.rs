//! Work of several transactions that was begun and is not done yet. Whoever locks the row does the next part of it.

use sea_orm::entity::prelude::*;

use crate::ids::TenantId;
use crate::statement::OfTenant;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum Kind {
    /// A user is erased.
    Erase = 0,
    /// A channel is taken away that nothing is published to any more.
    Close = 1,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub kind: Kind,
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

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
