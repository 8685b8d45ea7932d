//! Reports: rows that callers hand in.

use std::sync::Arc;
use std::time::Duration;

use entity::prelude::*;
use entity::rule::{Column, Entity as RuleTable};
use entity::rule_run::{self, Entity as Runs};

use super::apply::{ApplyMode, ApplyOutcome, apply_rows, resolve_unreported};
use super::claim::{RuleClaim, RunCounts, RunEnd, claim_lost_error, claim_now};
use super::{ColumnValues, Rule, Run, RunOutcome, find_by_code};
use base::error::{Error, Result};
use domain::tenant::Tenant;
use model::rule::{ResultRow, prepare_rows};
use model::validate;
use store::{Store, transaction};

/// The most rows of one call.
const ROWS: usize = 10_000;
/// The most bytes of one call's rows, written as JSON.
const BYTES: usize = 2 * 1024 * 1024;
/// The most chunks of a report.
const CHUNKS: i64 = 1000;

/// Rows that a caller hands in.
#[derive(Clone, Debug)]
pub struct RowReport {
    pub rows: Vec<ColumnValues>,
    /// Rows that are neither in it nor in earlier chunks are gone.
    pub is_complete: bool,
    /// The sender's name of the report, which makes it idempotent.
    pub run: Option<String>,
    /// The number of this chunk, from 0.
    pub chunk: i64,
    /// More chunks follow.
    pub has_more: bool,
}

impl RowReport {
    fn check(&self) -> Result<()> {
        validate::at_most("rows", self.rows.len(), ROWS)?;
        let bytes: usize = self.rows.iter().map(|row| serde_json::to_string(row).map_or(0, |text| text.len())).sum();
        if bytes > BYTES {
            return Err(Error::bad_input("rows", format!("must have at most {BYTES} bytes of JSON, not {bytes}")));
        }
        if let Some(run) = &self.run {
            validate::identifier("run", run)?;
        }
        if !(0..CHUNKS).contains(&self.chunk) {
            return Err(Error::bad_input("chunk", format!("must be 0 to {}", CHUNKS - 1)));
        }
        if self.is_chunked() && self.run.is_none() {
            return Err(Error::bad_input("run", "is required if there is more than one chunk"));
        }
        if self.is_chunked() && !self.is_complete {
            return Err(Error::bad_input("complete", "must be true if there is more than one chunk"));
        }
        Ok(())
    }

    fn is_chunked(&self) -> bool {
        self.chunk > 0 || self.has_more
    }
}

/// Applies a report: a complete result or, if it is not complete, some rows; then no row is resolved.
///
/// If a report with the same run name was completed before, nothing changes, and that run is returned. `CONFLICT` if
/// the rule is paused or scans, or if another chunk must come next; `UNAVAILABLE` while another run is under way.
pub async fn apply_report(store: &Store, tenant: &Arc<Tenant>, code: &str, report: RowReport) -> Result<Run> {
    validate::identifier("rule", code)?;
    report.check()?;
    let rule = find_by_code(store, tenant, code).await?;
    if rule.definition.scan.is_some() {
        return Err(Error::Conflict(format!("the rule {code:?} scans its source: rows cannot be reported to it")));
    }
    let found = prepare_rows(report.rows.clone(), &rule.definition.key)?;
    if let Some(run) = find_completed(store, &rule, &report).await? {
        return Ok(run);
    }
    let taken = claim_now(store, &rule, Duration::ZERO).await?;
    match apply_chunk(store, tenant, &taken, &report, &found).await {
        Ok(Some((figures, end))) => taken.finish(store, tenant, figures, end).await?.ok_or_else(claim_lost_error),
        Ok(None) => Err(claim_lost_error()),
        Err(error) => {
            taken.release(store).await?;
            Err(error)
        }
    }
}

/// The run that completed the same report before.
async fn find_completed(store: &Store, rule: &Rule, report: &RowReport) -> Result<Option<Run>> {
    let Some(name) = &report.run else { return Ok(None) };
    let same = Runs::find().filter(rule_run::Column::RuleId.eq(rule.of.id));
    let same = same.filter(rule_run::Column::Report.eq(name)).order_by_desc(rule_run::Column::RunNo);
    Ok(same.one(&store.db.read).await?)
}

async fn apply_chunk(
    store: &Store,
    tenant: &Arc<Tenant>,
    claim: &RuleClaim,
    report: &RowReport,
    found: &[ResultRow],
) -> Result<Option<(RunCounts, RunEnd)>> {
    let report_no = begin_chunk(store, claim, report).await?;
    let Some(report_no) = report_no else { return Ok(None) };
    let part = ApplyMode {
        is_complete: report.is_complete && !report.is_chunked(),
        report_no: report.is_chunked().then_some(report_no),
        remembers: report.is_complete && claim.rule.of.is_baseline_due,
    };
    let mut figures = match apply_rows(store, tenant, claim, found, part).await? {
        ApplyOutcome::Done(figures) => figures,
        ApplyOutcome::Lost => return Ok(None),
        ApplyOutcome::Flooded(new) => {
            return Ok(Some((RunCounts::with_found(found.len()), RunEnd::too_many_new(&claim.rule, new))));
        }
    };
    if report.is_chunked() && !report.has_more {
        let Some(more) = resolve_unreported(store, tenant, claim, report_no).await? else { return Ok(None) };
        figures.resolved += more.resolved;
    }
    let outcome = if report.is_complete && !report.has_more { RunOutcome::Complete } else { RunOutcome::Partial };
    let name = report.run.clone().filter(|_| !report.has_more);
    if !record_next_chunk(store, claim, report).await? {
        return Ok(None);
    }
    Ok(Some((figures, RunEnd { report: name, ..RunEnd::from_outcome(outcome) })))
}

/// The chunk that must come next.
fn expected_chunk(rule: &Rule, report: &RowReport) -> i64 {
    if rule.of.report == report.run { rule.of.report_chunk } else { 0 }
}

/// The number that the rows of a report get; `None` if the run lost its claim. `CONFLICT` if another chunk must come
/// next. An earlier chunk may come again.
async fn begin_chunk(store: &Store, claim: &RuleClaim, report: &RowReport) -> Result<Option<i64>> {
    if !report.is_chunked() {
        return Ok(Some(0));
    }
    let of = &claim.rule.of;
    let expected = expected_chunk(&claim.rule, report);
    if report.chunk > expected {
        let message = format!("the next chunk of the report must be {expected}, not {}", report.chunk);
        return Err(Error::Conflict(message));
    }
    if of.report == report.run {
        return Ok(Some(of.report_no));
    }
    transaction!(store.db, |txn| {
        if !claim.renew_lease(txn, store.now()).await? {
            return Ok(None);
        }
        let to = RuleTable::update_many().col_expr(Column::Report, Expr::val(report.run.clone()));
        let to = to.col_expr(Column::ReportNo, Expr::val(of.run_no)).col_expr(Column::ReportChunk, Expr::val(0_i64));
        to.filter(Column::Id.eq(of.id)).exec(txn).await?;
        Ok(Some(of.run_no))
    })
}

/// Records which chunk must come next. Returns false if the run lost its claim.
async fn record_next_chunk(store: &Store, claim: &RuleClaim, report: &RowReport) -> Result<bool> {
    if !report.is_chunked() {
        return Ok(true);
    }
    let of = &claim.rule.of;
    transaction!(store.db, |txn| {
        if !claim.renew_lease(txn, store.now()).await? {
            return Ok(false);
        }
        let (name, chunk) = if report.has_more {
            (report.run.clone(), expected_chunk(&claim.rule, report).max(report.chunk + 1))
        } else {
            (None, 0)
        };
        let to = RuleTable::update_many().col_expr(Column::Report, Expr::val(name));
        to.col_expr(Column::ReportChunk, Expr::val(chunk)).filter(Column::Id.eq(of.id)).exec(txn).await?;
        Ok(true)
    })
}
