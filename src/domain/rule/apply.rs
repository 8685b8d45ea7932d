//! Applies a result, in steps that are each done completely or not at all.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::Seq;
use entity::prelude::*;
use entity::rule_row::{Column, Entity as Rows};

use super::claim::{Claim, Figures};
use super::{Audience, Definition, Resolve};
use crate::app::App;
use crate::database::{Transaction, transaction};
use crate::domain::catalogue;
use crate::domain::notification::{self, Addressees, Content, Input, Raised, Raising};
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::model::rule::{Difference, How, Known, Row, at, difference, text};

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
pub(super) struct Part {
    /// Rows that are not in it are gone.
    pub is_complete: bool,
    /// The number that the rows of a report in chunks get.
    pub report_no: Option<i64>,
    /// New rows are recorded without sending.
    pub remembers: bool,
}

/// The outcome of a result.
#[derive(Debug)]
pub(super) enum Applied {
    Done(Figures),
    /// This many rows are new, more than allowed: nothing was done.
    Flooded(usize),
    /// The rule was changed, or another node has taken it over: the rest was not done.
    Lost,
}

/// Applies a result. Does nothing if a row cannot be sent; the error says which, as `rows[3].warehouse`.
pub(super) async fn apply(
    app: &App,
    tenant: &Arc<Tenant>,
    claim: &Claim,
    found: &[Row],
    part: Part,
) -> Result<Applied> {
    let definition = &claim.rule.definition;
    let rule = claim.rule.of.id;
    let known = if part.is_complete { known_of(app, rule).await? } else { known_among(app, claim, found).await? };
    let all = difference(&known, found, how(claim, part));
    if !part.remembers && all.new.len() > definition.max_new {
        return Ok(Applied::Flooded(all.new.len()));
    }
    if !all.new.is_empty() && many_known(app, claim, part, known.len()).await? + all.new.len() > ROWS {
        return Err(Error::bad_input("rows", format!("must have at most {ROWS} entries, including the known rows")));
    }
    let raised: Vec<usize> = if part.remembers { Vec::new() } else { all.new.clone() };
    let raised: Vec<usize> = raised.into_iter().chain(all.repeated.iter().copied()).collect();
    check(app, tenant, (&claim.rule.of.code, definition), found, &raised).await?;
    let figures = Work { app, tenant, claim, found, known: &known, part }.all(&all).await?;
    Ok(figures.map_or(Applied::Lost, Applied::Done))
}

fn how(claim: &Claim, part: Part) -> How {
    claim.rule.definition.how(part.is_complete.then_some(claim.complete_no()), claim.started_at)
}

/// Resolves the rows that were in no chunk of a report. `None` if the run lost its claim.
pub(super) async fn resolve_unreported(
    app: &App,
    tenant: &Arc<Tenant>,
    claim: &Claim,
    report_no: i64,
) -> Result<Option<Figures>> {
    let mut known = known_of(app, claim.rule.of.id).await?;
    let others = rows_of(claim).filter(Column::ReportNo.eq(report_no)).select_only().column(Column::KeyHash);
    for key in others.into_tuple::<String>().all(&app.db.read).await? {
        known.remove(&key);
    }
    let part = Part { is_complete: true, report_no: None, remembers: false };
    let all = difference(&known, &[], how(claim, part));
    Work { app, tenant, claim, found: &[], known: &known, part }.all(&all).await
}

/// The notification for a row.
pub(super) fn input(code: &str, definition: &Definition, row: &Row) -> Result<Input> {
    let addressees = match &definition.audience {
        Audience::Everyone => Addressees::Everyone,
        Audience::UserColumn(column) => Addressees::Receiver(text(&row.columns, column)?),
        Audience::GroupColumn(column) => Addressees::Groups(vec![text(&row.columns, column)?]),
        Audience::Reminder { target_type, target_id, action } => Addressees::Subscribers {
            target_type: target_type.filled(&row.columns)?,
            target_id: target_id.filled(&row.columns)?,
            action: action.filled(&row.columns)?,
        },
    };
    let raised = Some(Raised { rule: code.to_owned(), key: row.key(&definition.key) });
    Ok(Input { raised, ..Input::new(definition.message_type.clone(), addressees, content(row)) })
}

fn content(row: &Row) -> Content {
    Content { params: Some(serde_json::Value::Object(row.columns.clone())), ..Content::default() }
}

/// Refuses rows that cannot be sent. The error has the row's position.
pub(super) async fn check(
    app: &App,
    tenant: &Tenant,
    (code, definition): (&str, &Definition),
    found: &[Row],
    places: &[usize],
) -> Result<()> {
    for places in places.chunks(LIST) {
        let input = |place: &usize| input(code, definition, &found[*place]).map_err(|error| error.within(&at(*place)));
        let inputs = places.iter().map(input);
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        notification::raisable(app, tenant, &inputs, |place| at(places[place])).await?;
    }
    Ok(())
}

/// How many rows the rule knows. `read` is the number of rows already read.
async fn many_known(app: &App, claim: &Claim, part: Part, read: usize) -> Result<usize> {
    if part.is_complete {
        return Ok(read);
    }
    let many = rows_of(claim).count_rows(&app.db.read).await?;
    usize::try_from(many).map_err(Error::internal)
}

fn rows_of(claim: &Claim) -> sea_orm::Select<Rows> {
    Rows::find().filter(Column::RuleId.eq(claim.rule.of.id))
}

/// All rows that a rule knows.
pub(super) async fn known_of(app: &App, rule: i64) -> Result<HashMap<String, Known>> {
    let (mut known, mut last) = (HashMap::new(), String::new());
    loop {
        let some = Rows::find().filter(Column::RuleId.eq(rule)).filter(Column::KeyHash.gt(&*last));
        let some = some.order_by_asc(Column::KeyHash).limit(PAGE).all(&app.db.read).await?;
        let is_end = (some.len() as u64) < PAGE;
        last = some.last().map_or(last, |row| row.key_hash.clone());
        known.extend(some.into_iter().map(read));
        if is_end {
            return Ok(known);
        }
    }
}

async fn known_among(app: &App, claim: &Claim, found: &[Row]) -> Result<HashMap<String, Known>> {
    let keys: Vec<&str> = found.iter().map(|row| row.key_hash.as_str()).collect();
    let mut known = HashMap::with_capacity(keys.len());
    for keys in keys.chunks(LIST) {
        let some = rows_of(claim).filter(Column::KeyHash.among(&app.db.read, keys));
        known.extend(some.all(&app.db.read).await?.into_iter().map(read));
    }
    Ok(known)
}

fn read(row: entity::rule_row::Model) -> (String, Known) {
    let known = Known {
        content_hash: row.content_hash,
        notification: row.notification_id,
        raised_at: row.raised_at,
        missing_from: row.missing_from,
    };
    (row.key_hash, known)
}

/// The steps of a run. Each returns `None` if the run lost its claim.
struct Work<'a> {
    app: &'a App,
    tenant: &'a Arc<Tenant>,
    claim: &'a Claim,
    found: &'a [Row],
    known: &'a HashMap<String, Known>,
    part: Part,
}

impl Work<'_> {
    async fn all(&self, all: &Difference) -> Result<Option<Figures>> {
        let mut figures = Figures::of(self.found.len());
        for keys in all.gone.chunks(STEP) {
            let Some(resolved) = self.resolve(keys).await? else { return Ok(None) };
            figures.resolved += resolved;
        }
        for keys in all.missing.chunks(STEP) {
            let first = Some(self.claim.complete_no());
            if self.mark(keys, Column::MissingFrom, first.into()).await?.is_none() {
                return Ok(None);
            }
        }
        for keys in all.back.chunks(STEP) {
            if self.mark(keys, Column::MissingFrom, None::<i64>.into()).await?.is_none() {
                return Ok(None);
            }
        }
        for places in all.changed.chunks(STEP) {
            if self.amend(places).await?.is_none() {
                return Ok(None);
            }
            figures.amended += places.len();
        }
        for places in all.new.chunks(STEP).chain(all.repeated.chunks(STEP)) {
            let raised = if self.part.remembers { self.remember(places).await? } else { self.raise(places).await? };
            let Some(raised) = raised else { return Ok(None) };
            figures.raised += raised;
        }
        if let Some(report_no) = self.part.report_no {
            let keys: Vec<String> = self.found.iter().map(|row| row.key_hash.clone()).collect();
            for keys in keys.chunks(LIST) {
                if self.mark(keys, Column::ReportNo, report_no.into()).await?.is_none() {
                    return Ok(None);
                }
            }
        }
        Ok(Some(figures))
    }

    /// Retracts the notifications of rows that are gone, and deletes the rows. Returns how many had a notification.
    async fn resolve(&self, keys: &[String]) -> Result<Option<usize>> {
        let catalogue = catalogue::current(self.app, self.tenant).await?;
        let raised: Vec<i64> = keys.iter().filter_map(|key| self.known.get(key)?.notification).collect();
        let done = transaction!(self.app.db, |txn| {
            if !self.claim.holds(txn, self.app.now()).await? {
                return Ok(None);
            }
            let mut end = Seq::default();
            if self.claim.rule.definition.resolve == Resolve::Retract {
                for id in &raised {
                    let seq = notification::retract_within(txn, self.app, self.tenant, &catalogue, *id).await?;
                    end = end.max(seq.unwrap_or_default());
                }
            }
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let gone = Rows::delete_many().filter(Column::RuleId.eq(self.claim.rule.of.id));
            gone.filter(Column::KeyHash.among(txn, &keys)).exec(txn).await?;
            Ok(Some(end))
        })?;
        Ok(done.map(|end| {
            self.tenant.saw(end);
            raised.len()
        }))
    }

    /// Sets a column of known rows.
    async fn mark(&self, keys: &[String], column: Column, value: Value) -> Result<Option<()>> {
        transaction!(self.app.db, |txn| {
            if !self.claim.holds(txn, self.app.now()).await? {
                return Ok(None);
            }
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let rows = Rows::update_many().col_expr(column, Expr::val(value.clone()));
            let rows = rows.filter(Column::RuleId.eq(self.claim.rule.of.id));
            rows.filter(Column::KeyHash.among(txn, &keys)).exec(txn).await?;
            Ok(Some(()))
        })
    }

    async fn amend(&self, places: &[usize]) -> Result<Option<()>> {
        let catalogue = catalogue::current(self.app, self.tenant).await?;
        let done = transaction!(self.app.db, |txn| {
            if !self.claim.holds(txn, self.app.now()).await? {
                return Ok(None);
            }
            let mut end = Seq::default();
            for place in places {
                let row = &self.found[*place];
                let Some(id) = self.known.get(&row.key_hash).and_then(|known| known.notification) else { continue };
                let content = content(row);
                let seq = notification::reword(txn, self.app, self.tenant, &catalogue, (id, &content)).await?;
                end = end.max(seq.unwrap_or_default());
            }
            self.write(txn, places.iter().map(|place| (*place, None))).await?;
            Ok(Some(end))
        })?;
        Ok(done.map(|end| self.tenant.saw(end)))
    }

    /// Sends notifications for rows, and retracts those sent for them before.
    async fn raise(&self, places: &[usize]) -> Result<Option<usize>> {
        let rule = &self.claim.rule;
        let inputs = places.iter().map(|place| input(&rule.of.code, &rule.definition, &self.found[*place]));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        for _ in 0..TRIES {
            let catalogue = catalogue::current(self.app, self.tenant).await?;
            let raising = notification::raising(self.app, self.tenant, &inputs).await?;
            let done = transaction!(self.app.db, |txn| {
                if !self.claim.holds(txn, self.app.now()).await? {
                    return Ok(None);
                }
                self.send(txn, places, &catalogue, &raising).await.map(Some)
            })?;
            match done {
                None => return Ok(None),
                Some(Ok(raised)) => {
                    notification::has_raised(self.app, self.tenant, &raised);
                    return Ok(Some(raised.len()));
                }
                Some(Err(notification::Outdated)) => {}
            }
        }
        Err(Error::Unavailable("the catalogue changes too quickly, try again in a moment".into()))
    }

    async fn send(
        &self,
        txn: &Transaction,
        places: &[usize],
        catalogue: &catalogue::Catalogue,
        raising: &Raising,
    ) -> Result<Result<Vec<notification::Notification>, notification::Outdated>> {
        let raised = match notification::raise(txn, self.app, self.tenant, raising).await? {
            Ok(raised) => raised,
            outdated => return Ok(outdated),
        };
        for place in places {
            if let Some(before) = self.known.get(&self.found[*place].key_hash).and_then(|known| known.notification) {
                notification::retract_within(txn, self.app, self.tenant, catalogue, before).await?;
            }
        }
        self.write(txn, places.iter().zip(&raised).map(|(place, of)| (*place, Some(of.id)))).await?;
        Ok(Ok(raised))
    }

    /// Records rows without sending.
    async fn remember(&self, places: &[usize]) -> Result<Option<usize>> {
        transaction!(self.app.db, |txn| {
            if !self.claim.holds(txn, self.app.now()).await? {
                return Ok(None);
            }
            self.write(txn, places.iter().map(|place| (*place, None))).await?;
            Ok(Some(0))
        })
    }

    /// Writes rows as found, with the notification sent now or the one from before.
    async fn write(&self, txn: &Transaction, rows: impl Iterator<Item = (usize, Option<i64>)>) -> Result<()> {
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
        let existing = Existing::Merged { key: &columns[..2], raised: &[], replaced: &columns[2..] };
        insert(txn, columns, rows.collect(), existing).await?;
        Ok(())
    }
}
