//! A row that a rule has found and that has not gone since: hashes of it, and what was raised.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "rule_row")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub rule_id: i64,
    /// 128 bits of a SHA-256 of its key, as text.
    #[sea_orm(primary_key, auto_increment = false)]
    pub key_hash: String,
    /// 64 bits of a SHA-256 of all of it.
    pub content_hash: i64,
    /// What was raised; nothing for what was there at the first run.
    pub notification_id: Option<i64>,
    /// When it was found, or raised again, in milliseconds since 1970.
    pub raised_at: i64,
    /// The number of the complete run in which it was first missing; nothing while it is there.
    pub missing_from: Option<i64>,
    /// The number of the report of several chunks that had it last.
    pub report_no: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
