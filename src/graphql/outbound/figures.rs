//! What came of the deliveries of notifications, read for those of a list at once.

use std::collections::BTreeMap;

use async_graphql::{Result, SimpleObject};

use super::delivery::OutboundChannel;
use crate::domain::lane::{self, Figures, Kind};
use crate::graphql::at_once::AtOnce;
use crate::graphql::context::Call;
use crate::graphql::scalars::int;

/// What came of the deliveries of a notification by one channel.
#[derive(Clone, Copy, Debug, SimpleObject)]
pub struct NotificationDeliveries {
    /// By what they go.
    pub channel: OutboundChannel,
    /// How many wait to be sent, or to be tried again; what tells of its expiry waits until then.
    pub pending: i32,
    /// How many the receivers, or the relay, have taken.
    pub delivered: i32,
    /// How many were given up.
    pub dead: i32,
}

/// What came of the deliveries of notifications that were asked for together.
pub type SharedFigures = AtOnce<i64, BTreeMap<Kind, Figures>>;

impl SharedFigures {
    /// That of one of them.
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
