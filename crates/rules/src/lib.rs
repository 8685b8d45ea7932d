//! Rules: rows of a customer's table become notifications, exactly one per row for as long as the row is there.
//!
//! A scan (`scan`, over the crate `sources`) or a report (`apply_report`) yields a result. `model::rule::difference` compares it,
//! by hashes of keys and contents, with `rule_row`, which has one row per known row of the source. It says which rows
//! are new, changed, missing, back or gone, and knows neither time nor database.
//!
//! `apply` executes that in steps of up to 200 rows. Each step is one transaction that sends, amends or retracts, and
//! records in `rule_row` for which rows. There is no cursor: an interrupted run is completed by the next run, which
//! compares again. A row counts as gone after several complete runs without it. All rows are validated before the first
//! step, so a result with one bad row changes nothing.
//!
//! A run holds a claim (`claim`): it locks the rule's row, increments `run_no` and writes a lease. The lease keeps
//! other nodes from starting. `run_no` is the fence that each step checks under the lock, so a run that lost its claim
//! stops. Changing, pausing and deleting a rule increment it, too. A source has as many concurrent runs as connections,
//! and tenants take turns at them, so a source that hangs delays only its own rules. The source's engine decides what a
//! statement may do (crate `sources`).

mod apply;
mod claim;
mod list;
mod queries;
mod report;
mod save;
mod scan;
mod trial;

use std::ops::Deref;
use std::sync::Arc;

use entity::prelude::*;
pub use entity::rule::RuleStatus;
use entity::rule::{self, Column, Entity as RuleTable};
pub use entity::rule_run::{Model as Run, RunOutcome};

use base::error::{Error, Result};
use domain::tenant::Tenant;
pub use list::{count_known_rows, list_open, list_runs};
pub use model::alarm::AlarmTarget;
pub use model::rule::{
    ColumnValues, FirstRun, PlaceholderText, ResolvePolicy, RowAudience, RuleDefinition, ScheduledScan,
};
use model::validate;
pub use report::{RowReport, apply_report};
pub use save::{delete, pause, resume, save};
pub use scan::{RuleScanner, fail_without_source, mark_source_due, run_now};
use sources::DataSources;
use store::Store;
pub use trial::{SampleNotification, TrialResult, run_trial};

/// The store, and the databases that rules read.
#[derive(Debug)]
pub struct RuleContext {
    pub store: Arc<Store>,
    pub sources: DataSources,
}

impl Deref for RuleContext {
    type Target = Arc<Store>;

    fn deref(&self) -> &Arc<Store> {
        &self.store
    }
}

/// The most rules of a tenant.
pub const RULES: usize = 1000;

/// A rule: its row and its definition.
#[derive(Clone, Debug)]
pub struct Rule {
    pub of: rule::Model,
    pub definition: RuleDefinition,
}

impl Rule {
    fn from_model(of: rule::Model) -> Result<Self> {
        let definition = serde_json::from_str(&of.definition).map_err(Error::internal)?;
        Ok(Self { of, definition })
    }
}

/// A tenant's rules, by code.
pub async fn list_all(store: &Store, tenant: &Tenant) -> Result<Vec<Rule>> {
    let all = RuleTable::of_tenant(tenant.id).order_by_asc(Column::Code).all(&store.db.read).await?;
    all.into_iter().map(Rule::from_model).collect()
}

/// The rule with this code. `NOT_FOUND` if it does not exist.
pub async fn find_by_code(store: &Store, tenant: &Tenant, code: &str) -> Result<Rule> {
    validate::identifier("code", code)?;
    let found = RuleTable::of_tenant(tenant.id).filter(Column::Code.eq(code)).one(&store.db.read).await?;
    Rule::from_model(found.ok_or_else(|| Error::not_found("rule", code))?)
}

/// The rule with this row id.
pub async fn find_by_id(store: &Store, tenant: &Tenant, id: i64) -> Result<Option<Rule>> {
    let found = RuleTable::of_tenant(tenant.id).filter(Column::Id.eq(id)).one(&store.db.read).await?;
    found.map(Rule::from_model).transpose()
}
