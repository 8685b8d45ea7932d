//! A rule: rows of somebody's table that ought not to be there, and what is said about each.

use sea_orm::entity::prelude::*;

use crate::ids::TenantId;
use crate::statement::OfTenant;

/// Whether it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "i16", db_type = "SmallInteger")]
#[repr(i16)]
pub enum State {
    Active = 0,
    /// By somebody.
    Paused = 1,
    /// By itself, since a run found more that was new than it may raise.
    Flooded = 2,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "rule")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub tenant_id: TenantId,
    pub code: String,
    /// JSON: all that its tenant says of it.
    pub definition: String,
    /// Name of the server's source that it scans; nothing where others report its rows.
    pub source: Option<String>,
    pub state: State,
    /// When it is scanned next, in milliseconds since 1970, as every instant here. Nothing where others report its rows.
    pub due_at: Option<i64>,
    /// Counts its runs, and its changes: whoever has an older number may change nothing.
    pub run_no: i64,
    /// Until then a run is under way.
    pub lease_until: i64,
    /// When its last complete run began.
    pub complete_at: Option<i64>,
    /// Counts complete runs.
    pub complete_no: i64,
    /// The next complete run remembers what is there, and raises nothing.
    pub is_baseline_due: bool,
    /// Runs in a row that failed.
    pub failures: i64,
    /// The report of several chunks that is under way, as its sender calls it.
    pub report: Option<String>,
    /// The number that rows of that report carry.
    pub report_no: i64,
    /// Which chunk of it comes next.
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
