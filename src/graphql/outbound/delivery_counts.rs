//! Delivery counts of notifications, read once for a whole list.

use std::collections::BTreeMap;

use async_graphql::{Result, SimpleObject};

use super::delivery::OutboundChannel;
use crate::graphql::context::CallContext;
use crate::graphql::loaders::BatchLoader;
use crate::graphql::scalars::to_int;
use delivery::destination::{self, DeliveryCounts, DestinationKind};

/// Delivery counts of a notification for one channel.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub struct NotificationDeliveries {
    /// The channel.
    pub channel: OutboundChannel,
    /// Deliveries that wait for their first or next attempt. A delivery about the expiry waits until then.
    pub pending: i32,
    /// Deliveries that the receivers, or the relay, accepted.
    pub delivered: i32,
    /// Deliveries that were given up.
    pub dead: i32,
}

/// Delivery counts for the notifications of a request, read in one batch.
pub type DeliveryCountLoader = BatchLoader<i64, BTreeMap<DestinationKind, DeliveryCounts>>;

impl DeliveryCountLoader {
    /// The counts of one of them.
    pub async fn load_counts(&self, call: CallContext<'_>, notification: i64) -> Result<Vec<NotificationDeliveries>> {
        let of = self.load(notification, |ids| destination::count_by_notification(call.app, call.tenant, ids)).await?;
        let figures = |(kind, of): (&DestinationKind, &DeliveryCounts)| NotificationDeliveries {
            channel: (*kind).into(),
            pending: to_int(of.pending),
            delivered: to_int(of.delivered),
            dead: to_int(of.dead),
        };
        Ok(of.into_iter().flatten().map(figures).collect())
    }
}
