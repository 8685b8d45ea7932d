//! The result of a run of a rule. The last 50 are kept.

use sea_orm::entity::prelude::*;

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum RunOutcome {
    Complete = 0,
    Failed = 1,
    TimedOut = 2,
    /// There were more rows than allowed.
    Truncated = 3,
    /// More rows were new than may be raised.
    Flooded = 4,
    /// Only some rows were reported, so none can have disappeared.
    Partial = 5,
}

impl RunOutcome {
    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Truncated => "truncated",
            Self::Flooded => "flooded",
            Self::Partial => "partial",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "rule_run")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub rule_id: i64,
    #[sea_orm(primary_key, auto_increment = false)]
    pub run_no: i64,
    /// Milliseconds since 1970.
    pub started_at: i64,
    pub millis: i64,
    /// Rows that were found.
    pub rows_found: i64,
    pub raised: i64,
    pub amended: i64,
    pub resolved: i64,
    pub outcome: RunOutcome,
    pub error: Option<String>,
    /// The sender's id of a report, which makes it idempotent, and the number of this chunk.
    pub report: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
