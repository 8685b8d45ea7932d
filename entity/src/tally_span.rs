//! A range of an inbox that arrived, or was read at once, and has not been counted item by item yet.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TypeId, UserId};
use crate::statement::OfUser;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "tally_span")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// Whether the range was read; otherwise it arrived.
    #[sea_orm(primary_key, auto_increment = false)]
    pub is_read: bool,
    /// The type that was read; 0 for arrivals.
    #[sea_orm(primary_key, auto_increment = false)]
    pub type_id: TypeId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub after_seq: Seq,
    pub upto_seq: Seq,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {
    #[sea_orm(belongs_to = "super::user::Entity", from = "Column::UserId", to = "super::user::Column::Id")]
    User,
}

impl ActiveModelBehavior for ActiveModel {}

impl OfUser for Entity {
    const USER: Column = Column::UserId;
}
