//! A session of the desk whose user has signed out: its cookie counts no more. The row stays until the session would have been over anyway.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "ended_session")]
pub struct Model {
    /// As the session's cookie has it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// When the session would have been over, in milliseconds since 1970.
    pub expires_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
