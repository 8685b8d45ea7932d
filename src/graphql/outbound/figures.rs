//! Delivery counts of notifications, read once for a whole list.

use std::collections::BTreeMap;

use async_graphql::{Result, SimpleObject};

use super::delivery::OutboundChannel;
use crate::domain::lane::{self, Figures, Kind};
use crate::graphql::at_once::AtOnce;
use crate::graphql::context::Call;
use crate::graphql::scalars::int;

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
pub type SharedFigures = AtOnce<i64, BTreeMap<Kind, Figures>>;

impl SharedFigures {
    /// The counts of one of them.
    pub async fn shown(&self, call: Call<'_>, notification: i64) -> Result<Vec<NotificationDeliveries>> {
        let of = self.get(notification, |ids| lane::by_notification(call.app, call.tenant, ids)).await?;
        let figures = |(kind, of): (&Kind, &Figures)| NotificationDeliveries {
            channel: (*kind).into(),
            pending: int(of.pending),
            delivered: int(of.delivered),
            dead: int(of.dead),
        };
        Ok(of.into_iter().flatten().map(figures).collect())
    }
}
