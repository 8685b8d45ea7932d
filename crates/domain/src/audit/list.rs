//! Lists audited acts.

use entity::audit_entry::{Column, Entity as Entries};
use entity::notification::{self, Entity as Notifications, NotificationKind};
use entity::prelude::*;
use sea_orm::Order;

use super::merge::{AuditCursor, AuditPage, ListPart, merge_lists};
use super::{AuditRecord, SubjectKind};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use model::actor::StaffActor;
use model::list_page::{ListEnd, PageRange};
use store::Store;

/// The most entries, and the most notifications, that a page examines.
const PASSED_OVER: u64 = 10_000;

/// Conditions on acts; `None` matches all.
#[derive(Clone, Debug, Default)]
pub struct AuditCriteria {
    /// The name of the actor.
    pub actor: Option<String>,
    /// Any of these, as the API calls them.
    pub actions: Option<Vec<String>>,
    /// The subject of the act, as the table names it.
    pub subject: Option<(SubjectKind, String)>,
    /// At this instant or later.
    pub since: Option<Millis>,
    /// Before this instant.
    pub until: Option<Millis>,
}

/// A page of the list, newest first: walks of `audit_entry_tenant` or `audit_entry_subject`, and of `notification`'s
/// key. Each ends after 10,000 rows.
pub async fn load_page(
    store: &Store,
    tenant: &Tenant,
    filter: &AuditCriteria,
    slice: &PageRange<AuditCursor>,
) -> Result<AuditPage> {
    let (after, before) =
        (slice.after.unwrap_or(AuditCursor::NEWEST), slice.before.map_or(AuditCursor::OLDEST, AuditCursor::step_back));
    let walk = |older, newer| AuditWalk { older, newer, from: slice.from, many: slice.many };
    let log = walk_log(store, tenant, filter, walk(before.entry, after.entry)).await?;
    let sent = walk_sent(store, tenant, filter, walk(before.notification, after.notification)).await?;
    Ok(merge_lists(log, sent, slice))
}

/// A walk along one of the lists, from one end of a range of numbers.
#[derive(Clone, Copy)]
struct AuditWalk {
    /// From this number on.
    older: i64,
    /// Below this one.
    newer: i64,
    from: ListEnd,
    many: usize,
}

impl AuditWalk {
    fn sort_order(self) -> Order {
        if self.from == ListEnd::First { Order::Desc } else { Order::Asc }
    }

    /// The rows up to where the walk ends.
    fn up_to_end(self, id: impl ColumnTrait, last: i64) -> Expr {
        if self.from == ListEnd::First { id.gte(last) } else { id.lte(last) }
    }

    /// Whether acts beyond this time can match the filter.
    fn can_continue(self, filter: &AuditCriteria, at: Millis) -> bool {
        match self.from {
            ListEnd::First => filter.since.is_none_or(|since| at >= since),
            ListEnd::Last => filter.until.is_none_or(|until| at < until),
        }
    }
}

async fn walk_log(store: &Store, tenant: &Tenant, filter: &AuditCriteria, walk: AuditWalk) -> Result<ListPart> {
    let db = &store.db.read;
    let mut walked = Entries::of_tenant(tenant.id).filter(Column::Id.gte(walk.older)).filter(Column::Id.lt(walk.newer));
    walked = walked.order_by(Column::Id, walk.sort_order());
    if let Some((kind, subject)) = &filter.subject {
        walked = walked.filter(Column::SubjectKind.eq(*kind)).filter(Column::Subject.eq(subject.as_str()));
    }
    let last = walked.clone().select_only().columns([Column::Id, Column::At]).offset(PASSED_OVER - 1);
    let last: Option<(i64, Millis)> = last.into_tuple().one(db).await?;
    let mut found = walked;
    if let Some((last, _)) = last {
        found = found.filter(walk.up_to_end(Column::Id, last));
    }
    if let Some(name) = &filter.actor {
        found = found.filter(Column::Actor.is_in_list(db, &StaffActor::all_stored_forms(name)));
    }
    if let Some(actions) = &filter.actions {
        found = found.filter(Column::Action.is_in_list(db, actions));
    }
    if let Some(since) = filter.since {
        found = found.filter(Column::At.gte(since));
    }
    if let Some(until) = filter.until {
        found = found.filter(Column::At.lt(until));
    }
    let rows = found.limit(walk.many as u64 + 1).all(db).await?;
    let entries = rows.into_iter().filter_map(|row| Some((row.id, AuditRecord::from_model(row)?))).collect();
    Ok(ListPart { entries, cut: last.filter(|(_, at)| walk.can_continue(filter, *at)) })
}

/// Notifications that services and operators sent, as long as they are retained.
async fn walk_sent(store: &Store, tenant: &Tenant, filter: &AuditCriteria, walk: AuditWalk) -> Result<ListPart> {
    use notification::Column;
    let db = &store.db.read;
    let kinds = [NotificationKind::Announcement, NotificationKind::Reminder, NotificationKind::Message];
    let asked = |kind: &NotificationKind| {
        filter.actions.as_ref().is_none_or(|actions| actions.iter().any(|of| of == action_name(*kind)))
    };
    let kinds: Vec<NotificationKind> = kinds.into_iter().filter(asked).collect();
    let id = match &filter.subject {
        Some((SubjectKind::Notification, id)) => Some(id.parse::<i64>().unwrap_or_default()),
        Some(_) => return Ok(ListPart { entries: Vec::new(), cut: None }),
        None => None,
    };
    let mut walked = Notifications::of_tenant(tenant.id).filter(Column::Id.gte(walk.older));
    walked = walked.filter(Column::Id.lt(walk.newer)).order_by(Column::Id, walk.sort_order());
    if let Some(id) = id {
        walked = walked.filter(Column::Id.eq(id));
    }
    let last = walked.clone().select_only().columns([Column::Id, Column::CreatedAt]).offset(PASSED_OVER - 1);
    let last: Option<(i64, Millis)> = last.into_tuple().one(db).await?;
    let mut found = walked.filter(Column::SentBy.is_not_null()).filter(Column::Kind.is_in_list(db, &kinds));
    if let Some((last, _)) = last {
        found = found.filter(walk.up_to_end(Column::Id, last));
    }
    if let Some(name) = &filter.actor {
        found = found.filter(Column::SentBy.is_in_list(db, &StaffActor::all_stored_forms(name)));
    }
    if let Some(since) = filter.since {
        found = found.filter(Column::CreatedAt.gte(since));
    }
    if let Some(until) = filter.until {
        found = found.filter(Column::CreatedAt.lt(until));
    }
    let columns = [Column::Id, Column::CreatedAt, Column::Kind, Column::SentBy];
    let rows = found.limit(walk.many as u64 + 1).select_only().columns(columns);
    let rows: Vec<(i64, Millis, NotificationKind, String)> = rows.into_tuple().all(db).await?;
    let entry = |(id, at, kind, sent_by): (i64, Millis, NotificationKind, String)| {
        let (actor, action) = (StaffActor::parse_stored(&sent_by)?, action_name(kind).to_owned());
        Some((
            id,
            AuditRecord {
                at,
                actor,
                action,
                kind: SubjectKind::Notification,
                subject: Some(id.to_string()),
                count: 1,
                detail: None,
            },
        ))
    };
    let entries = rows.into_iter().filter_map(entry).collect();
    Ok(ListPart { entries, cut: last.filter(|(_, at)| walk.can_continue(filter, *at)) })
}

/// The mutation that sends this kind. `sendNotifications` counts as one of these for each notification.
fn action_name(kind: NotificationKind) -> &'static str {
    match kind {
        NotificationKind::Announcement => "sendAnnouncement",
        NotificationKind::Reminder => "sendReminder",
        NotificationKind::Message => "sendMessage",
    }
}
