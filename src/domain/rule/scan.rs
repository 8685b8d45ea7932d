//! Scans: rows that the server reads on a schedule, when a source has news, or on request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use entity::ids::TenantId;
use entity::prelude::*;
use entity::rule::{Column, Entity as Rules, State};
use parking_lot::Mutex;
use sea_orm::Select;
use sea_orm::sea_query::ExprTrait;
use tokio::task::JoinSet;

use super::apply::{Applied, Part, apply};
use super::claim::{Claim, End, Figures, When, claim, claim_now, lost};
use super::{Outcome, Run, Scan, find};
use crate::app::App;
use crate::clock::{Millis, calendar};
use crate::database::transaction;
use crate::domain::tenant::{self, Tenant};
use crate::error::{Error, Result, without_quoted};
use crate::model::rule::rows;
use crate::source::{Failure, FailureKind, Found, Query, Source};

/// Due rules read at once.
const RULES: u64 = 10;

/// A due rule fails after this time, in milliseconds, if only nodes without its source are running.
const LOST: Millis = 60_000;

/// How long a tenant's turn lasts before others are served. A scan that takes longer is the only one of its turn.
const TURN: Duration = Duration::from_secs(1);

/// Runs due rules, a few of each source at once.
#[derive(Debug, Default)]
pub struct Scanner {
    turns: Arc<Mutex<Turns>>,
    /// Aborts them when dropped.
    running: Mutex<JoinSet<()>>,
}

/// The turns at each source, by its name.
type Turns = HashMap<String, SourceTurns>;

#[derive(Debug, Default)]
struct SourceTurns {
    /// How many turns of each tenant are under way.
    running: HashMap<TenantId, usize>,
    /// When each tenant's last turn began, counted in turns.
    began: HashMap<TenantId, u64>,
    count: u64,
}

/// A tenant's turn at a source. It ends on drop.
struct Turn {
    turns: Arc<Mutex<Turns>>,
    source: String,
    tenant: TenantId,
}

impl Scanner {
    /// Starts due scans as far as sources have free connections, and does not wait for them. Safe on all nodes at once.
    ///
    /// Tenants take turns at a source, and each has at most its share of the connections. Does nothing while this
    /// node's clock and the database's differ too much. Then other nodes scan, or the rules wait.
    pub async fn look(&self, app: &Arc<App>) -> Result<()> {
        while self.running.lock().try_join_next().is_some() {}
        let free = self.free(app);
        if free.is_empty() || app.agreed.is_in_doubt() {
            return Ok(());
        }
        let due = due(app.now()).filter(Column::Source.among(&app.db.read, &free));
        let due = due.select_only().columns([Column::Source, Column::TenantId]).distinct().limit(LIST as u64);
        let due = due.into_tuple::<(String, TenantId)>().all(&app.db.read).await?;
        for (source, tenant) in self.ordered(due) {
            let Some(turn) = self.begin(app, source, tenant) else { continue };
            let app = app.clone();
            self.running.lock().spawn(async move {
                let until = Instant::now() + TURN;
                while let Some(ran) = some_of(&app, &turn, until).await.transpose() {
                    if let Err(error) = ran {
                        tracing::warn!(
                            source = turn.source,
                            cause = error.told(),
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
    fn free(&self, app: &App) -> Vec<String> {
        let turns = self.turns.lock();
        let has_room = |source: &&Source| {
            turns.get(source.name()).is_none_or(|of| of.running.values().sum::<usize>() < source.connections())
        };
        app.sources.all().filter(has_room).map(|source| source.name().to_owned()).take(LIST).collect()
    }

    /// The tenants with the oldest last turn come first.
    fn ordered(&self, mut due: Vec<(String, TenantId)>) -> Vec<(String, TenantId)> {
        let turns = self.turns.lock();
        due.sort_by_key(|(source, tenant)| turns.get(source).and_then(|of| of.began.get(tenant)).copied());
        due
    }

    /// `None` if the source has no free connection, or if the tenant has its share.
    fn begin(&self, app: &App, source: String, tenant: TenantId) -> Option<Turn> {
        let of = app.sources.all().find(|of| of.name() == source)?;
        let mut turns = self.turns.lock();
        let taken = turns.entry(source.clone()).or_default();
        let all: usize = taken.running.values().sum();
        let own = taken.running.entry(tenant).or_default();
        if all >= of.connections() || *own >= of.share() {
            return None;
        }
        *own += 1;
        taken.count += 1;
        taken.began.insert(tenant, taken.count);
        Some(Turn { turns: self.turns.clone(), source, tenant })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(taken) = self.turns.lock().get_mut(&self.source)
            && let Some(own) = taken.running.get_mut(&self.tenant)
        {
            *own -= 1;
        }
    }
}

/// Selects rules that are due: a range of `rule_due_at`.
fn due(now: Millis) -> Select<Rules> {
    let due = Rules::find().filter(Column::DueAt.lte(now)).filter(Column::State.eq(State::Active));
    due.filter(Column::LeaseUntil.lte(now))
}

/// Runs a tenant's due rules of a source, one after the other until the turn is over. `None` if nothing was run.
async fn some_of(app: &App, turn: &Turn, until: Instant) -> Result<Option<()>> {
    let some = due(app.now()).filter(Column::Source.eq(&turn.source)).filter(Column::TenantId.eq(turn.tenant));
    let some = some.order_by_asc(Column::DueAt).limit(RULES);
    let mut has_run = None;
    for of in some.all(&app.db.read).await? {
        if has_run.is_some() && Instant::now() >= until {
            break;
        }
        let tenant = tenant::by_id(app, of.tenant_id).await?;
        match run_due(app, &tenant, of.id).await {
            Ok(Some(_)) => has_run = Some(()),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(tenant = tenant.code, rule = of.code, cause = error.told(), "could not run a rule");
            }
        }
    }
    Ok(has_run)
}

/// Makes the rules that scan a source due, because it had news at `heard_at`. Failing rules keep their back-off. Rules
/// with a complete run that began later have seen the news.
pub async fn has_news(app: &App, source: &str, heard_at: Millis) -> Result<()> {
    let now = app.now();
    let waits = Column::DueAt.gt(now).or(Column::LeaseUntil.gt(now));
    let waits = waits.and(Column::CompleteAt.is_null().or(Column::CompleteAt.lte(heard_at)));
    let soon = Rules::update_many().col_expr(Column::DueAt, Expr::val(heard_at)).filter(Column::Source.eq(source));
    let soon = soon.filter(Column::State.eq(State::Active)).filter(Column::Failures.eq(0)).filter(waits);
    transaction!(app.db, |txn| {
        soon.clone().exec(txn).await?;
        Ok(())
    })
}

/// Fails rules that have been due for a minute while this server does not have their source. It may have been removed
/// from the settings, and the rules' owners need to know.
pub async fn fail_the_sourceless(app: &App) -> Result<()> {
    let known: Vec<&str> = app.sources.all().map(Source::name).take(LIST).collect();
    let mut lost = due(app.now()).filter(Column::DueAt.lte(app.now() - LOST)).limit(RULES);
    if !known.is_empty() {
        lost = lost.filter(Column::Source.among(&app.db.read, &known).not());
    }
    for of in lost.all(&app.db.read).await? {
        let tenant = tenant::by_id(app, of.tenant_id).await?;
        run_due(app, &tenant, of.id).await?;
    }
    Ok(())
}

/// Runs a scanning rule outside its schedule. `CONFLICT` if it is paused, is reported instead of scanned, or was
/// changed meanwhile; `UNAVAILABLE` while another run is under way.
pub async fn run_now(app: &App, tenant: &Arc<Tenant>, code: &str) -> Result<Run> {
    let rule = find(app, tenant, code).await?;
    if rule.definition.scan.is_none() {
        return Err(Error::Conflict(format!(
            "the rule {code:?} does not scan: its rows are reported with reportRuleRows"
        )));
    }
    let taken = claim_now(app, &rule, longest(app)).await?;
    run(app, tenant, taken).await?.ok_or_else(lost)
}

/// Runs a rule if it is still due and no other node runs it.
async fn run_due(app: &App, tenant: &Arc<Tenant>, id: i64) -> Result<Option<Run>> {
    match claim(app, id, When::Due, longest(app)).await? {
        Some(taken) => run(app, tenant, taken).await,
        None => Ok(None),
    }
}

/// Runs a rule. `None` if the rule was changed meanwhile.
async fn run(app: &App, tenant: &Arc<Tenant>, taken: Claim) -> Result<Option<Run>> {
    let Some(scan) = &taken.rule.definition.scan else { return Ok(None) };
    let ended = match scanned(app, tenant, scan, &taken).await {
        Ok(found) => compared(app, tenant, &taken, found).await?,
        Err(end) => Some((Figures::default(), end)),
    };
    match ended {
        Some((figures, end)) => taken.finish(app, tenant, figures, end).await,
        None => Ok(None),
    }
}

/// The longest time of a scan. It waits for a connection as long as it may run.
fn longest(app: &App) -> Duration {
    2 * app.sources.all().map(Source::timeout).max().unwrap_or_default()
}

/// The source of a scan. `NOT_FOUND` if the server has none of this name for the tenant.
pub(super) fn source<'a>(app: &'a App, tenant: &Tenant, scan: &Scan) -> Result<&'a Source> {
    let found = app.sources.of(&tenant.code, &scan.source);
    found.ok_or_else(|| Error::not_found_at("scan.source", "source", &scan.source))
}

/// The query of a scan.
pub(super) fn query<'a>(
    source: &Source,
    tenant: &'a Tenant,
    scan: &'a Scan,
    now: Millis,
    since: Option<Millis>,
) -> Query<'a> {
    let asked = scan.timeout.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis);
    Query {
        tenant: &tenant.code,
        sql: &scan.sql,
        now: calendar(now),
        since: since.map(calendar),
        timeout: asked.map_or(source.timeout(), |asked| asked.min(source.timeout())),
        limit: source.max_rows(),
    }
}

/// The complete result of a scan, or the outcome of a run without one.
async fn scanned(app: &App, tenant: &Tenant, scan: &Scan, claim: &Claim) -> Result<Found, End> {
    let failed = |error: Error| End { error: Some(error.told()), ..End::of(Outcome::Failed) };
    let source = source(app, tenant, scan).map_err(failed)?;
    let found = source.scan(query(source, tenant, scan, claim.started_at, claim.rule.of.complete_at)).await;
    let found = found.map_err(|failure| failure_end(&failure))?;
    if found.is_truncated {
        return Err(End { error: Some(truncated(source)), ..End::of(Outcome::Truncated) });
    }
    Ok(found)
}

/// The error for a result that was cut off.
pub(super) fn truncated(source: &Source) -> String {
    format!("the result has more than {} rows, or is too large", source.max_rows())
}

fn failure_end(failure: &Failure) -> End {
    let outcome = if failure.kind == FailureKind::TimedOut { Outcome::TimedOut } else { Outcome::Failed };
    End { error: Some(failure.to_string()), ..End::of(outcome) }
}

/// Applies a complete result. `None` if the run lost its claim.
async fn compared(app: &App, tenant: &Arc<Tenant>, claim: &Claim, found: Found) -> Result<Option<(Figures, End)>> {
    let many = found.rows.len();
    let part = Part { is_complete: true, report_no: None, remembers: claim.rule.of.is_baseline_due };
    let applied = async { apply(app, tenant, claim, &rows(found.rows, &claim.rule.definition.key)?, part).await };
    match applied.await {
        Ok(Applied::Done(figures)) => Ok(Some((figures, End::of(Outcome::Complete)))),
        Ok(Applied::Flooded(new)) => Ok(Some((Figures::of(many), End::flooded(&claim.rule, new)))),
        Ok(Applied::Lost) => Ok(None),
        // Rows that cannot be sent: the author of the query needs to know.
        Err(error @ (Error::BadInput { .. } | Error::NotFound { .. } | Error::Conflict(_))) => {
            let error = without_quoted(&error.told(), &['"']);
            Ok(Some((Figures::of(many), End { error: Some(error), ..End::of(Outcome::Failed) })))
        }
        Err(error) => Err(error),
    }
}
