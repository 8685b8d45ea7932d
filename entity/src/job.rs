//! Unfinished work that takes several transactions. A node locks the row to do the next part.

use sea_orm::entity::prelude::*;

use crate::ids::TenantId;
use crate::statement::OfTenant;

/// The kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum JobKind {
    /// Erase a user.
    Erase = 0,
    /// Remove a channel that nothing is published to any more.
    Close = 1,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "job")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub kind: JobKind,
    /// The user's or the channel's id.
    pub subject_id: i64,
    /// The tenant's name for the subject. A repeated request finds the job by it.
    pub name: Option<String>,
    /// The progress; its meaning depends on the kind.
    pub place: i64,
    /// The earliest time for the next part, in milliseconds since 1970.
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
