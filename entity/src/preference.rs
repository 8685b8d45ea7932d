//! What users have switched on or off themselves.

use sea_orm::entity::prelude::*;

use crate::ids::UserId;
use crate::statement::OfUser;

/// What is switched on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum Scope {
    /// Reminders of an action.
    Action = 0,
    /// All of a message type.
    Type = 1,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "preference")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    #[sea_orm(primary_key, auto_increment = false)]
    pub scope: Scope,
    /// The action's or the message type's id.
    #[sea_orm(primary_key, auto_increment = false)]
    pub subject_id: i64,
    pub enabled: bool,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfUser for Entity {
    const USER: Column = Column::UserId;
}
