//! Trial runs: show what a rule would do, without doing it.

use std::collections::{HashMap, HashSet};

use entity::ids::ChannelId;
use entity::prelude::*;
use entity::rule::{Column, Entity as RuleTable};
use entity::user::Entity as Users;

use super::apply::{check_rows, load_known, row_input};
use super::save::check_definition;
use super::scan::{find_source, scan_query, truncated_error};
use super::{ColumnValues, FirstRun, Rule, RuleDefinition, ScheduledScan, queries};
use crate::RuleContext;
use base::clock::Millis;
use base::error::{Error, Result};
use domain::audit;
use domain::catalogue::{self, MessageType};
use domain::channel::{self, ActionTarget};
use domain::notification::Addressees;
use domain::tenant::Tenant;
use model::reader::ReaderLocale;
use model::rule::{ResultRow, RowDiff, diff_rows, prepare_rows};
use model::template::{self, TargetVariables, TemplateVariables, TextKind};
use model::validate;
use store::{PendingAudit, Store};

/// The most samples.
const SHOWN: usize = 100;

/// The effect that a rule would have now.
#[derive(Clone, Debug, Default)]
pub struct TrialResult {
    pub found: usize,
    pub raised: usize,
    pub amended: usize,
    pub resolved: usize,
    /// New rows would be recorded without sending, because it would be the first complete run.
    pub is_baseline: bool,
    /// More rows would be new than allowed: the rule would pause.
    pub is_flood: bool,
    /// How long the source took, in milliseconds.
    pub millis: Millis,
    /// The source's query plan, as text.
    pub plan: Option<String>,
    /// Why there is no result, or which row cannot be sent.
    pub error: Option<String>,
    /// Samples of new rows, in the order of the result.
    pub samples: Vec<SampleNotification>,
}

/// The notification for a row.
#[derive(Clone, Debug)]
pub struct SampleNotification {
    pub key: ColumnValues,
    pub title: Option<String>,
    pub body: Option<String>,
    pub link: Option<String>,
    /// The template's error on this row.
    pub template_error: Option<String>,
    /// How many users it would address, whether or not they want it.
    pub audience_size: i64,
}

/// Scans as the rule would, shows the first notifications, and changes nothing. The audit log records the caller and
/// the query before the source gets it.
///
/// Input errors are refused as by `save`. Failures of the source are part of the result.
pub async fn run_trial(
    context: &RuleContext,
    tenant: &Tenant,
    (code, definition): (&str, &RuleDefinition),
    first: usize,
    act: Option<PendingAudit>,
) -> Result<TrialResult> {
    validate::at_most("first", first, SHOWN)?;
    check_definition(context, tenant, code, definition).await?;
    let Some(scan) = &definition.scan else {
        return Err(Error::bad_input("scan", "is required: only a rule that scans can be tried"));
    };
    let rule = RuleTable::of_tenant(tenant.id).filter(Column::Code.eq(code)).one(&context.db.read).await?;
    let rule = rule.map(Rule::from_model).transpose()?;
    let source = find_source(context, tenant, scan)?;
    if let Some(act) = act {
        audit::record_act(context, &PendingAudit { detail: Some(audit_text(scan)), ..act }).await?;
    }
    let now = context.now();
    let since = rule.as_ref().and_then(|rule| rule.of.complete_at);
    let asked = scan_query(source, tenant, scan, now, since);
    let began = std::time::Instant::now();
    let found = source.scan(asked).await;
    let millis = Millis::try_from(began.elapsed().as_millis()).map_err(Error::internal)?;
    let plan = source.plan(asked).await.ok();
    let trial = TrialResult { millis, plan, ..TrialResult::default() };
    let found = match found {
        Ok(found) if found.is_truncated => {
            return Ok(TrialResult { found: found.rows.len(), error: Some(truncated_error(source)), ..trial });
        }
        Ok(found) => found,
        Err(failure) => return Ok(TrialResult { error: Some(failure.to_string()), ..trial }),
    };
    let many = found.rows.len();
    let rows = match prepare_rows(found.rows, &definition.key) {
        Ok(rows) => rows,
        Err(error) => return Ok(TrialResult { found: many, error: Some(error.log_message()), ..trial }),
    };
    let all = compare_rows(context, rule.as_ref(), definition, &rows, now).await?;
    let is_baseline = rule.as_ref().map_or(definition.first_run == FirstRun::Baseline, |rule| rule.of.is_baseline_due);
    let error = match check_rows(context, tenant, (code, definition), &rows, &all.new).await {
        Err(error @ Error::Internal(_)) => return Err(error),
        checked => checked.err().map(|error| error.log_message()),
    };
    let samples = match error {
        None => {
            render_samples(context, tenant, (code, definition), all.new.iter().take(first).map(|place| &rows[*place]))
                .await?
        }
        Some(_) => Vec::new(),
    };
    Ok(TrialResult {
        found: many,
        raised: if is_baseline { 0 } else { all.new.len() + all.repeated.len() },
        amended: all.changed.len(),
        resolved: all.gone.len(),
        is_baseline,
        is_flood: !is_baseline && all.new.len() > definition.max_new,
        error,
        samples,
        ..trial
    })
}

/// The source and the beginning of the query, for the audit log.
fn audit_text(scan: &ScheduledScan) -> String {
    const CHARACTERS: usize = 1_000;
    let text = format!("{}: {}", scan.source, scan.sql);
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).take(CHARACTERS).collect()
}

async fn compare_rows(
    store: &Store,
    rule: Option<&Rule>,
    definition: &RuleDefinition,
    rows: &[ResultRow],
    now: Millis,
) -> Result<RowDiff> {
    let known = match rule {
        Some(rule) => load_known(store, rule.of.id).await?,
        None => HashMap::new(),
    };
    let complete_no = rule.map_or(0, |rule| rule.of.complete_no) + 1;
    Ok(diff_rows(&known, rows, definition.diff_options(Some(complete_no), now)))
}

async fn render_samples(
    store: &Store,
    tenant: &Tenant,
    (code, definition): (&str, &RuleDefinition),
    rows: impl Iterator<Item = &ResultRow> + Send,
) -> Result<Vec<SampleNotification>> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    let kind = catalogue.message_type(&definition.message_type);
    let kind = kind.ok_or_else(|| Error::internal("the message type is missing"))?;
    let mut samples = Vec::new();
    for row in rows {
        let addressees = row_input(code, definition, row)?.addressees;
        let said = render_texts(kind, row, &addressees);
        let (texts, template_error) = match said {
            Ok(texts) => (texts, None),
            Err(why) => (<[Option<String>; 3]>::default(), Some(why)),
        };
        let [title, body, link] = texts;
        let audience_size = count_audience(store, tenant, &addressees).await?;
        samples.push(SampleNotification {
            key: row.key_values(&definition.key),
            title,
            body,
            link,
            template_error,
            audience_size,
        });
    }
    Ok(samples)
}

fn render_texts(kind: &MessageType, row: &ResultRow, addressees: &Addressees) -> Result<[Option<String>; 3], String> {
    let Some(template) = &kind.template else { return Ok([Some(kind.title.clone()), None, None]) };
    let params = serde_json::Value::Object(row.columns.clone());
    let (target, action) = match addressees {
        Addressees::Subscribers { target_type, target_id, action } => {
            (Some(TargetVariables { r#type: target_type, id: target_id }), Some(action.as_str()))
        }
        _ => (None, None),
    };
    let scene = TemplateVariables {
        params: &params,
        data: &serde_json::Value::Null,
        sender: serde_json::Value::Null,
        target,
        action,
        shown: None,
        reader: ReaderLocale::UNKNOWN,
    };
    let text = |text| template::render_template(template, text, &scene);
    Ok([text(TextKind::Title)?, text(TextKind::Body)?, text(TextKind::Link)?])
}

async fn count_audience(store: &Store, tenant: &Tenant, addressees: &Addressees) -> Result<i64> {
    let db = &store.db.read;
    match addressees {
        Addressees::Everyone => Ok(Users::of_tenant(tenant.id).count_rows(db).await?),
        Addressees::Users(ids) => i64::try_from(ids.iter().collect::<HashSet<_>>().len()).map_err(Error::internal),
        Addressees::Receiver(_) => Ok(1),
        Addressees::Groups(codes) => {
            let groups = channel::find_groups(db, tenant, codes).await?;
            let channels: Vec<ChannelId> = groups.values().map(|group| group.channel).collect();
            queries::count_listeners(db, &channels).await
        }
        Addressees::Subscribers { target_type, target_id, action } => {
            let target = ActionTarget { target_type: target_type.clone(), id: target_id.clone() };
            let audiences = channel::find_audiences(db, tenant, &[target.channel(action)]).await?;
            let channels: Vec<ChannelId> =
                audiences.into_values().flat_map(|of| of.groups.into_iter().chain([of.channel])).collect();
            queries::count_listeners(db, &channels).await
        }
    }
}
