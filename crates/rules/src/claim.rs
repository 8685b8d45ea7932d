//! Claims: one node at a time runs a rule.

use std::time::Duration;

use entity::prelude::*;
use entity::rule::{Column, Entity as RuleTable, RuleStatus};
use entity::rule_run::{self, Entity as Runs, RunOutcome};
use sea_orm::sea_query::ExprTrait;

use super::{Rule, Run};
use base::clock::Millis;
use base::error::{Error, Result};
use base::telemetry::metrics::RuleRunLabels;
use base::text::{character_count, shorten_text};
use domain::notification::{self, NotificationContent};
use domain::tenant::Tenant;
use model::validate;
use store::{Store, Transaction, transaction};

/// How long a run may be silent, in milliseconds, before another node takes the rule over.
const LEASE: Millis = 10_000;

/// Runs stored per rule.
pub(super) const RUNS: u64 = 50;

/// Failures in a row that trigger the alarm.
const FAILURES: i64 = 3;

/// A run under way.
#[derive(Debug)]
pub(super) struct RuleClaim {
    pub rule: Rule,
    pub started_at: Millis,
    began: std::time::Instant,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunCounts {
    pub found: usize,
    pub raised: usize,
    pub amended: usize,
    pub resolved: usize,
}

/// The outcome of a run.
#[derive(Debug)]
pub(super) struct RunEnd {
    pub outcome: RunOutcome,
    pub error: Option<String>,
    /// The sender's name of the report that this run completed.
    pub report: Option<String>,
}

impl RunCounts {
    /// `found` rows were found, and nothing was done.
    pub fn with_found(found: usize) -> Self {
        Self { found, ..Self::default() }
    }
}

impl RunEnd {
    /// An outcome without an error or a report.
    pub fn from_outcome(outcome: RunOutcome) -> Self {
        Self { outcome, error: None, report: None }
    }

    /// More rows were new than the rule may send for.
    pub fn too_many_new(rule: &Rule, new: usize) -> Self {
        let most = rule.definition.max_new;
        let error = format!("{new} rows are new, but one run raises at most {most}");
        Self { error: Some(error), ..Self::from_outcome(RunOutcome::Flooded) }
    }
}

/// Why a rule is claimed.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClaimReason {
    /// It is due.
    Due,
    /// A caller wants a run now.
    Now,
}

/// Claims a rule for the lease plus `patience`. `None` if it is not due (any more), or if another run is under way. The
/// rule stays due until the run finishes: if the node dies, another node claims it once the lease has expired.
pub(super) async fn claim_rule(
    store: &Store,
    id: i64,
    when: ClaimReason,
    patience: Duration,
) -> Result<Option<RuleClaim>> {
    let patience = Millis::try_from(patience.as_millis()).map_err(Error::internal)?;
    let taken = transaction!(store.db, |txn| {
        let Some(of) = RuleTable::find_by_id(id).for_update(txn).one(txn).await? else { return Ok(None) };
        let now = store.now();
        // A lease longer than possible was written by a wrong clock.
        let is_held = of.lease_until > now && of.lease_until <= now + 2 * (patience + LEASE);
        let is_due = of.due_at.is_some_and(|due_at| due_at <= now) && of.state == RuleStatus::Active;
        if is_held || (matches!(when, ClaimReason::Due) && !is_due) {
            return Ok(None);
        }
        let mut rule = Rule::from_model(of)?;
        rule.of.run_no += 1;
        let take = RuleTable::update_many().col_expr(Column::RunNo, Expr::val(rule.of.run_no));
        let take = take.col_expr(Column::LeaseUntil, Expr::val(now + patience + LEASE));
        take.filter(Column::Id.eq(id)).exec(txn).await?;
        Ok(Some((rule, now)))
    })?;
    Ok(taken.map(|(rule, started_at)| RuleClaim { rule, started_at, began: std::time::Instant::now() }))
}

/// Claims a rule for a run on request. `CONFLICT` if it is paused; `UNAVAILABLE` while another run is under way.
pub(super) async fn claim_now(store: &Store, rule: &Rule, patience: Duration) -> Result<RuleClaim> {
    if rule.of.state != RuleStatus::Active {
        return Err(Error::Conflict(format!("the rule {:?} is paused", rule.of.code)));
    }
    let taken = claim_rule(store, rule.of.id, ClaimReason::Now, patience).await?;
    taken.ok_or_else(|| Error::Unavailable("another run of the rule is under way, try again in a moment".into()))
}

/// The error for a caller if the rule was changed during the run.
pub(super) fn claim_lost_error() -> Error {
    Error::Conflict(
        "the rule was changed during the run: what is done stays, and the same call again does the rest".into(),
    )
}

impl RuleClaim {
    /// The number of this run if it becomes a complete one.
    pub fn next_complete_no(&self) -> i64 {
        self.rule.of.complete_no + 1
    }

    /// Locks the rule for a step, and renews the lease. Returns false if the run lost its claim and must stop.
    pub async fn renew_lease(&self, txn: &Transaction, now: Millis) -> Result<bool> {
        let run_no = RuleTable::find_by_id(self.rule.of.id).for_update(txn).select_only().column(Column::RunNo);
        if run_no.into_tuple::<i64>().one(txn).await? != Some(self.rule.of.run_no) {
            return Ok(false);
        }
        let on = RuleTable::update_many().col_expr(Column::LeaseUntil, Expr::val(now + LEASE));
        on.filter(Column::Id.eq(self.rule.of.id)).exec(txn).await?;
        Ok(true)
    }

    /// Releases the rule without a trace of the run.
    pub async fn release(self, store: &Store) -> Result<()> {
        transaction!(store.db, |txn| {
            if self.renew_lease(txn, store.now()).await? {
                let free = RuleTable::update_many().col_expr(Column::LeaseUntil, Expr::val(0_i64));
                free.filter(Column::Id.eq(self.rule.of.id)).exec(txn).await?;
            }
            Ok(())
        })
    }

    /// Records the outcome of the run, and sends an alarm if needed. `None` if the run lost its claim.
    pub async fn finish(self, store: &Store, tenant: &Tenant, figures: RunCounts, end: RunEnd) -> Result<Option<Run>> {
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
        let has_failed = matches!(run.outcome, RunOutcome::Failed | RunOutcome::TimedOut | RunOutcome::Truncated);
        let failures = if has_failed { of.failures + 1 } else { 0 };
        let is_told = run.outcome == RunOutcome::Flooded || failures == FAILURES;
        let alarm =
            if is_told { self.prepare_alarm(store, tenant, &run).await } else { notification::PreparedSend::default() };
        let raised = transaction!(store.db, |txn| {
            let now = store.now();
            if !self.renew_lease(txn, now).await? {
                return Ok(None);
            }
            let mut to = RuleTable::update_many().col_expr(Column::LeaseUntil, Expr::val(0_i64));
            to = to.col_expr(Column::Failures, Expr::val(failures));
            match run.outcome {
                RunOutcome::Complete => {
                    to = to.col_expr(Column::CompleteNo, Expr::val(self.next_complete_no()));
                    to = to.col_expr(Column::CompleteAt, Expr::val(self.started_at));
                    to = to.col_expr(Column::IsBaselineDue, Expr::val(false));
                    // Discards a report in chunks that was begun before this complete run.
                    to = to.col_expr(Column::Report, Expr::val(None::<String>));
                    to = to.col_expr(Column::ReportChunk, Expr::val(0_i64));
                }
                RunOutcome::Flooded => to = to.col_expr(Column::State, Expr::val(RuleStatus::Flooded)),
                RunOutcome::Partial | RunOutcome::Failed | RunOutcome::TimedOut | RunOutcome::Truncated => {}
            }
            if let Some(scan) = &self.rule.definition.scan {
                let schedule = scan.schedule()?;
                // By the schedule, however long the run took.
                let next = schedule
                    .next_after(self.started_at)
                    .filter(|next| *next > now)
                    .or_else(|| schedule.next_after(now));
                // Keeps the due time if the source had news meanwhile.
                let is_done = Expr::col(Column::DueAt).lte(self.started_at);
                let due_at = match failures {
                    0 if of.failures > 0 => Expr::val(next),
                    0 => Expr::case(is_done, Expr::val(next)).finally(Expr::col(Column::DueAt)).into(),
                    failures => Expr::val(schedule.next_after_failures(now, failures)),
                };
                to = to.col_expr(Column::DueAt, due_at);
            }
            to.filter(Column::Id.eq(of.id)).exec(txn).await?;
            insert_run(txn, &run).await?;
            Ok(Some(notification::send_prepared(txn, store, tenant, &alarm).await?.unwrap_or_default()))
        })?;
        let Some(raised) = raised else { return Ok(None) };
        notification::record_sent(store, tenant, &raised);
        store.metrics.rule_runs.get_or_create(&RuleRunLabels { outcome: run.outcome.name() }).inc();
        Ok(Some(run))
    }

    /// Prepares the alarm for the tenant's operators. If that fails, the server logs it.
    async fn prepare_alarm(&self, store: &Store, tenant: &Tenant, run: &Run) -> notification::PreparedSend {
        let code = &self.rule.of.code;
        let why = run.error.as_deref().unwrap_or_default();
        tracing::warn!(
            tenant = tenant.code,
            rule = code,
            outcome = run.outcome.name(),
            cause = why,
            "a rule needs attention"
        );
        let Some(alarm) = &self.rule.definition.alarm else { return notification::PreparedSend::default() };
        let title = match run.outcome {
            RunOutcome::Flooded => format!("The rule {code} is paused"),
            _ => format!("The rule {code} has failed {FAILURES} times"),
        };
        let content = NotificationContent {
            title: Some(shorten_text(&title, validate::TITLE_CHARACTERS, "…", character_count)),
            body: run.error.clone(),
            params: Some(serde_json::json!({ "rule": code, "outcome": run.outcome.name(), "error": run.error })),
            ..NotificationContent::default()
        };
        notification::prepare_alarm(store, tenant, alarm, content).await.unwrap_or_else(|error| {
            tracing::warn!(tenant = tenant.code, rule = code, cause = error.log_message(), "could not send the alarm");
            notification::PreparedSend::default()
        })
    }
}

async fn insert_run(txn: &Transaction, run: &Run) -> Result<()> {
    Runs::insert(rule_run::ActiveModel::from(run.clone())).exec_without_returning(txn).await?;
    let last = Runs::find().filter(rule_run::Column::RuleId.eq(run.rule_id)).order_by_desc(rule_run::Column::RunNo);
    let last = last.offset(RUNS).limit(1).select_only().column(rule_run::Column::RunNo);
    if let Some(run_no) = last.into_tuple::<i64>().one(txn).await? {
        let old = Runs::delete_many().filter(rule_run::Column::RuleId.eq(run.rule_id));
        old.filter(rule_run::Column::RunNo.lte(run_no)).exec(txn).await?;
    }
    Ok(())
}
