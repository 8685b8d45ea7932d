//! Applies a result, in steps that are each done completely or not at all.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::Seq;
use entity::prelude::*;
use entity::rule_row::{Column, Entity as Rows};

use super::claim::{RuleClaim, RunCounts};
use super::{ResolvePolicy, RowAudience, RuleDefinition};
use base::error::{Error, Result};
use domain::catalogue;
use domain::notification::{self, Addressees, NotificationContent, NotificationInput, PreparedSend, RuleOrigin};
use domain::tenant::Tenant;
use model::rule::{DiffOptions, ResultRow, RowDiff, StoredRow, diff_rows, id_text, row_name};
use store::{Store, Transaction, transaction};

/// Rows per step.
const STEP: usize = 200;

/// Known rows read at once.
const PAGE: u64 = 1000;

/// How often a step is retried because the catalogue changed meanwhile.
const TRIES: usize = 5;

/// The most rows that a rule may know.
pub(super) const ROWS: usize = 100_000;

/// How a run applies its rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApplyMode {
    /// Rows that are not in it are gone.
    pub is_complete: bool,
    /// The number that the rows of a report in chunks get.
    pub report_no: Option<i64>,
    /// New rows are recorded without sending.
    pub remembers: bool,
}

/// The outcome of a result.
#[derive(Debug)]
pub(super) enum ApplyOutcome {
    Done(RunCounts),
    /// This many rows are new, more than allowed: nothing was done.
    Flooded(usize),
    /// The rule was changed, or another node has taken it over: the rest was not done.
    Lost,
}

/// Applies a result. Does nothing if a row cannot be sent; the error says which, as `rows[3].warehouse`.
pub(super) async fn apply_rows(
    store: &Store,
    tenant: &Arc<Tenant>,
    claim: &RuleClaim,
    found: &[ResultRow],
    part: ApplyMode,
) -> Result<ApplyOutcome> {
    let definition = &claim.rule.definition;
    let rule = claim.rule.of.id;
    let known =
        if part.is_complete { load_known(store, rule).await? } else { load_known_among(store, claim, found).await? };
    let all = diff_rows(&known, found, difference_mode(claim, part));
    if !part.remembers && all.new.len() > definition.max_new {
        return Ok(ApplyOutcome::Flooded(all.new.len()));
    }
    if !all.new.is_empty() && count_known(store, claim, part, known.len()).await? + all.new.len() > ROWS {
        return Err(Error::bad_input("rows", format!("must have at most {ROWS} entries, including the known rows")));
    }
    let raised: Vec<usize> = if part.remembers { Vec::new() } else { all.new.clone() };
    let raised: Vec<usize> = raised.into_iter().chain(all.repeated.iter().copied()).collect();
    check_rows(store, tenant, (&claim.rule.of.code, definition), found, &raised).await?;
    let figures = RuleApplier { store, tenant, claim, found, known: &known, part }.apply_difference(&all).await?;
    Ok(figures.map_or(ApplyOutcome::Lost, ApplyOutcome::Done))
}

fn difference_mode(claim: &RuleClaim, part: ApplyMode) -> DiffOptions {
    claim.rule.definition.diff_options(part.is_complete.then_some(claim.next_complete_no()), claim.started_at)
}

/// Resolves the rows that were in no chunk of a report. `None` if the run lost its claim.
pub(super) async fn resolve_unreported(
    store: &Store,
    tenant: &Arc<Tenant>,
    claim: &RuleClaim,
    report_no: i64,
) -> Result<Option<RunCounts>> {
    let mut known = load_known(store, claim.rule.of.id).await?;
    let others = select_rows(claim).filter(Column::ReportNo.eq(report_no)).select_only().column(Column::KeyHash);
    for key in others.into_tuple::<String>().all(&store.db.read).await? {
        known.remove(&key);
    }
    let part = ApplyMode { is_complete: true, report_no: None, remembers: false };
    let all = diff_rows(&known, &[], difference_mode(claim, part));
    RuleApplier { store, tenant, claim, found: &[], known: &known, part }.apply_difference(&all).await
}

/// The notification for a row.
pub(super) fn row_input(code: &str, definition: &RuleDefinition, row: &ResultRow) -> Result<NotificationInput> {
    let addressees = match &definition.audience {
        RowAudience::Everyone => Addressees::Everyone,
        RowAudience::UserColumn(column) => Addressees::Receiver(id_text(&row.columns, column)?),
        RowAudience::GroupColumn(column) => Addressees::Groups(vec![id_text(&row.columns, column)?]),
        RowAudience::Reminder { target_type, target_id, action } => Addressees::Subscribers {
            target_type: target_type.fill(&row.columns)?,
            target_id: target_id.fill(&row.columns)?,
            action: action.fill(&row.columns)?,
        },
    };
    let raised = Some(RuleOrigin { rule: code.to_owned(), key: row.key_values(&definition.key) });
    Ok(NotificationInput {
        raised,
        ..NotificationInput::new(definition.message_type.clone(), addressees, row_content(row))
    })
}

fn row_content(row: &ResultRow) -> NotificationContent {
    NotificationContent {
        params: Some(serde_json::Value::Object(row.columns.clone())),
        ..NotificationContent::default()
    }
}

/// Refuses rows that cannot be sent. The error has the row's position.
pub(super) async fn check_rows(
    store: &Store,
    tenant: &Tenant,
    (code, definition): (&str, &RuleDefinition),
    found: &[ResultRow],
    places: &[usize],
) -> Result<()> {
    for places in places.chunks(LIST) {
        let input = |place: &usize| {
            row_input(code, definition, &found[*place]).map_err(|error| error.with_field_prefix(&row_name(*place)))
        };
        let inputs = places.iter().map(input);
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        notification::check_sendable(store, tenant, &inputs, |place| row_name(places[place])).await?;
    }
    Ok(())
}

/// How many rows the rule knows. `read` is the number of rows already read.
async fn count_known(store: &Store, claim: &RuleClaim, part: ApplyMode, read: usize) -> Result<usize> {
    if part.is_complete {
        return Ok(read);
    }
    let many = select_rows(claim).count_rows(&store.db.read).await?;
    usize::try_from(many).map_err(Error::internal)
}

fn select_rows(claim: &RuleClaim) -> sea_orm::Select<Rows> {
    Rows::find().filter(Column::RuleId.eq(claim.rule.of.id))
}

/// All rows that a rule knows.
pub(super) async fn load_known(store: &Store, rule: i64) -> Result<HashMap<String, StoredRow>> {
    let (mut known, mut last) = (HashMap::new(), String::new());
    loop {
        let some = Rows::find().filter(Column::RuleId.eq(rule)).filter(Column::KeyHash.gt(&*last));
        let some = some.order_by_asc(Column::KeyHash).limit(PAGE).all(&store.db.read).await?;
        let is_end = (some.len() as u64) < PAGE;
        last = some.last().map_or(last, |row| row.key_hash.clone());
        known.extend(some.into_iter().map(to_known));
        if is_end {
            return Ok(known);
        }
    }
}

async fn load_known_among(store: &Store, claim: &RuleClaim, found: &[ResultRow]) -> Result<HashMap<String, StoredRow>> {
    let keys: Vec<&str> = found.iter().map(|row| row.key_hash.as_str()).collect();
    let mut known = HashMap::with_capacity(keys.len());
    for keys in keys.chunks(LIST) {
        let some = select_rows(claim).filter(Column::KeyHash.is_in_list(&store.db.read, keys));
        known.extend(some.all(&store.db.read).await?.into_iter().map(to_known));
    }
    Ok(known)
}

fn to_known(row: entity::rule_row::Model) -> (String, StoredRow) {
    let known = StoredRow {
        content_hash: row.content_hash,
        notification: row.notification_id,
        raised_at: row.raised_at,
        missing_from: row.missing_from,
    };
    (row.key_hash, known)
}

/// The steps of a run. Each returns `None` if the run lost its claim.
struct RuleApplier<'a> {
    store: &'a Store,
    tenant: &'a Arc<Tenant>,
    claim: &'a RuleClaim,
    found: &'a [ResultRow],
    known: &'a HashMap<String, StoredRow>,
    part: ApplyMode,
}

impl RuleApplier<'_> {
    async fn apply_difference(&self, all: &RowDiff) -> Result<Option<RunCounts>> {
        let mut figures = RunCounts::with_found(self.found.len());
        for keys in all.gone.chunks(STEP) {
            let Some(resolved) = self.resolve_rows(keys).await? else { return Ok(None) };
            figures.resolved += resolved;
        }
        for keys in all.missing.chunks(STEP) {
            let first = Some(self.claim.next_complete_no());
            if self.set_column(keys, Column::MissingFrom, first.into()).await?.is_none() {
                return Ok(None);
            }
        }
        for keys in all.back.chunks(STEP) {
            if self.set_column(keys, Column::MissingFrom, None::<i64>.into()).await?.is_none() {
                return Ok(None);
            }
        }
        for places in all.changed.chunks(STEP) {
            if self.amend_rows(places).await?.is_none() {
                return Ok(None);
            }
            figures.amended += places.len();
        }
        for places in all.new.chunks(STEP).chain(all.repeated.chunks(STEP)) {
            let raised = if self.part.remembers {
                self.record_without_sending(places).await?
            } else {
                self.raise_rows(places).await?
            };
            let Some(raised) = raised else { return Ok(None) };
            figures.raised += raised;
        }
        if let Some(report_no) = self.part.report_no {
            let keys: Vec<String> = self.found.iter().map(|row| row.key_hash.clone()).collect();
            for keys in keys.chunks(LIST) {
                if self.set_column(keys, Column::ReportNo, report_no.into()).await?.is_none() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(figures))
    }

    /// Retracts the notifications of rows that are gone, and deletes the rows. Returns how many had a notification.
    async fn resolve_rows(&self, keys: &[String]) -> Result<Option<usize>> {
        let catalogue = catalogue::load_current(self.store, self.tenant).await?;
        let raised: Vec<i64> = keys.iter().filter_map(|key| self.known.get(key)?.notification).collect();
        let done = transaction!(self.store.db, |txn| {
            if !self.claim.renew_lease(txn, self.store.now()).await? {
                return Ok(None);
            }
            let mut end = Seq::default();
            if self.claim.rule.definition.resolve == ResolvePolicy::Retract {
                for id in &raised {
                    let seq = notification::retract_within(txn, self.store, self.tenant, &catalogue, *id).await?;
                    end = end.max(seq.unwrap_or_default());
                }
            }
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let gone = Rows::delete_many().filter(Column::RuleId.eq(self.claim.rule.of.id));
            gone.filter(Column::KeyHash.is_in_list(txn, &keys)).exec(txn).await?;
            Ok(Some(end))
        })?;
        Ok(done.map(|end| {
            self.tenant.observe_log_end(end);
            raised.len()
        }))
    }

    /// Sets a column of known rows.
    async fn set_column(&self, keys: &[String], column: Column, value: Value) -> Result<Option<()>> {
        transaction!(self.store.db, |txn| {
            if !self.claim.renew_lease(txn, self.store.now()).await? {
                return Ok(None);
            }
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let rows = Rows::update_many().col_expr(column, Expr::val(value.clone()));
            let rows = rows.filter(Column::RuleId.eq(self.claim.rule.of.id));
            rows.filter(Column::KeyHash.is_in_list(txn, &keys)).exec(txn).await?;
            Ok(Some(()))
        })
    }

    async fn amend_rows(&self, places: &[usize]) -> Result<Option<()>> {
        let catalogue = catalogue::load_current(self.store, self.tenant).await?;
        let done = transaction!(self.store.db, |txn| {
            if !self.claim.renew_lease(txn, self.store.now()).await? {
                return Ok(None);
            }
            let mut end = Seq::default();
            for place in places {
                let row = &self.found[*place];
                let Some(id) = self.known.get(&row.key_hash).and_then(|known| known.notification) else { continue };
                let content = row_content(row);
                let seq = notification::update_params(txn, self.store, self.tenant, &catalogue, (id, &content)).await?;
                end = end.max(seq.unwrap_or_default());
            }
            self.write_rows(txn, places.iter().map(|place| (*place, None))).await?;
            Ok(Some(end))
        })?;
        Ok(done.map(|end| self.tenant.observe_log_end(end)))
    }

    /// Sends notifications for rows, and retracts those sent for them before.
    async fn raise_rows(&self, places: &[usize]) -> Result<Option<usize>> {
        let rule = &self.claim.rule;
        let inputs = places.iter().map(|place| row_input(&rule.of.code, &rule.definition, &self.found[*place]));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        for _ in 0..TRIES {
            let catalogue = catalogue::load_current(self.store, self.tenant).await?;
            let raising = notification::prepare_send(self.store, self.tenant, &inputs).await?;
            let done = transaction!(self.store.db, |txn| {
                if !self.claim.renew_lease(txn, self.store.now()).await? {
                    return Ok(None);
                }
                self.send_and_record(txn, places, &catalogue, &raising).await.map(Some)
            })?;
            match done {
                None => return Ok(None),
                Some(Ok(raised)) => {
                    notification::record_sent(self.store, self.tenant, &raised);
                    return Ok(Some(raised.len()));
                }
                Some(Err(notification::OutdatedCatalogue)) => {}
            }
        }
        Err(Error::Unavailable("the catalogue changes too quickly, try again in a moment".into()))
    }

    async fn send_and_record(
        &self,
        txn: &Transaction,
        places: &[usize],
        catalogue: &catalogue::Catalogue,
        raising: &PreparedSend,
    ) -> Result<Result<Vec<notification::Notification>, notification::OutdatedCatalogue>> {
        let raised = match notification::send_prepared(txn, self.store, self.tenant, raising).await? {
            Ok(raised) => raised,
            outdated => return Ok(outdated),
        };
        for place in places {
            if let Some(before) = self.known.get(&self.found[*place].key_hash).and_then(|known| known.notification) {
                notification::retract_within(txn, self.store, self.tenant, catalogue, before).await?;
            }
        }
        self.write_rows(txn, places.iter().zip(&raised).map(|(place, of)| (*place, Some(of.id)))).await?;
        Ok(Ok(raised))
    }

    /// Records rows without sending.
    async fn record_without_sending(&self, places: &[usize]) -> Result<Option<usize>> {
        transaction!(self.store.db, |txn| {
            if !self.claim.renew_lease(txn, self.store.now()).await? {
                return Ok(None);
            }
            self.write_rows(txn, places.iter().map(|place| (*place, None))).await?;
            Ok(Some(0))
        })
    }

    /// Writes rows as found, with the notification sent now or the one from before.
    async fn write_rows(&self, txn: &Transaction, rows: impl Iterator<Item = (usize, Option<i64>)>) -> Result<()> {
        let rows = rows.map(|(place, raised)| {
            let row = &self.found[place];
            let before = self.known.get(&row.key_hash).filter(|_| raised.is_none());
            let raised_at = before.map_or(self.claim.started_at, |known| known.raised_at);
            [
                self.claim.rule.of.id.into(),
                row.key_hash.clone().into(),
                row.content_hash.into(),
                raised.or(before.and_then(|known| known.notification)).into(),
                raised_at.into(),
                None::<i64>.into(),
                self.part.report_no.unwrap_or_default().into(),
            ]
        });
        let columns = [
            Column::RuleId,
            Column::KeyHash,
            Column::ContentHash,
            Column::NotificationId,
            Column::RaisedAt,
            Column::MissingFrom,
            Column::ReportNo,
        ];
        let existing = ExistingRows::Merged { key: &columns[..2], raised: &[], replaced: &columns[2..] };
        insert(txn, columns, rows.collect(), existing).await?;
        Ok(())
    }
}
