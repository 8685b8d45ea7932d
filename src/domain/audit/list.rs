//! Lists audited acts.

use entity::audit_entry::{Column, Entity as Entries};
use entity::notification::{self, Entity as Notifications, Kind};
use entity::prelude::*;
use sea_orm::Order;

use super::merge::{Page, Part, Place, merged};
use super::{Entry, Subject};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::actor::Actor;
use crate::model::slice::{End, Slice};

/// The most entries, and the most notifications, that a page examines.
const PASSED_OVER: u64 = 10_000;

/// Conditions on acts; `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The name of the actor.
    pub actor: Option<String>,
    /// Any of these, as the API calls them.
    pub actions: Option<Vec<String>>,
    /// The subject of the act, as the table names it.
    pub subject: Option<(Subject, String)>,
    /// At this instant or later.
    pub since: Option<Millis>,
    /// Before this instant.
    pub until: Option<Millis>,
}

/// A page of the list, newest first: walks of `audit_entry_tenant` or `audit_entry_subject`, and of `notification`'s
/// key. Each ends after 10,000 rows.
pub async fn page(app: &App, tenant: &Tenant, filter: &Filter, slice: &Slice<Place>) -> Result<Page> {
    let (after, before) = (slice.after.unwrap_or(Place::NEWEST), slice.before.map_or(Place::OLDEST, Place::before));
    let walk = |older, newer| Walk { older, newer, from: slice.from, many: slice.many };
    let log = log(app, tenant, filter, walk(before.entry, after.entry)).await?;
    let sent = sent(app, tenant, filter, walk(before.notification, after.notification)).await?;
    Ok(merged(log, sent, slice))
}

/// A walk along one of the lists, from one end of a range of numbers.
#[derive(Clone, Copy)]
struct Walk {
    /// From this number on.
    older: i64,
    /// Below this one.
    newer: i64,
    from: End,
    many: usize,
}

impl Walk {
    fn order(self) -> Order {
        if self.from == End::First { Order::Desc } else { Order::Asc }
    }

    /// The rows up to where the walk ends.
    fn up_to(self, id: impl ColumnTrait, last: i64) -> Expr {
        if self.from == End::First { id.gte(last) } else { id.lte(last) }
    }

    /// Whether acts beyond this time can match the filter.
    fn goes_on(self, filter: &Filter, at: Millis) -> bool {
        match self.from {
            End::First => filter.since.is_none_or(|since| at >= since),
            End::Last => filter.until.is_none_or(|until| at < until),
        }
    }
}

async fn log(app: &App, tenant: &Tenant, filter: &Filter, walk: Walk) -> Result<Part> {
    let db = &app.db.read;
    let mut walked = Entries::of_tenant(tenant.id).filter(Column::Id.gte(walk.older)).filter(Column::Id.lt(walk.newer));
    walked = walked.order_by(Column::Id, walk.order());
    if let Some((kind, subject)) = &filter.subject {
        walked = walked.filter(Column::SubjectKind.eq(*kind)).filter(Column::Subject.eq(subject.as_str()));
    }
    let last = walked.clone().select_only().columns([Column::Id, Column::At]).offset(PASSED_OVER - 1);
    let last: Option<(i64, Millis)> = last.into_tuple().one(db).await?;
    let mut found = walked;
    if let Some((last, _)) = last {
        found = found.filter(walk.up_to(Column::Id, last));
    }
    if let Some(name) = &filter.actor {
        found = found.filter(Column::Actor.among(db, &Actor::all_kept(name)));
    }
    if let Some(actions) = &filter.actions {
        found = found.filter(Column::Action.among(db, actions));
    }
    if let Some(since) = filter.since {
        found = found.filter(Column::At.gte(since));
    }
    if let Some(until) = filter.until {
        found = found.filter(Column::At.lt(until));
    }
    let rows = found.limit(walk.many as u64 + 1).all(db).await?;
    let entries = rows.into_iter().filter_map(|row| Some((row.id, Entry::read(row)?))).collect();
    Ok(Part { entries, cut: last.filter(|(_, at)| walk.goes_on(filter, *at)) })
}

/// Notifications that services and operators sent, as long as they are retained.
async fn sent(app: &App, tenant: &Tenant, filter: &Filter, walk: Walk) -> Result<Part> {
    use notification::Column;
    let db = &app.db.read;
    let kinds = [Kind::Announcement, Kind::Reminder, Kind::Message];
    let asked =
        |kind: &Kind| filter.actions.as_ref().is_none_or(|actions| actions.iter().any(|of| of == action(*kind)));
    let kinds: Vec<Kind> = kinds.into_iter().filter(asked).collect();
    let id = match &filter.subject {
        Some((Subject::Notification, id)) => Some(id.parse::<i64>().unwrap_or_default()),
        Some(_) => return Ok(Part { entries: Vec::new(), cut: None }),
        None => None,
    };
    let mut walked = Notifications::of_tenant(tenant.id).filter(Column::Id.gte(walk.older));
    walked = walked.filter(Column::Id.lt(walk.newer)).order_by(Column::Id, walk.order());
    if let Some(id) = id {
        walked = walked.filter(Column::Id.eq(id));
    }
    let last = walked.clone().select_only().columns([Column::Id, Column::CreatedAt]).offset(PASSED_OVER - 1);
    let last: Option<(i64, Millis)> = last.into_tuple().one(db).await?;
    let mut found = walked.filter(Column::SentBy.is_not_null()).filter(Column::Kind.among(db, &kinds));
    if let Some((last, _)) = last {
        found = found.filter(walk.up_to(Column::Id, last));
    }
    if let Some(name) = &filter.actor {
        found = found.filter(Column::SentBy.among(db, &Actor::all_kept(name)));
    }
    if let Some(since) = filter.since {
        found = found.filter(Column::CreatedAt.gte(since));
    }
    if let Some(until) = filter.until {
        found = found.filter(Column::CreatedAt.lt(until));
    }
    let columns = [Column::Id, Column::CreatedAt, Column::Kind, Column::SentBy];
    let rows = found.limit(walk.many as u64 + 1).select_only().columns(columns);
    let rows: Vec<(i64, Millis, Kind, String)> = rows.into_tuple().all(db).await?;
    let entry = |(id, at, kind, sent_by): (i64, Millis, Kind, String)| {
        let (actor, action) = (Actor::read(&sent_by)?, action(kind).to_owned());
        Some((
            id,
            Entry {
                at,
                actor,
                action,
                kind: Subject::Notification,
                subject: Some(id.to_string()),
                count: 1,
                detail: None,
            },
        ))
    };
    let entries = rows.into_iter().filter_map(entry).collect();
    Ok(Part { entries, cut: last.filter(|(_, at)| walk.goes_on(filter, *at)) })
}

/// The mutation that sends this kind. `sendNotifications` counts as one of these for each notification.
fn action(kind: Kind) -> &'static str {
    match kind {
        Kind::Announcement => "sendAnnouncement",
        Kind::Reminder => "sendReminder",
        Kind::Message => "sendMessage",
    }
}
