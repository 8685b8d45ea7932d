//! Who runs a rule: one node at a time.

use std::time::Duration;

use entity::prelude::*;
use entity::rule::{Column, Entity as Rules, State};
use entity::rule_run::{self, Entity as Runs, Outcome};
use sea_orm::sea_query::ExprTrait;

use super::{Rule, Run};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::domain::notification::{self, Content};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::check;
use crate::telemetry::metrics::Ran;
use crate::text::{characters, cut};

/// How long a run may be silent, in milliseconds: another node takes the rule over then.
const LEASE: Millis = 10_000;

/// Runs that are kept of a rule.
pub(super) const RUNS: u64 = 50;

/// Failures in a row after which somebody is told.
const FAILURES: i64 = 3;

/// A run under way.
#[derive(Debug)]
pub(super) struct Claim {
    pub rule: Rule,
    pub started_at: Millis,
    began: std::time::Instant,
}

/// What a run has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub found: usize,
    pub raised: usize,
    pub amended: usize,
    pub resolved: usize,
}

/// How a run has ended.
#[derive(Debug)]
pub(super) struct End {
    pub outcome: Outcome,
    pub error: Option<String>,
    /// What its sender calls the report that has ended with it.
    pub report: Option<String>,
}

impl Figures {
    /// So many rows were found, and nothing was done.
    pub fn of(found: usize) -> Self {
        Self { found, ..Self::default() }
    }
}

impl End {
    /// Without anything to say about it.
    pub fn of(outcome: Outcome) -> Self {
        Self { outcome, error: None, report: None }
    }

    /// More rows were new than the rule may raise.
    pub fn flooded(rule: &Rule, new: usize) -> Self {
        let most = rule.definition.max_new;
        let error = format!("{new} rows are new, and at most {most} are raised in one run");
        Self { error: Some(error), ..Self::of(Outcome::Flooded) }
    }
}

/// What a claim is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// It is due.
    Due,
    /// Somebody wants it now.
    Now,
}

/// Takes a rule, which stays due until it is finished: where whoever takes it dies, the next one does when the lease is over. For `patience` besides the lease; nothing where it is not due (any more), or another run is under way.
pub(super) async fn claim(app: &App, id: i64, when: When, patience: Duration) -> Result<Option<Claim>> {
    let patience = Millis::try_from(patience.as_millis()).map_err(Error::internal)?;
    let taken = transaction!(app.db, |txn| {
        let Some(of) = Rules::find_by_id(id).for_update(txn).one(txn).await? else { return Ok(None) };
        let now = app.now();
        // A lease that is far longer than can be was taken by a clock that went wrong.
        let is_held = of.lease_until > now && of.lease_until <= now + 2 * (patience + LEASE);
        let is_due = of.due_at.is_some_and(|due_at| due_at <= now) && of.state == State::Active;
        if is_held || (matches!(when, When::Due) && !is_due) {
            return Ok(None);
        }
        let mut rule = Rule::read(of)?;
        rule.of.run_no += 1;
        let take = Rules::update_many().col_expr(Column::RunNo, Expr::val(rule.of.run_no));
        let take = take.col_expr(Column::LeaseUntil, Expr::val(now + patience + LEASE));
        take.filter(Column::Id.eq(id)).exec(txn).await?;
        Ok(Some((rule, now)))
    })?;
    Ok(taken.map(|(rule, started_at)| Claim { rule, started_at, began: std::time::Instant::now() }))
}

/// Takes a rule because somebody wants it now. `CONFLICT` where it is paused; `UNAVAILABLE` while another run is under way.
pub(super) async fn claim_now(app: &App, rule: &Rule, patience: Duration) -> Result<Claim> {
    if rule.of.state != State::Active {
        return Err(Error::Conflict(format!("the rule {:?} is paused", rule.of.code)));
    }
    let taken = claim(app, rule.of.id, When::Now, patience).await?;
    taken.ok_or_else(|| Error::Unavailable("another run of the rule is under way, try again in a moment".into()))
}

/// What a caller is told whose rule has become another meanwhile.
pub(super) fn lost() -> Error {
    Error::Conflict("the rule was changed meanwhile: what was done is right, and the same again does the rest".into())
}

impl Claim {
    /// The number of this run, if it becomes a complete one.
    pub fn complete_no(&self) -> i64 {
        self.rule.of.complete_no + 1
    }

    /// Locks the rule for a step of the run; false where the run is not the rule's any more, so that it may do nothing.
    pub async fn holds(&self, txn: &Transaction, now: Millis) -> Result<bool> {
        let run_no = Rules::find_by_id(self.rule.of.id).for_update(txn).select_only().column(Column::RunNo);
        if run_no.into_tuple::<i64>().one(txn).await? != Some(self.rule.of.run_no) {
            return Ok(false);
        }
        let on = Rules::update_many().col_expr(Column::LeaseUntil, Expr::val(now + LEASE));
        on.filter(Column::Id.eq(self.rule.of.id)).exec(txn).await?;
        Ok(true)
    }

    /// Lets the rule go as if nothing had been.
    pub async fn release(self, app: &App) -> Result<()> {
        transaction!(app.db, |txn| {
            if self.holds(txn, app.now()).await? {
                let free = Rules::update_many().col_expr(Column::LeaseUntil, Expr::val(0_i64));
                free.filter(Column::Id.eq(self.rule.of.id)).exec(txn).await?;
            }
            Ok(())
        })
    }

    /// Writes down what came of the run, and tells whoever is to be told; nothing where it is not the rule's any more.
    pub async fn finish(self, app: &App, tenant: &Tenant, figures: Figures, end: End) -> Result<Option<Run>> {
        let of = &self.rule.of;
        let number = |many: usize| i64::try_from(many).unwrap_or(i64::MAX);
        let run = Run {
            rule_id: of.id,
            run_no: of.run_no,
            started_at: self.started_at,
            millis: Millis::try_from(self.began.elapsed().as_millis()).map_err(Error::internal)?,
            rows_found: number(figures.found),
            raised: number(figures.raised),
            amended: number(figures.amended),
            resolved: number(figures.resolved),
            outcome: end.outcome,
            error: end.error,
            report: end.report,
        };
        let has_failed = matches!(run.outcome, Outcome::Failed | Outcome::TimedOut | Outcome::Truncated);
        let failures = if has_failed { of.failures + 1 } else { 0 };
        let is_told = run.outcome == Outcome::Flooded || failures == FAILURES;
        let alarm = if is_told { self.alarm(app, tenant, &run).await } else { notification::Raising::default() };
        let raised = transaction!(app.db, |txn| {
            let now = app.now();
            if !self.holds(txn, now).await? {
                return Ok(None);
            }
            let mut to = Rules::update_many().col_expr(Column::LeaseUntil, Expr::val(0_i64));
            to = to.col_expr(Column::Failures, Expr::val(failures));
            match run.outcome {
                Outcome::Complete => {
                    to = to.col_expr(Column::CompleteNo, Expr::val(self.complete_no()));
                    to = to.col_expr(Column::CompleteAt, Expr::val(self.started_at));
                    to = to.col_expr(Column::IsBaselineDue, Expr::val(false));
                    // What was begun in chunks is older.
                    to = to.col_expr(Column::Report, Expr::val(None::<String>));
                    to = to.col_expr(Column::ReportChunk, Expr::val(0_i64));
                }
                Outcome::Flooded => to = to.col_expr(Column::State, Expr::val(State::Flooded)),
                Outcome::Partial | Outcome::Failed | Outcome::TimedOut | Outcome::Truncated => {}
            }
            if let Some(scan) = &self.rule.definition.scan {
                let schedule = scan.schedule()?;
                // By the schedule, and not by how long it took.
                let next = schedule.after(self.started_at).filter(|next| *next > now).or_else(|| schedule.after(now));
                // What its source has said meanwhile is not forgotten.
                let is_done = Expr::col(Column::DueAt).lte(self.started_at);
                let due_at = match failures {
                    0 if of.failures > 0 => Expr::val(next),
                    0 => Expr::case(is_done, Expr::val(next)).finally(Expr::col(Column::DueAt)).into(),
                    failures => Expr::val(schedule.after_failures(now, failures)),
                };
                to = to.col_expr(Column::DueAt, due_at);
            }
            to.filter(Column::Id.eq(of.id)).exec(txn).await?;
            write_down(txn, &run).await?;
            Ok(Some(notification::raise(txn, app, tenant, &alarm).await?.unwrap_or_default()))
        })?;
        let Some(raised) = raised else { return Ok(None) };
        notification::has_raised(app, tenant, &raised);
        app.metrics.rule_runs.get_or_create(&Ran { outcome: run.outcome.name() }).inc();
        Ok(Some(run))
    }

    /// What the tenant's operators are told. Where that cannot be sent, the log says so.
    async fn alarm(&self, app: &App, tenant: &Tenant, run: &Run) -> notification::Raising {
        let code = &self.rule.of.code;
        let why = run.error.as_deref().unwrap_or_default();
        tracing::warn!(
            tenant = tenant.code,
            rule = code,
            outcome = run.outcome.name(),
            cause = why,
            "a rule needs somebody"
        );
        let Some(alarm) = &self.rule.definition.alarm else { return notification::Raising::default() };
        let title = match run.outcome {
            Outcome::Flooded => format!("The rule {code} is paused"),
            _ => format!("The rule {code} has failed {FAILURES} times"),
        };
        let content = Content {
            title: Some(cut(&title, check::TITLE_CHARACTERS, "…", characters)),
            body: run.error.clone(),
            params: Some(serde_json::json!({ "rule": code, "outcome": run.outcome.name(), "error": run.error })),
            ..Content::default()
        };
        notification::alarming(app, tenant, alarm, content).await.unwrap_or_else(|error| {
            tracing::warn!(tenant = tenant.code, rule = code, cause = error.told(), "nobody can be told");
            notification::Raising::default()
        })
    }
}

async fn write_down(txn: &Transaction, run: &Run) -> Result<()> {
    Runs::insert(rule_run::ActiveModel::from(run.clone())).exec_without_returning(txn).await?;
    let last = Runs::find().filter(rule_run::Column::RuleId.eq(run.rule_id)).order_by_desc(rule_run::Column::RunNo);
    let last = last.offset(RUNS).limit(1).select_only().column(rule_run::Column::RunNo);
    if let Some(run_no) = last.into_tuple::<i64>().one(txn).await? {
        let old = Runs::delete_many().filter(rule_run::Column::RuleId.eq(run.rule_id));
        old.filter(rule_run::Column::RunNo.lte(run_no)).exec(txn).await?;
    }
    Ok(())
}
