//! What was sent, for those who sent it.

use std::collections::BTreeSet;
use std::ops::Range;

use entity::ids::{TypeId, UserId};
use entity::notification::{Column, Entity as Notifications};
use entity::prelude::*;
use entity::schedule::{self, Entity as Schedule};
use sea_orm::QueryTrait;
use sea_orm::sea_query::{Condition, ExprTrait};

use super::{Kind, Notification, Row, Status, stored};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::catalogue;
use crate::domain::channel::Target;
use crate::domain::tenant::Tenant;
use crate::domain::user;
use crate::error::Result;
use crate::model::check;
use crate::model::slice::{End, Slice};

/// Notifications that a page passes over at the most, where it is not of all.
const PASSED_OVER: u64 = 10_000;

/// A part of what was sent.
#[derive(Debug)]
pub struct Page {
    /// Newest first.
    pub notifications: Vec<Notification>,
    /// The number of the notification beyond which the list goes on, away from the end it was read from, where it does.
    pub goes_on_at: Option<i64>,
    /// Whether it does; a page for nothing goes on where it began.
    pub goes_on: bool,
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

/// A part of all, by their numbers, newest first: a walk of the key, or of the target's index, until the page is full. Where others are passed over, it ends after 10,000 of all.
pub async fn page(app: &App, tenant: &Tenant, filter: &Filter, slice: Slice<i64>) -> Result<Page> {
    let catalogue = catalogue::current(app, tenant).await?;
    let (db, mut found) = (&app.db.read, stored(tenant));
    if filter.types.is_some() {
        let types = catalogue.chosen("filter.types", filter.types.as_deref())?;
        let ids: Vec<TypeId> = types.iter().map(|kind| kind.id).collect();
        found = found.filter(Column::TypeId.among(db, &ids));
    }
    if let Some(kinds) = &filter.kinds {
        let kinds: BTreeSet<Kind> = kinds.iter().copied().collect();
        found = found.filter(Column::Kind.among(db, &Vec::from_iter(kinds)));
    }
    if let Some(statuses) = &filter.statuses {
        found = found.filter(in_status(statuses, app.now()));
        if statuses.as_slice() == [Status::Scheduled] {
            // Few, and kept apart.
            let scheduled = Schedule::of_tenant(tenant.id).select_only().column(schedule::Column::NotificationId);
            found = found.filter(Column::Id.in_subquery(scheduled.into_query()));
        }
    }
    if let Some(sender) = &filter.sender {
        check::code("filter.sender", sender)?;
        // Somebody of whom the tenant never heard has sent nothing.
        let known = user::find(app, tenant, std::slice::from_ref(sender)).await?;
        found = found.filter(Column::SenderId.among(db, &known.into_values().collect::<Vec<_>>()));
    }
    if let Some(target) = &filter.target {
        target.check().map_err(|error| error.within("filter"))?;
        found = found.filter(Column::TargetType.eq(&target.target_type)).filter(Column::TargetId.eq(&target.id));
    }
    let walked_to = if filter.is_carried() { None } else { walked_to(app, tenant, slice).await? };
    if let Some(farthest) = walked_to {
        found = found.filter(match slice.from {
            End::First => Column::Id.gte(farthest),
            End::Last => Column::Id.lte(farthest),
        });
    }
    let rows: Vec<Row> = within(found, slice).limit(slice.many.saturating_add(1) as u64).into_model().all(db).await?;
    let (rows, is_full) = slice.page(rows);
    let notifications = rows.into_iter().map(|row| row.read(&catalogue)).collect::<Result<Vec<Notification>>>()?;
    let farthest = match slice.from {
        End::First => notifications.last(),
        End::Last => notifications.first(),
    };
    let farthest = farthest.map(|of| of.id);
    let goes_on_at = if is_full { farthest } else { walked_to };
    Ok(Page { notifications, goes_on_at, goes_on: is_full || walked_to.is_some() })
}

/// The last of those that a page passes over at the most: a walk of the key.
async fn walked_to(app: &App, tenant: &Tenant, slice: Slice<i64>) -> Result<Option<i64>> {
    let walked = Notifications::of_tenant(tenant.id).select_only().column(Column::Id);
    let last = within(walked, slice).offset(PASSED_OVER - 1);
    Ok(last.into_tuple().one(&app.db.read).await?)
}

/// Those of a part, from its end on: what stands after another is older.
fn within<Found: QueryFilter + QueryOrder>(found: Found, slice: Slice<i64>) -> Found {
    let mut found = found;
    if let Some(newer) = slice.after {
        found = found.filter(Column::Id.lt(newer));
    }
    if let Some(older) = slice.before {
        found = found.filter(Column::Id.gt(older));
    }
    match slice.from {
        End::First => found.order_by_desc(Column::Id),
        End::Last => found.order_by_asc(Column::Id),
    }
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
    let sent = stored(tenant).filter(Column::Id.gte(within.start)).filter(Column::Id.lt(within.end));
    let sent = sent.filter(Column::SenderId.eq(sender)).order_by_desc(Column::Id).limit(many as u64);
    let rows: Vec<Row> = sent.into_model().all(&app.db.read).await?;
    rows.into_iter().map(|row| row.read(&catalogue)).collect()
}

fn in_status(statuses: &[Status], now: Millis) -> Condition {
    let statuses: BTreeSet<Status> = statuses.iter().copied().collect();
    let is_out = || Column::Seq.is_not_null().and(Column::RetractedAt.is_null());
    let one = |status| match status {
        Status::Scheduled => Column::Seq.is_null().and(Column::RetractedAt.is_null()),
        Status::Published => is_out().and(Column::ExpiresAt.is_null().or(Column::ExpiresAt.gt(now))),
        Status::Expired => is_out().and(Column::ExpiresAt.lte(now)),
        Status::Retracted => Column::RetractedAt.is_not_null(),
    };
    statuses.into_iter().map(one).fold(Condition::any(), Condition::add)
}
