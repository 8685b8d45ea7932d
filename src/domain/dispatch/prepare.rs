//! What is due is looked at in the moment in which it is sent.

use std::collections::HashMap;

use entity::ids::Seq;

use super::statement::{Standing, Whose, standing};
use crate::app::App;
use crate::domain::lane::{Delivery, Lane, Prepared};
use crate::domain::notification::{self, Status};
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::model::catalogue::DeliveryRule;
use crate::model::item::Content;
use crate::model::notification::Notification;

/// An item that is to be sent to an address, as it is now.
pub struct Due<'a> {
    pub item: &'a Standing,
    pub notification: &'a Notification,
    pub rule: &'a DeliveryRule,
    pub content: &'a Content,
}

/// What becomes of deliveries, in their order: in a few statements, whatever they are about. What was read, archived, taken back or is
/// gone meanwhile is dropped, as is what somebody has no address for any more; what comes in quiet hours is for later, unless its type is
/// mandatory; the rest is written by `write`.
pub async fn prepare<P>(
    app: &App,
    tenant: &Tenant,
    lane: &Lane,
    due: &[Delivery],
    mut write: impl FnMut(&Due<'_>) -> Result<P>,
) -> Result<Vec<Prepared<P>>> {
    let notifications = distinct(due.iter().filter_map(|of| of.subject_id));
    let contacts = distinct(due.iter().map(|of| of.contact_id));
    let seqs = distinct(due.iter().filter_map(|of| of.seq));
    let shown = notification::shown(app, tenant, &notifications).await?;
    let now = app.now();
    let items = standing(&app.db.read, tenant, lane.kind, Whose::Contacts(&contacts), &seqs, now);
    let items: HashMap<(i64, Seq), Standing> = items
        .rows::<Standing>(&app.db.read)
        .await?
        .into_iter()
        .map(|item| ((item.contact_id, item.seq), item))
        .collect();
    let there = |delivery: &Delivery| {
        let item = items.get(&(delivery.contact_id, delivery.seq?))?;
        let notification = shown.of(delivery.subject_id?)?;
        let rule = notification.message_type.delivered_by(lane.kind)?;
        let is_there = notification.status(now) == Status::Published;
        (is_there && item.is_wanted(rule)).then_some((item, notification, rule))
    };
    let mut one = |delivery: &Delivery| {
        let Some((item, notification, rule)) = there(delivery) else { return Ok(Prepared::Dropped) };
        match item.quiet_until(now).filter(|_| !notification.message_type.mandatory) {
            Some(until) => Ok(Prepared::Later(until)),
            None => {
                write(&Due { item, notification, rule, content: &shown.content(notification) }).map(Prepared::Ready)
            }
        }
    };
    due.iter().map(&mut one).collect()
}

fn distinct<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}
