//! A rule: a query for rows that should not exist, and the notification to send for each.

use sea_orm::entity::prelude::*;

use crate::ids::TenantId;
use crate::statement::OfTenant;

/// Whether the rule runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum RuleStatus {
    Active = 0,
    /// A client has paused it.
    Paused = 1,
    /// The server has stopped it, because a run found more new rows than it may raise.
    Flooded = 2,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "rule")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub code: String,
    /// JSON: the definition that the tenant saved.
    pub definition: String,
    /// The name of the server's source that it scans. NULL if its rows are reported through the API.
    pub source: Option<String>,
    pub state: RuleStatus,
    /// When the next scan is due, in milliseconds since 1970, as are all times here. NULL if its rows are reported.
    pub due_at: Option<i64>,
    /// Incremented by each run and each change. A run with an older number must not write.
    pub run_no: i64,
    /// The end of the lease of the current run.
    pub lease_until: i64,
    /// When the last complete run began.
    pub complete_at: Option<i64>,
    /// Counts complete runs.
    pub complete_no: i64,
    /// The next complete run records the existing rows and raises nothing.
    pub is_baseline_due: bool,
    /// Consecutive failed runs.
    pub failures: i64,
    /// The sender's id of the chunked report in progress.
    pub report: Option<String>,
    /// The number stored with rows of that report.
    pub report_no: i64,
    /// The next expected chunk.
    pub report_chunk: i64,
    pub created_at: i64,
    pub updated_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl OfTenant for Entity {
    const TENANT: Column = Column::TenantId;
}
