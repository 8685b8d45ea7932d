//! User × notification, with the user's state of it.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TypeId, UserId};

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "inbox_item")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The notification's.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: Seq,
    pub type_id: TypeId,
    /// 0 unread above the read mark and read below it, 1 read, 2 archived and read, 3 unread
    /// whatever the read mark says, 4 archived and unread.
    pub state: i16,
    /// When it was marked by itself; below a read mark, the mark's instant counts.
    pub read_at: Option<i64>,
    /// Milliseconds since 1970.
    pub archived_at: Option<i64>,
    /// Milliseconds since 1970.
    pub expires_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
