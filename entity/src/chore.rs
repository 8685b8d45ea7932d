//! Background tasks that only one node at a time runs.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "chore")]
pub struct Model {
    /// `count`, `sweep` or `orphans`.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// When it is next due, in milliseconds since 1970. The node that advances this value runs the task.
    pub due_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
