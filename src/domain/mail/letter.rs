//! What is due is written as a letter, as it is in this moment.

use std::collections::HashMap;

use entity::ids::Seq;

use super::statement::{Standing, Whose, standing};
use crate::app::App;
use crate::domain::lane::{Delivery, Kind, Lane, Prepared};
use crate::domain::notification::{self, Status};
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::mail;
use crate::model::item::Content;

/// A letter that can be sent.
#[derive(Debug)]
pub struct Message {
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    pub at: i64,
    pub language: Option<String>,
}

/// What becomes of deliveries, in their order: in a few statements, whatever they are about. What was read, archived, taken back or is
/// gone meanwhile is dropped, as is what somebody has no address for any more.
pub(super) async fn prepare(
    app: &App,
    tenant: &Tenant,
    lane: &Lane,
    due: &[Delivery],
) -> Result<Vec<Prepared<Message>>> {
    let notifications = distinct(due.iter().filter_map(|of| of.subject_id));
    let contacts = distinct(due.iter().map(|of| of.contact_id));
    let seqs = distinct(due.iter().filter_map(|of| of.seq));
    let shown = notification::shown(app, tenant, &notifications).await?;
    let now = app.now();
    let items = standing(&app.db.read, tenant, Whose::Contacts(&contacts), &seqs, now);
    let items: HashMap<(i64, Seq), Standing> = items
        .rows::<Standing>(&app.db.read)
        .await?
        .into_iter()
        .map(|item| ((item.contact_id, item.seq), item))
        .collect();
    let one = |delivery: &Delivery| {
        let item = items.get(&(delivery.contact_id, delivery.seq?))?;
        let of = shown.of(delivery.subject_id?)?;
        let rule = of.message_type.delivered_by(Kind::Email)?;
        let is_there = of.status(now) == Status::Published;
        (is_there && item.is_wanted(rule)).then(|| message(lane, item, &shown.content(of)))
    };
    due.iter().map(|delivery| one(delivery).map_or(Ok(Prepared::Dropped), |of| of.map(Prepared::Ready))).collect()
}

fn distinct<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn message(lane: &Lane, item: &Standing, of: &Content) -> Result<Message> {
    let (title, body) = (of.title(), of.body().unwrap_or_default());
    let link = of.link().and_then(|link| absolute(lane, &link));
    let html = mail::page(&mail::Page {
        title: &title,
        body: &body,
        link: link.as_deref().map(|link| (link, title.as_str())),
        unsubscribe: None,
        language: item.locale.as_deref(),
    })?;
    let parts = [Some(body.as_str()), link.as_deref()].into_iter().flatten().filter(|part| !part.is_empty());
    let text = parts.collect::<Vec<_>>().join("\n\n");
    let text = if text.is_empty() { title.clone() } else { text };
    let (to, language) = (item.address.clone(), item.locale.clone());
    Ok(Message { to, subject: title, text, html, at: of.published_at, language })
}

/// Where a link leads from a letter; nothing where it is a path and the relay does not say of what.
fn absolute(lane: &Lane, link: &str) -> Option<String> {
    if link.starts_with("https://") || link.starts_with("http://") {
        return Some(link.to_owned());
    }
    let base = reqwest::Url::parse(lane.link_base.as_deref()?).ok()?;
    Some(base.join(link).ok()?.into())
}
