//! The idempotency key of a recorded activity, kept for the retention window.

use sea_orm::entity::prelude::*;

use crate::ids::ViewId;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "activity_key")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub view_id: ViewId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub idempotency_key: String,
    /// A hash of the activity, to detect a key reused for a different one.
    pub fingerprint: i64,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
