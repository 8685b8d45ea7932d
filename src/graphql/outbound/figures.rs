//! What came of the deliveries of notifications, read for those of a list at once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_graphql::{Result, SimpleObject};
use tokio::sync::OnceCell;

use super::delivery::OutboundChannel;
use crate::domain::lane::{self, Figures, Kind};
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

/// Notifications that were asked for together.
#[derive(Default)]
pub struct SharedFigures {
    ids: Vec<i64>,
    all: OnceCell<HashMap<i64, BTreeMap<Kind, Figures>>>,
}

impl SharedFigures {
    /// Of these notifications.
    pub fn of(ids: Vec<i64>) -> Arc<Self> {
        Arc::new(Self { ids, ..Self::default() })
    }

    /// Those of one of them.
    pub async fn get(&self, call: Call<'_>, notification: i64) -> Result<Vec<NotificationDeliveries>> {
        let all = self.all.get_or_try_init(|| lane::by_notification(call.app, call.tenant, &self.ids)).await?;
        let figures = |(kind, of): (&Kind, &Figures)| NotificationDeliveries {
            channel: (*kind).into(),
            pending: int(of.pending),
            delivered: int(of.delivered),
            dead: int(of.dead),
        };
        Ok(all.get(&notification).into_iter().flatten().map(figures).collect())
    }
}
