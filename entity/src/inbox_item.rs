//! User × notification, with the user's state of it.

use sea_orm::entity::prelude::*;

use crate::ids::{Seq, TypeId, UserId};
use crate::statement::OfUser;

/// Where an item is, and whether it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum State {
    /// Unread above the newest read mark of its type, and read below it.
    Fresh = 0,
    /// Read by itself.
    Read = 1,
    /// In the archive, and read.
    ArchivedRead = 2,
    /// Unread whatever the read mark says.
    KeptUnread = 3,
    /// In the archive, and unread.
    ArchivedUnread = 4,
}

impl State {
    /// Whether it is out of the inbox proper.
    pub fn is_archived(self) -> bool {
        matches!(self, Self::ArchivedRead | Self::ArchivedUnread)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "inbox_item")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The notification's.
    #[sea_orm(primary_key, auto_increment = false)]
    pub seq: Seq,
    pub type_id: TypeId,
    pub state: State,
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

impl OfUser for Entity {
    const USER: Column = Column::UserId;
}
