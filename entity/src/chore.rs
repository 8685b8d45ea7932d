//! What one node at a time does in the background.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "chore")]
pub struct Model {
    /// `count`, `sweep` or `orphans`.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The node that moves this on does it; milliseconds since 1970.
    pub due_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
