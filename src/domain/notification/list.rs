//! What was sent, for those who sent it.

use std::collections::BTreeSet;
use std::ops::Range;

use entity::ids::{TypeId, UserId};

use super::{Kind, Notification, Status, read, select};
use crate::app::App;
use crate::domain::channel::Target;
use crate::domain::tenant::Tenant;
use crate::domain::user;
use crate::domain::{catalogue, check};
use crate::error::{Error, Result};
use crate::sql::Sql;

/// Notifications that a page passes over at the most, where it is not of all.
const PASSED_OVER: i64 = 10_000;

/// A part of what was sent.
#[derive(Debug)]
pub struct Page {
    /// Newest first.
    pub notifications: Vec<Notification>,
    /// The number of the notification beyond which the list goes on, where it does.
    pub goes_on_at: Option<i64>,
}

/// Which notifications; what is left out does not count.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Codes of types.
    pub types: Option<Vec<String>>,
    pub kinds: Option<Vec<Kind>>,
    pub statuses: Option<Vec<Status>>,
    /// The partner's id of a user.
    pub sender: Option<String>,
    pub target: Option<Target>,
}

impl Filter {
    /// Whether others need not be passed over: it lets everything pass, or an index has what it is about.
    fn is_carried(&self) -> bool {
        let Self { types, kinds, statuses, sender, target } = self;
        let is_apart = target.is_some() || statuses.as_deref() == Some(&[Status::Scheduled]);
        is_apart || (types.is_none() && kinds.is_none() && statuses.is_none() && sender.is_none())
    }
}

/// At most `many` notifications older than the one with the number `before`, newest first: a walk of the key from its
/// end, or of the target's index, until the page is full. Where others are passed over, it ends after 10,000 of all.
pub async fn page(app: &App, tenant: &Tenant, filter: &Filter, many: usize, before: Option<i64>) -> Result<Page> {
    let catalogue = catalogue::current(app, tenant).await?;
    let mut sql = select(&app.db.read, tenant);
    if filter.types.is_some() {
        let types = catalogue.chosen("filter.types", filter.types.as_deref())?;
        let ids: Vec<TypeId> = types.iter().map(|kind| kind.id).collect();
        sql.push(" AND n.type_id").among(&ids);
    }
    if let Some(kinds) = &filter.kinds {
        let kinds: BTreeSet<i64> = kinds.iter().map(|kind| i64::from(*kind as i16)).collect();
        sql.push(" AND n.kind").among(&Vec::from_iter(kinds));
    }
    if let Some(statuses) = &filter.statuses {
        push_statuses(&mut sql, statuses, app.now());
        if statuses.as_slice() == [Status::Scheduled] {
            // Few, and kept apart.
            sql.push(" AND n.id IN (SELECT s.notification_id FROM schedule s WHERE s.tenant_id = ");
            sql.bind(tenant.id).push(")");
        }
    }
    if let Some(sender) = &filter.sender {
        check::code("filter.sender", sender)?;
        // Somebody of whom the tenant never heard has sent nothing.
        let known = user::find(app, tenant, std::slice::from_ref(sender)).await?;
        let sender: Vec<i64> = known.values().map(|id| id.0).collect();
        sql.push(" AND n.sender_id").among(&sender);
    }
    if let Some(target) = &filter.target {
        target.check().map_err(|error| error.within("filter"))?;
        sql.push(" AND n.target_type = ").bind(target.target_type.clone());
        sql.push(" AND n.target_id = ").bind(target.id.clone());
    }
    if let Some(before) = before {
        sql.push(" AND n.id < ").bind(before);
    }
    let walked_to = if filter.is_carried() { None } else { walked_to(app, tenant, before).await? };
    if let Some(oldest) = walked_to {
        sql.push(" AND n.id >= ").bind(oldest);
    }
    sql.push(" ORDER BY n.id DESC LIMIT ").bind(i64::try_from(many).unwrap_or(i64::MAX - 1) + 1);
    let rows = sql.all(&app.db.read).await?;
    let is_full = rows.len() > many;
    let rows = rows.iter().take(many).map(|row| read(row, &catalogue));
    let notifications = rows.collect::<Result<Vec<Notification>>>()?;
    let last = notifications.last().map(|of| of.id);
    Ok(Page { notifications, goes_on_at: if is_full { last } else { walked_to } })
}

/// The last of those that a page passes over at the most: a walk of the key.
async fn walked_to(app: &App, tenant: &Tenant, before: Option<i64>) -> Result<Option<i64>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT n.id FROM notification n WHERE n.tenant_id = ").bind(tenant.id);
    if let Some(before) = before {
        sql.push(" AND n.id < ").bind(before);
    }
    sql.push(" ORDER BY n.id DESC LIMIT 1 OFFSET ").bind(PASSED_OVER - 1);
    Ok(sql.one(&app.db.read).await?.map(|row| row.try_get("", "id")).transpose()?)
}

/// At most `many` notifications from a user with numbers within a range, newest first: a walk over that range of the key.
pub async fn sent_by(
    app: &App,
    tenant: &Tenant,
    sender: UserId,
    within: Range<i64>,
    many: usize,
) -> Result<Vec<Notification>> {
    let catalogue = catalogue::current(app, tenant).await?;
    let mut sql = select(&app.db.read, tenant);
    sql.push(" AND n.id >= ").bind(within.start).push(" AND n.id < ").bind(within.end);
    sql.push(" AND n.sender_id = ").bind(sender);
    sql.push(" ORDER BY n.id DESC LIMIT ").bind(i64::try_from(many).map_err(Error::internal)?);
    sql.all(&app.db.read).await?.iter().map(|row| read(row, &catalogue)).collect()
}

fn push_statuses(sql: &mut Sql, statuses: &[Status], now: i64) {
    sql.push(" AND (1 = 0");
    let mut statuses = statuses.to_vec();
    statuses.sort_unstable();
    statuses.dedup();
    for status in statuses {
        match status {
            Status::Scheduled => sql.push(" OR (n.seq IS NULL AND n.retracted_at IS NULL)"),
            Status::Retracted => sql.push(" OR n.retracted_at IS NOT NULL"),
            Status::Expired => {
                sql.push(" OR (n.seq IS NOT NULL AND n.retracted_at IS NULL AND n.expires_at <= ").bind(now).push(")")
            }
            Status::Published => {
                sql.push(" OR (n.seq IS NOT NULL AND n.retracted_at IS NULL AND (n.expires_at IS NULL OR n.expires_at");
                sql.push(" > ").bind(now).push("))")
            }
        };
    }
    sql.push(")");
}
