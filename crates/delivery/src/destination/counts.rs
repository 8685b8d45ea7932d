//! Counts destinations and deliveries.

use std::collections::{BTreeMap, HashMap};

use entity::delivery::{Column, Entity as Deliveries};
use entity::prelude::*;

use super::queries::{count_destinations, count_notification_deliveries};
use super::{DeliveryState, Destination, DestinationKind, DestinationState};
use base::clock::Millis;
use base::error::Result;
use base::telemetry::metrics::DestinationLabels;
use domain::tenant::Tenant;
use store::Store;

/// How many deliveries of a destination are in a state: a range of `delivery_due_at`. Fresh deliveries that are not due
/// yet do not count, such as those that wait for a notification to expire.
pub async fn count_deliveries(store: &Store, destination: &Destination, state: DeliveryState) -> Result<i64> {
    let of = Deliveries::find().filter(Column::LaneId.eq(destination.id)).filter(Column::State.eq(state));
    let of = if state == DeliveryState::Fresh { of.filter(Column::DueAt.lte(store.now())) } else { of };
    Ok(of.count_rows(&store.db.read).await?)
}

/// How many deliveries wait for their first attempt or a retry.
pub async fn count_pending_deliveries(store: &Store, destination: &Destination) -> Result<i64> {
    Ok(count_deliveries(store, destination, DeliveryState::Fresh).await?
        + count_deliveries(store, destination, DeliveryState::Retrying).await?)
}

/// Deliveries by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryCounts {
    /// Waiting for the first attempt or a retry.
    pub pending: i64,
    pub delivered: i64,
    /// Given up.
    pub dead: i64,
}

/// Deliveries of notifications by kind of destination, without notifications that have none. One statement per 1,000
/// notifications.
pub async fn count_by_notification(
    store: &Store,
    tenant: &Tenant,
    notifications: &[i64],
) -> Result<HashMap<i64, BTreeMap<DestinationKind, DeliveryCounts>>> {
    let mut all: HashMap<i64, BTreeMap<DestinationKind, DeliveryCounts>> = HashMap::new();
    for notifications in notifications.chunks(LIST) {
        for of in count_notification_deliveries(&store.db.read, tenant, notifications).await? {
            let figures = all.entry(of.notification).or_default().entry(of.kind).or_default();
            match of.state {
                DeliveryState::Fresh | DeliveryState::Retrying => figures.pending += of.many,
                DeliveryState::Delivered => figures.delivered += of.many,
                DeliveryState::Dead => figures.dead += of.many,
            }
        }
    }
    Ok(all)
}

/// When the destination's back-off ends. `None` if it is not backing off.
pub fn back_off_until(store: &Store, destination: &Destination) -> Option<Millis> {
    Some(destination.open_until).filter(|until| *until > store.now())
}

/// Updates the server's metrics with the count of all destinations.
pub async fn update_metrics(store: &Store) -> Result<()> {
    let all = count_destinations(&store.db.read).await?;
    for kind in [DestinationKind::Webhook, DestinationKind::Email, DestinationKind::WeChat, DestinationKind::WebPush] {
        let mut figures = [("active", 0), ("failing", 0), ("paused", 0), ("disabled", 0)];
        for of in all.iter().filter(|of| of.kind == kind) {
            let name =
                if of.state == DestinationState::Active && of.is_failing == 1 { "failing" } else { of.state.name() };
            for (_, many) in figures.iter_mut().filter(|(of, _)| *of == name) {
                *many += of.many;
            }
        }
        for (state, many) in figures {
            store.metrics.destinations.get_or_create(&DestinationLabels { channel: kind.name(), state }).set(many);
        }
    }
    Ok(())
}
