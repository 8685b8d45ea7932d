//! A row that a rule has found and not resolved yet: hashes of it, and the notification raised for it.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "rule_row")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub rule_id: i64,
    /// 128 bits of a SHA-256 of its key, as text.
    #[sea_orm(primary_key, auto_increment = false)]
    pub key_hash: String,
    /// 64 bits of a SHA-256 of the whole row.
    pub content_hash: i64,
    /// The raised notification. NULL for rows of the first run.
    pub notification_id: Option<i64>,
    /// When it was found or raised again, in milliseconds since 1970.
    pub raised_at: i64,
    /// The number of the first complete run without it. NULL while it exists.
    pub missing_from: Option<i64>,
    /// The number of the last chunked report that contained it.
    pub report_no: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
