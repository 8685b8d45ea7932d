//! All items of a type up to a seq were read at once. The newest mark decides what is unread; the oldest one that
//! covers an item determines when it was read.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TypeId, UserId};
use crate::statement::OfUser;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "read_mark")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub type_id: TypeId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub read_upto: Seq,
    /// Milliseconds since 1970.
    pub read_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfUser for Entity {
    const USER: Column = Column::UserId;
}
