//! Checks due deliveries right before they are sent.

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

/// An item to send to an address, in its current state.
pub struct Due<'a> {
    pub item: &'a Standing,
    pub notification: &'a Notification,
    pub rule: &'a DeliveryRule,
    pub content: &'a Content,
}

/// Prepares deliveries, in their order, with a few statements for all. Drops items that are gone, retracted or expired,
/// that the rule no longer asks for (read or archived), or that have no working address. Postpones items during quiet
/// hours, unless their type is mandatory. `write` makes the payload of the others.
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
