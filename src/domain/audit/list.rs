//! The list of what was done.

use entity::audit_entry::{Column, Entity as Entries};
use entity::notification::{self, Entity as Notifications, Kind};
use entity::prelude::*;

use super::merge::{Page, Part, Place, merged};
use super::{Entry, Subject};
use crate::app::App;
use crate::clock::Millis;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::actor::Actor;

/// Entries, and notifications, that a page passes over at the most.
const PASSED_OVER: u64 = 10_000;

/// Which entries; what is left out does not count.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The name of who did it.
    pub actor: Option<String>,
    /// As the API calls it; one of these.
    pub actions: Option<Vec<String>>,
    /// To what it was done, as the table names it.
    pub subject: Option<(Subject, String)>,
    /// At this instant or later.
    pub since: Option<Millis>,
    /// Before this instant.
    pub until: Option<Millis>,
}

/// At most so many entries behind a place, newest first: walks of `audit_entry_tenant`, or `audit_entry_subject`, and of the key of
/// `notification`, which end after 10,000 each.
pub async fn page(app: &App, tenant: &Tenant, filter: &Filter, many: usize, after: Option<Place>) -> Result<Page> {
    let after = after.unwrap_or(Place { entry: i64::MAX, notification: i64::MAX });
    let log = log(app, tenant, filter, (many, after.entry)).await?;
    let sent = sent(app, tenant, filter, (many, after.notification)).await?;
    Ok(merged(log, sent, many, after))
}

async fn log(app: &App, tenant: &Tenant, filter: &Filter, (many, after): (usize, i64)) -> Result<Part> {
    let db = &app.db.read;
    let mut walked = Entries::of_tenant(tenant.id).filter(Column::Id.lt(after)).order_by_desc(Column::Id);
    if let Some((kind, subject)) = &filter.subject {
        walked = walked.filter(Column::SubjectKind.eq(*kind)).filter(Column::Subject.eq(subject.as_str()));
    }
    let last = walked.clone().select_only().columns([Column::Id, Column::At]).offset(PASSED_OVER - 1);
    let last: Option<(i64, Millis)> = last.into_tuple().one(db).await?;
    let mut found = walked;
    if let Some((last, _)) = last {
        found = found.filter(Column::Id.gte(last));
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
    let rows = found.limit(many as u64 + 1).all(db).await?;
    let entries = rows.into_iter().filter_map(|row| Some((row.id, Entry::read(row)?))).collect();
    Ok(Part { entries, cut: last.filter(|(_, at)| goes_on(filter, *at)) })
}

/// What services and operators have sent, as long as it is kept.
async fn sent(app: &App, tenant: &Tenant, filter: &Filter, (many, after): (usize, i64)) -> Result<Part> {
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
    let mut walked = Notifications::of_tenant(tenant.id).filter(Column::Id.lt(after)).order_by_desc(Column::Id);
    if let Some(id) = id {
        walked = walked.filter(Column::Id.eq(id));
    }
    let last = walked.clone().select_only().columns([Column::Id, Column::CreatedAt]).offset(PASSED_OVER - 1);
    let last: Option<(i64, Millis)> = last.into_tuple().one(db).await?;
    let mut found = walked.filter(Column::SentBy.is_not_null()).filter(Column::Kind.among(db, &kinds));
    if let Some((last, _)) = last {
        found = found.filter(Column::Id.gte(last));
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
    let rows = found.limit(many as u64 + 1).select_only().columns(columns);
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
    Ok(Part { entries, cut: last.filter(|(_, at)| goes_on(filter, *at)) })
}

/// Whether what is older than this may be asked for.
fn goes_on(filter: &Filter, at: Millis) -> bool {
    filter.since.is_none_or(|since| at >= since)
}

/// By which mutation something of a kind is sent; `sendNotifications` sends each as one of these.
fn action(kind: Kind) -> &'static str {
    match kind {
        Kind::Announcement => "sendAnnouncement",
        Kind::Reminder => "sendReminder",
        Kind::Message => "sendMessage",
    }
}
