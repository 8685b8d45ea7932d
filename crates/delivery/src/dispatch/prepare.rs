//! Checks due deliveries right before they are sent.

use std::collections::HashMap;

use entity::ids::Seq;

use super::queries::{AddressSelection, AddressedItem, select_items};
use crate::destination::{Delivery, Destination, PreparedDelivery};
use base::error::Result;
use domain::notification::{self, NotificationState};
use domain::tenant::Tenant;
use model::catalogue::DeliveryRule;
use model::item::ItemContent;
use model::notification::Notification;
use store::Store;

/// An item to send to an address, in its current state.
pub struct DueItem<'a> {
    pub item: &'a AddressedItem,
    pub notification: &'a Notification,
    pub rule: &'a DeliveryRule,
    pub content: &'a ItemContent,
}

/// Prepares deliveries, in their order, with a few statements for all. Drops items that are gone, retracted or expired,
/// that the rule no longer asks for (read or archived), or that have no working address. Postpones items during quiet
/// hours, unless their type is mandatory. `write` makes the payload of the others.
pub async fn prepare_deliveries<P>(
    store: &Store,
    tenant: &Tenant,
    destination: &Destination,
    due: &[Delivery],
    mut write: impl FnMut(&DueItem<'_>) -> Result<P>,
) -> Result<Vec<PreparedDelivery<P>>> {
    let notifications = sorted_unique(due.iter().filter_map(|of| of.subject_id));
    let contacts = sorted_unique(due.iter().map(|of| of.contact_id));
    let seqs = sorted_unique(due.iter().filter_map(|of| of.seq));
    let shown = notification::load_for_display(store, tenant, &notifications).await?;
    let now = store.now();
    let items =
        select_items(&store.db.read, tenant, destination.kind, AddressSelection::Contacts(&contacts), &seqs, now);
    let items: HashMap<(i64, Seq), AddressedItem> = items
        .fetch_by_name::<AddressedItem>(&store.db.read)
        .await?
        .into_iter()
        .map(|item| ((item.contact_id, item.seq), item))
        .collect();
    let there = |delivery: &Delivery| {
        let item = items.get(&(delivery.contact_id, delivery.seq?))?;
        let notification = shown.get(delivery.subject_id?)?;
        let rule = notification.message_type.delivery_rule(destination.kind)?;
        let is_there = notification.status(now) == NotificationState::Published;
        (is_there && item.is_wanted(rule)).then_some((item, notification, rule))
    };
    let mut one = |delivery: &Delivery| {
        let Some((item, notification, rule)) = there(delivery) else { return Ok(PreparedDelivery::Dropped) };
        let until = item.quiet_until(now).filter(|_| !notification.message_type.mandatory);
        if let Some(until) = until {
            return Ok(PreparedDelivery::Later(until));
        }
        // Always with the reader: the letter's own templates may depend on it where the item's do not.
        let content = ItemContent { reader: Some(item.reader()), ..shown.render_content(notification) };
        write(&DueItem { item, notification, rule, content: &content }).map(PreparedDelivery::Ready)
    };
    due.iter().map(&mut one).collect()
}

fn sorted_unique<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}
