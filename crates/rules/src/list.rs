//! A rule's runs, and its open notifications.

use std::collections::HashMap;

use entity::prelude::*;
use entity::rule_row::{Column, Entity as Rows};
use entity::rule_run::{self, Entity as Runs};

use super::claim::RUNS;
use super::{Rule, Run};
use base::error::Result;
use domain::notification::{self, Notification};
use domain::tenant::Tenant;
use model::list_page::{ListEnd, PageRange};
use store::Store;

/// The last runs of a rule, newest first; at most 50.
pub async fn list_runs(store: &Store, rule: &Rule, most: u64) -> Result<Vec<Run>> {
    let runs = Runs::find().filter(rule_run::Column::RuleId.eq(rule.of.id));
    let runs = runs.order_by_desc(rule_run::Column::RunNo).limit(most.min(RUNS));
    Ok(runs.all(&store.db.read).await?)
}

/// How many rows a rule knows that are not gone.
pub async fn count_known_rows(store: &Store, rule: &Rule) -> Result<i64> {
    Ok(Rows::find().filter(Column::RuleId.eq(rule.of.id)).count_rows(&store.db.read).await?)
}

/// A page of the notifications that a rule has sent and not resolved, newest first, and whether the list continues.
pub async fn list_open(
    store: &Store,
    tenant: &Tenant,
    rule: &Rule,
    slice: PageRange<i64>,
) -> Result<(Vec<Notification>, bool)> {
    let mut rows = Rows::find().filter(Column::RuleId.eq(rule.of.id)).filter(Column::NotificationId.is_not_null());
    if let Some(after) = slice.after {
        rows = rows.filter(Column::NotificationId.lt(after));
    }
    if let Some(before) = slice.before {
        rows = rows.filter(Column::NotificationId.gt(before));
    }
    rows = match slice.from {
        ListEnd::First => rows.order_by_desc(Column::NotificationId),
        ListEnd::Last => rows.order_by_asc(Column::NotificationId),
    };
    let ids = rows.limit(slice.many as u64 + 1).select_only().column(Column::NotificationId);
    let (ids, goes_on) = slice.make_page(ids.into_tuple::<i64>().all(&store.db.read).await?);
    let found = notification::load_by_ids(store, tenant, &ids).await?;
    let mut found: HashMap<i64, Notification> = found.into_iter().map(|of| (of.id, of)).collect();
    Ok((ids.iter().filter_map(|id| found.remove(id)).collect(), goes_on))
}
