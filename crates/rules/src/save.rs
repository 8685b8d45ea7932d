//! Saves, pauses, resumes and deletes rules.

use std::sync::Arc;

use entity::ids::Seq;
use entity::prelude::*;
use entity::rule::{ActiveModel, Column, Entity as RuleTable, RuleStatus};
use entity::rule_row::{self, Entity as Rows};
use entity::rule_run::{self, Entity as Runs};

use super::scan::find_source;
use super::{FirstRun, RULES, Rule, find_by_code};
use crate::RuleContext;
use base::error::{Error, Result};
use domain::tenant::Tenant;
use domain::{catalogue, notification};
use model::catalogue::unknown_type;
use model::rule::RuleDefinition;
use model::validate;
use store::{Store, Transaction, transaction};

/// Rows per step of a deletion.
const STEP: u64 = 200;

/// Creates a rule or changes the one with this code, and returns it. A new one that scans is due at once. A run under
/// way stops.
///
/// `CONFLICT` if the key columns would change: the open notifications would match no row any more.
pub async fn save(context: &RuleContext, tenant: &Tenant, code: &str, definition: &RuleDefinition) -> Result<Rule> {
    check_definition(context, tenant, code, definition).await?;
    let written = serde_json::to_string(definition).map_err(Error::internal)?;
    let scanned = definition.scan.as_ref().map(|scan| scan.source.clone());
    transaction!(context.db, |txn| {
        let now = context.now();
        let Some(rule) = lock_by_code(txn, tenant, code).await? else {
            let rule = ActiveModel {
                tenant_id: Set(tenant.id),
                code: Set(code.to_owned()),
                definition: Set(written.clone()),
                source: Set(scanned.clone()),
                state: Set(RuleStatus::Active),
                due_at: Set(scanned.as_ref().map(|_| now)),
                is_baseline_due: Set(definition.first_run == FirstRun::Baseline),
                created_at: Set(now),
                updated_at: Set(now),
                ..Default::default()
            };
            RuleTable::insert(rule).exec_without_returning(txn).await?;
            let many = RuleTable::of_tenant(tenant.id).count_rows(txn).await?;
            if usize::try_from(many).unwrap_or(usize::MAX) > RULES {
                return Err(Error::Conflict(format!("a tenant has at most {RULES} rules")));
            }
            return Ok(());
        };
        if rule.definition.key != definition.key {
            let message =
                format!("the key of the rule {code:?} cannot be changed: delete the rule, and create a new one");
            return Err(Error::Conflict(message));
        }
        // A rule that is due or under way runs with the new definition, at once.
        let is_due = rule.of.due_at.is_some_and(|due_at| due_at <= now);
        let due_at = match &definition.scan {
            Some(_) if is_due => Some(now),
            Some(scan) => scan.schedule()?.next_after(now),
            None => None,
        };
        let to = change_statement(&rule).col_expr(Column::Definition, Expr::val(written.clone()));
        let to = to.col_expr(Column::Source, Expr::val(scanned.clone())).col_expr(Column::DueAt, Expr::val(due_at));
        to.col_expr(Column::UpdatedAt, Expr::val(now)).exec(txn).await?;
        Ok(())
    })?;
    find_by_code(context, tenant, code).await
}

/// Refuses an invalid rule, or one that names something that does not exist.
pub(super) async fn check_definition(
    context: &RuleContext,
    tenant: &Tenant,
    code: &str,
    definition: &RuleDefinition,
) -> Result<()> {
    validate::identifier("code", code)?;
    definition.check()?;
    if let Some(scan) = &definition.scan {
        find_source(context, tenant, scan)?;
    }
    check_references(context, tenant, definition).await
}

async fn check_references(store: &Store, tenant: &Tenant, definition: &RuleDefinition) -> Result<()> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    let kind = catalogue
        .message_type(&definition.message_type)
        .ok_or_else(|| unknown_type("type", &definition.message_type))?;
    if kind.template.is_none() {
        return Err(Error::bad_input("type", "must have a template, which renders the columns of a row as `params`"));
    }
    match &definition.alarm {
        Some(alarm) => notification::check_alarm(store, tenant, &catalogue, alarm).await,
        None => Ok(()),
    }
}

/// Locks the rule with a code.
async fn lock_by_code(txn: &Transaction, tenant: &Tenant, code: &str) -> Result<Option<Rule>> {
    validate::identifier("code", code)?;
    let found = RuleTable::of_tenant(tenant.id).filter(Column::Code.eq(code)).for_update(txn).one(txn).await?;
    found.map(Rule::from_model).transpose()
}

/// A statement that changes a rule, and stops a run under way.
fn change_statement(rule: &Rule) -> sea_orm::UpdateMany<RuleTable> {
    let to = RuleTable::update_many().col_expr(Column::RunNo, Expr::val(rule.of.run_no + 1));
    to.col_expr(Column::LeaseUntil, Expr::val(0_i64)).filter(Column::Id.eq(rule.of.id))
}

/// Pauses a rule, and stops a run under way.
pub async fn pause(store: &Store, tenant: &Tenant, code: &str) -> Result<Rule> {
    transaction!(store.db, |txn| {
        let rule = lock_by_code(txn, tenant, code).await?.ok_or_else(|| Error::not_found("rule", code))?;
        change_statement(&rule).col_expr(Column::State, Expr::val(RuleStatus::Paused)).exec(txn).await?;
        Ok(())
    })?;
    find_by_code(store, tenant, code).await
}

/// Lets a rule run again, at once if it scans. `as_baseline`: the next complete run records new rows without sending.
pub async fn resume(store: &Store, tenant: &Tenant, code: &str, as_baseline: bool) -> Result<Rule> {
    transaction!(store.db, |txn| {
        let rule = lock_by_code(txn, tenant, code).await?.ok_or_else(|| Error::not_found("rule", code))?;
        let due_at = rule.of.source.as_ref().map(|_| store.now());
        let to = change_statement(&rule).col_expr(Column::State, Expr::val(RuleStatus::Active));
        let to = to.col_expr(Column::DueAt, Expr::val(due_at)).col_expr(Column::Failures, Expr::val(0_i64));
        let is_baseline_due = rule.of.is_baseline_due || as_baseline;
        to.col_expr(Column::IsBaselineDue, Expr::val(is_baseline_due)).exec(txn).await?;
        Ok(())
    })?;
    find_by_code(store, tenant, code).await
}

/// Deletes a rule and returns its row id; `None` if there is none. With `retracts`, retracts its open notifications. If
/// this is interrupted, the rule is paused, and a repeated call deletes the rest.
pub async fn delete(store: &Store, tenant: &Arc<Tenant>, code: &str, retracts: bool) -> Result<Option<i64>> {
    let id = match pause(store, tenant, code).await {
        Err(Error::NotFound { .. }) => return Ok(None),
        paused => paused?.of.id,
    };
    loop {
        let catalogue = catalogue::load_current(store, tenant).await?;
        let (end, is_done) = transaction!(store.db, |txn| {
            let Some(rule) = lock_by_code(txn, tenant, code).await? else { return Ok((Seq::default(), true)) };
            let of = rule_row::Column::RuleId.eq(rule.of.id);
            let some = Rows::find().filter(of.clone()).order_by_asc(rule_row::Column::KeyHash).limit(STEP);
            let some = some.all(txn).await?;
            let mut end = Seq::default();
            for id in some.iter().filter_map(|row| row.notification_id.filter(|_| retracts)) {
                end = end
                    .max(notification::retract_within(txn, store, tenant, &catalogue, id).await?.unwrap_or_default());
            }
            let keys: Vec<&str> = some.iter().map(|row| row.key_hash.as_str()).collect();
            Rows::delete_many().filter(of).filter(rule_row::Column::KeyHash.is_in_list(txn, &keys)).exec(txn).await?;
            let is_done = (some.len() as u64) < STEP;
            if is_done {
                Runs::delete_many().filter(rule_run::Column::RuleId.eq(rule.of.id)).exec(txn).await?;
                RuleTable::delete_by_id(rule.of.id).exec(txn).await?;
            }
            Ok((end, is_done))
        })?;
        tenant.observe_log_end(end);
        if is_done {
            return Ok(Some(id));
        }
    }
}
