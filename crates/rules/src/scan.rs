//! Scans: rows that the server reads on a schedule, when a source has news, or on request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use entity::ids::TenantId;
use entity::prelude::*;
use entity::rule::{Column, Entity as RuleTable, RuleStatus};
use parking_lot::Mutex;
use sea_orm::Select;
use sea_orm::sea_query::ExprTrait;
use tokio::task::JoinSet;

use super::apply::{ApplyMode, ApplyOutcome, apply_rows};
use super::claim::{ClaimReason, RuleClaim, RunCounts, RunEnd, claim_lost_error, claim_now, claim_rule};
use super::{Run, RunOutcome, ScheduledScan, find_by_code};
use crate::RuleContext;
use base::clock::{Millis, to_date_time};
use base::error::{Error, Result, redact_quoted};
use domain::tenant::{self, Tenant};
use model::rule::prepare_rows;
use sources::{DataSource, QueryFailure, QueryFailureKind, QueryRows, SourceQuery};
use store::{Store, transaction};

/// Due rules read at once.
const RULES: u64 = 10;

/// A due rule fails after this time, in milliseconds, if only nodes without its source are running.
const LOST: Millis = 60_000;

/// How long a tenant's turn lasts before others are served. A scan that takes longer is the only one of its turn.
const TURN: Duration = Duration::from_secs(1);

/// Runs due rules, a few of each source at once.
#[derive(Debug, Default)]
pub struct RuleScanner {
    turns: Arc<Mutex<TurnsBySource>>,
    /// Aborts them when dropped.
    running: Mutex<JoinSet<()>>,
}

/// The turns at each source, by its name.
type TurnsBySource = HashMap<String, SourceTurns>;

#[derive(Debug, Default)]
struct SourceTurns {
    /// How many turns of each tenant are under way.
    running: HashMap<TenantId, usize>,
    /// When each tenant's last turn began, counted in turns.
    began: HashMap<TenantId, u64>,
    count: u64,
}

/// A tenant's turn at a source. It ends on drop.
struct SourceTurn {
    turns: Arc<Mutex<TurnsBySource>>,
    source: String,
    tenant: TenantId,
}

impl RuleScanner {
    /// Starts due scans as far as sources have free connections, and does not wait for them. Safe on all nodes at once.
    ///
    /// Tenants take turns at a source, and each has at most its share of the connections. Does nothing while this
    /// node's clock and the database's differ too much. Then other nodes scan, or the rules wait.
    pub async fn start_due_scans(&self, context: &Arc<RuleContext>) -> Result<()> {
        while self.running.lock().try_join_next().is_some() {}
        let free = self.free_sources(context);
        if free.is_empty() || context.shared_clock.is_in_doubt() {
            return Ok(());
        }
        let due = select_due(context.now()).filter(Column::Source.is_in_list(&context.db.read, &free));
        let due = due.select_only().columns([Column::Source, Column::TenantId]).distinct().limit(LIST as u64);
        let due = due.into_tuple::<(String, TenantId)>().all(&context.db.read).await?;
        for (source, tenant) in self.order_by_last_turn(due) {
            let Some(turn) = self.begin_turn(context, source, tenant) else { continue };
            let context = context.clone();
            self.running.lock().spawn(async move {
                let until = Instant::now() + TURN;
                while let Some(ran) = run_turn(&context, &turn, until).await.transpose() {
                    if let Err(error) = ran {
                        tracing::warn!(
                            source = turn.source,
                            cause = error.log_message(),
                            "could not run the due rules of a source"
                        );
                        break;
                    }
                    if Instant::now() >= until {
                        break;
                    }
                }
            });
        }
        Ok(())
    }

    /// The sources with fewer turns under way than connections.
    fn free_sources(&self, context: &RuleContext) -> Vec<String> {
        let turns = self.turns.lock();
        let has_room = |source: &&DataSource| {
            turns.get(source.name()).is_none_or(|of| of.running.values().sum::<usize>() < source.max_connections())
        };
        context.sources.all().filter(has_room).map(|source| source.name().to_owned()).take(LIST).collect()
    }

    /// The tenants with the oldest last turn come first.
    fn order_by_last_turn(&self, mut due: Vec<(String, TenantId)>) -> Vec<(String, TenantId)> {
        let turns = self.turns.lock();
        due.sort_by_key(|(source, tenant)| turns.get(source).and_then(|of| of.began.get(tenant)).copied());
        due
    }

    /// `None` if the source has no free connection, or if the tenant has its share.
    fn begin_turn(&self, context: &RuleContext, source: String, tenant: TenantId) -> Option<SourceTurn> {
        let of = context.sources.all().find(|of| of.name() == source)?;
        let mut turns = self.turns.lock();
        let taken = turns.entry(source.clone()).or_default();
        let all: usize = taken.running.values().sum();
        let own = taken.running.entry(tenant).or_default();
        if all >= of.max_connections() || *own >= of.tenant_share() {
            return None;
        }
        *own += 1;
        taken.count += 1;
        taken.began.insert(tenant, taken.count);
        Some(SourceTurn { turns: self.turns.clone(), source, tenant })
    }
}

impl Drop for SourceTurn {
    fn drop(&mut self) {
        if let Some(taken) = self.turns.lock().get_mut(&self.source)
            && let Some(own) = taken.running.get_mut(&self.tenant)
        {
            *own -= 1;
        }
    }
}

/// Selects rules that are due: a range of `rule_due_at`.
fn select_due(now: Millis) -> Select<RuleTable> {
    let due = RuleTable::find().filter(Column::DueAt.lte(now)).filter(Column::State.eq(RuleStatus::Active));
    due.filter(Column::LeaseUntil.lte(now))
}

/// Runs a tenant's due rules of a source, one after the other until the turn is over. `None` if nothing was run.
async fn run_turn(context: &RuleContext, turn: &SourceTurn, until: Instant) -> Result<Option<()>> {
    let some =
        select_due(context.now()).filter(Column::Source.eq(&turn.source)).filter(Column::TenantId.eq(turn.tenant));
    let some = some.order_by_asc(Column::DueAt).limit(RULES);
    let mut has_run = None;
    for of in some.all(&context.db.read).await? {
        if has_run.is_some() && Instant::now() >= until {
            break;
        }
        let tenant = tenant::get_by_id(context, of.tenant_id).await?;
        match run_due(context, &tenant, of.id).await {
            Ok(Some(_)) => has_run = Some(()),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(
                    tenant = tenant.code,
                    rule = of.code,
                    cause = error.log_message(),
                    "could not run a rule"
                );
            }
        }
    }
    Ok(has_run)
}

/// Makes the rules that scan a source due, because it had news at `heard_at`. Failing rules keep their back-off. Rules
/// with a complete run that began later have seen the news.
pub async fn mark_source_due(store: &Store, source: &str, heard_at: Millis) -> Result<()> {
    let now = store.now();
    let waits = Column::DueAt.gt(now).or(Column::LeaseUntil.gt(now));
    let waits = waits.and(Column::CompleteAt.is_null().or(Column::CompleteAt.lte(heard_at)));
    let soon = RuleTable::update_many().col_expr(Column::DueAt, Expr::val(heard_at)).filter(Column::Source.eq(source));
    let soon = soon.filter(Column::State.eq(RuleStatus::Active)).filter(Column::Failures.eq(0)).filter(waits);
    transaction!(store.db, |txn| {
        soon.clone().exec(txn).await?;
        Ok(())
    })
}

/// Fails rules that have been due for a minute while this server does not have their source. It may have been removed
/// from the settings, and the rules' owners need to know.
pub async fn fail_without_source(context: &RuleContext) -> Result<()> {
    let known: Vec<&str> = context.sources.all().map(DataSource::name).take(LIST).collect();
    let mut lost = select_due(context.now()).filter(Column::DueAt.lte(context.now() - LOST)).limit(RULES);
    if !known.is_empty() {
        lost = lost.filter(Column::Source.is_in_list(&context.db.read, &known).not());
    }
    for of in lost.all(&context.db.read).await? {
        let tenant = tenant::get_by_id(context, of.tenant_id).await?;
        run_due(context, &tenant, of.id).await?;
    }
    Ok(())
}

/// Runs a scanning rule outside its schedule. `CONFLICT` if it is paused, is reported instead of scanned, or was
/// changed meanwhile; `UNAVAILABLE` while another run is under way.
pub async fn run_now(context: &RuleContext, tenant: &Arc<Tenant>, code: &str) -> Result<Run> {
    let rule = find_by_code(context, tenant, code).await?;
    if rule.definition.scan.is_none() {
        return Err(Error::Conflict(format!(
            "the rule {code:?} does not scan: its rows are reported with reportRuleRows"
        )));
    }
    let taken = claim_now(context, &rule, longest_scan(context)).await?;
    run_claimed(context, tenant, taken).await?.ok_or_else(claim_lost_error)
}

/// Runs a rule if it is still due and no other node runs it.
async fn run_due(context: &RuleContext, tenant: &Arc<Tenant>, id: i64) -> Result<Option<Run>> {
    match claim_rule(context, id, ClaimReason::Due, longest_scan(context)).await? {
        Some(taken) => run_claimed(context, tenant, taken).await,
        None => Ok(None),
    }
}

/// Runs a rule. `None` if the rule was changed meanwhile.
async fn run_claimed(context: &RuleContext, tenant: &Arc<Tenant>, taken: RuleClaim) -> Result<Option<Run>> {
    let Some(scan) = &taken.rule.definition.scan else { return Ok(None) };
    let ended = match run_query(context, tenant, scan, &taken).await {
        Ok(found) => apply_scan(context, tenant, &taken, found).await?,
        Err(end) => Some((RunCounts::default(), end)),
    };
    match ended {
        Some((figures, end)) => taken.finish(context, tenant, figures, end).await,
        None => Ok(None),
    }
}

/// The longest time of a scan. It waits for a connection as long as it may run.
fn longest_scan(context: &RuleContext) -> Duration {
    2 * context.sources.all().map(DataSource::timeout).max().unwrap_or_default()
}

/// The source of a scan. `NOT_FOUND` if the server has none of this name for the tenant.
pub(super) fn find_source<'a>(
    context: &'a RuleContext,
    tenant: &Tenant,
    scan: &ScheduledScan,
) -> Result<&'a DataSource> {
    let found = context.sources.find_for_tenant(&tenant.code, &scan.source);
    found.ok_or_else(|| Error::not_found_at("scan.source", "source", &scan.source))
}

/// The query of a scan.
pub(super) fn scan_query<'a>(
    source: &DataSource,
    tenant: &'a Tenant,
    scan: &'a ScheduledScan,
    now: Millis,
    since: Option<Millis>,
) -> SourceQuery<'a> {
    let asked = scan.timeout.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
    SourceQuery {
        tenant: &tenant.code,
        sql: &scan.sql,
        now: to_date_time(now),
        since: since.map(to_date_time),
        timeout: asked.map_or(source.timeout(), |asked| asked.min(source.timeout())),
        limit: source.max_rows(),
    }
}

/// The complete result of a scan, or the outcome of a run without one.
async fn run_query(
    context: &RuleContext,
    tenant: &Tenant,
    scan: &ScheduledScan,
    claim: &RuleClaim,
) -> Result<QueryRows, RunEnd> {
    let failed = |error: Error| RunEnd { error: Some(error.log_message()), ..RunEnd::from_outcome(RunOutcome::Failed) };
    let source = find_source(context, tenant, scan).map_err(failed)?;
    let found = source.scan(scan_query(source, tenant, scan, claim.started_at, claim.rule.of.complete_at)).await;
    let found = found.map_err(|failure| failure_end(&failure))?;
    if found.is_truncated {
        return Err(RunEnd { error: Some(truncated_error(source)), ..RunEnd::from_outcome(RunOutcome::Truncated) });
    }
    Ok(found)
}

/// The error for a result that was cut off.
pub(super) fn truncated_error(source: &DataSource) -> String {
    format!("the result has more than {} rows, or is too large", source.max_rows())
}

fn failure_end(failure: &QueryFailure) -> RunEnd {
    let outcome = if failure.kind == QueryFailureKind::TimedOut { RunOutcome::TimedOut } else { RunOutcome::Failed };
    RunEnd { error: Some(failure.to_string()), ..RunEnd::from_outcome(outcome) }
}

/// Applies a complete result. `None` if the run lost its claim.
async fn apply_scan(
    store: &Store,
    tenant: &Arc<Tenant>,
    claim: &RuleClaim,
    found: QueryRows,
) -> Result<Option<(RunCounts, RunEnd)>> {
    let many = found.rows.len();
    let part = ApplyMode { is_complete: true, report_no: None, remembers: claim.rule.of.is_baseline_due };
    let applied =
        async { apply_rows(store, tenant, claim, &prepare_rows(found.rows, &claim.rule.definition.key)?, part).await };
    match applied.await {
        Ok(ApplyOutcome::Done(figures)) => Ok(Some((figures, RunEnd::from_outcome(RunOutcome::Complete)))),
        Ok(ApplyOutcome::Flooded(new)) => {
            Ok(Some((RunCounts::with_found(many), RunEnd::too_many_new(&claim.rule, new))))
        }
        Ok(ApplyOutcome::Lost) => Ok(None),
        // Rows that cannot be sent: the author of the query needs to know.
        Err(error @ (Error::BadInput { .. } | Error::NotFound { .. } | Error::Conflict(_))) => {
            let error = redact_quoted(&error.log_message(), &['"']);
            Ok(Some((
                RunCounts::with_found(many),
                RunEnd { error: Some(error), ..RunEnd::from_outcome(RunOutcome::Failed) },
            )))
        }
        Err(error) => Err(error),
    }
}
