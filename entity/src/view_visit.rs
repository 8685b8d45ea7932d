//! A user's membership in a view, and the last position that the user has seen.

use sea_orm::entity::prelude::*;

use crate::ids::{UserId, ViewId};
use crate::statement::OfUser;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "view_visit")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub view_id: ViewId,
    /// The position of the view at the last visit, or at the join. Anything above it is unread.
    pub position: i64,
    /// Milliseconds since 1970. NULL before the first visit.
    pub visited_at: Option<i64>,
    /// Milliseconds since 1970.
    pub joined_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {
    #[sea_orm(belongs_to = "super::view::Entity", from = "Column::ViewId", to = "super::view::Column::Id")]
    View,
}

impl ActiveModelBehavior for ActiveModel {}

impl OfUser for Entity {
    const USER: Column = Column::UserId;
}
