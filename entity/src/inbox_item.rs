//! User × notification, with the user's state of it.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TypeId, UserId};
use crate::statement::OfUser;

/// Whether an item is archived, and whether it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum ItemState {
    /// Unread above the newest read mark of its type, and read below it.
    Fresh = 0,
    /// Read individually.
    Read = 1,
    /// Archived and read.
    ArchivedRead = 2,
    /// Unread regardless of read marks.
    KeptUnread = 3,
    /// Archived and unread.
    ArchivedUnread = 4,
}

impl ItemState {
    /// Whether the item is in the archive.
    pub fn is_archived(self) -> bool {
        matches!(self, Self::ArchivedRead | Self::ArchivedUnread)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "inbox_item")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The seq of the notification.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: Seq,
    pub type_id: TypeId,
    pub state: ItemState,
    /// When it was read individually. Below a read mark, the mark's time counts instead.
    pub read_at: Option<i64>,
    /// Milliseconds since 1970.
    pub archived_at: Option<i64>,
    /// Milliseconds since 1970.
    pub expires_at: Option<i64>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfUser for Entity {
    const USER: Column = Column::UserId;
}
