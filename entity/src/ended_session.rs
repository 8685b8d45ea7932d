//! A session of the desk that its user has ended: the cookie is no longer valid. The row stays until the session would
//! have expired.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "ended_session")]
pub struct Model {
    /// The id in the session's cookie.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
    /// When the session would have expired, in milliseconds since 1970.
    pub expires_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
