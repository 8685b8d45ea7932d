//! Rules: what rows of somebody's table become notifications, exactly one a row for as long as it is there.
//!
//! A run compares a result with the rows that the rule knows (`model::rule::difference`) and does what that says in steps of their own
//! transactions (`apply`): each sends, amends or takes back, and writes down in the same transaction which rows it did that for. So a
//! run that is cut off anywhere is finished by the next one. Whoever runs a rule holds a lease, and each step looks whether it is
//! still theirs (`claim`).

mod apply;
mod claim;
mod report;
mod save;
mod scan;
mod show;
mod statement;
mod trial;

use entity::prelude::*;
use entity::rule::{self, Column, Entity as Rules};

use super::tenant::Tenant;
use crate::app::App;
use crate::error::{Error, Result};
use crate::model::check;

pub use crate::model::alarm::Alarm;
pub use crate::model::rule::{Audience, Columns, Definition, FirstRun, Resolve, Scan, Words};
pub use entity::rule::State;
pub use entity::rule_run::{Model as Run, Outcome};
pub use report::{Report, report};
pub use save::{delete, pause, resume, save};
pub use scan::{Scanner, fail_the_sourceless, has_news, run_now};
pub use show::{open, rows, runs};
pub use trial::{Sample, Trial, trial};

/// The most rules of a tenant.
pub const RULES: usize = 1000;

/// A rule, and where it stands.
#[derive(Clone, Debug)]
pub struct Rule {
    pub of: rule::Model,
    pub definition: Definition,
}

impl Rule {
    fn read(of: rule::Model) -> Result<Self> {
        let definition = serde_json::from_str(&of.definition).map_err(Error::internal)?;
        Ok(Self { of, definition })
    }
}

/// A tenant's rules, by code.
pub async fn all(app: &App, tenant: &Tenant) -> Result<Vec<Rule>> {
    let all = Rules::of_tenant(tenant.id).order_by_asc(Column::Code).all(&app.db.read).await?;
    all.into_iter().map(Rule::read).collect()
}

/// The rule with this code; `NOT_FOUND` where there is none.
pub async fn find(app: &App, tenant: &Tenant, code: &str) -> Result<Rule> {
    check::code("code", code)?;
    let found = Rules::of_tenant(tenant.id).filter(Column::Code.eq(code)).one(&app.db.read).await?;
    Rule::read(found.ok_or_else(|| Error::not_found("rule", code))?)
}

/// The rule with this row.
pub async fn find_by_row(app: &App, tenant: &Tenant, id: i64) -> Result<Option<Rule>> {
    let found = Rules::of_tenant(tenant.id).filter(Column::Id.eq(id)).one(&app.db.read).await?;
    found.map(Rule::read).transpose()
}
