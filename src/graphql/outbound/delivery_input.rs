//! Filters and selectors of deliveries.

use async_graphql::{Enum, ID, InputObject, OneofObject};

use super::delivery::OutboundChannel;
use super::open_row_id;
use super::webhook_input::{WebhookEvent, into_events};
use crate::graphql::catalogue::DeliveryChannel;
use crate::graphql::context::CallContext;
use crate::graphql::scalars::DateTimeScalar;
use base::error::Result;
use delivery::destination::{self, DeliveryFilter, DeliveryState, ReplaySelection};
use domain::user;
use model::id_cipher::IdKind;
use model::validate;

/// State of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum OutboundDeliveryState {
    /// It waits for its first or next attempt.
    Pending,
    /// The receiver accepted it.
    Delivered,
    /// The last attempt failed; `replayOutboundDeliveries` tries again.
    Dead,
}

impl From<DeliveryState> for OutboundDeliveryState {
    fn from(of: DeliveryState) -> Self {
        match of {
            DeliveryState::Fresh | DeliveryState::Retrying => Self::Pending,
            DeliveryState::Delivered => Self::Delivered,
            DeliveryState::Dead => Self::Dead,
        }
    }
}

/// Deliveries that satisfy all given conditions.
#[derive(InputObject)]
pub struct OutboundDeliveryFilter {
    /// By this channel.
    pub channel: Option<OutboundChannel>,
    /// To the user with this id of yours.
    pub user: Option<ID>,
    /// To the endpoint with this `id`.
    pub endpoint: Option<ID>,
    /// In one of these states.
    pub states: Option<Vec<OutboundDeliveryState>>,
    /// Of one of these events.
    pub events: Option<Vec<WebhookEvent>>,
    /// About the `SentNotification` with this `id`.
    pub notification: Option<ID>,
}

impl OutboundDeliveryFilter {
    pub async fn into_filter(self, call: CallContext<'_>) -> Result<DeliveryFilter> {
        let contacts = match &self.user {
            Some(id) => {
                validate::identifier("filter.user", id)?;
                Some(user::find_contact_ids(call.app, call.tenant, id).await?)
            }
            None => None,
        };
        let states = |all: Vec<OutboundDeliveryState>| {
            let states = all.into_iter().flat_map(|of| match of {
                OutboundDeliveryState::Pending => {
                    vec![DeliveryState::Fresh, DeliveryState::Retrying]
                }
                OutboundDeliveryState::Delivered => vec![DeliveryState::Delivered],
                OutboundDeliveryState::Dead => vec![DeliveryState::Dead],
            });
            states.collect()
        };
        Ok(DeliveryFilter {
            kind: self.channel.map(Into::into),
            contacts,
            destination: self
                .endpoint
                .map(|id| open_row_id(call, IdKind::Destination, "filter.endpoint", &id))
                .transpose()?,
            states: self.states.map(states),
            events: self.events.map(into_events),
            notification: self
                .notification
                .map(|id| open_row_id(call, IdKind::Notification, "filter.notification", &id))
                .transpose()?,
        })
    }
}

/// The deliveries to send again.
#[derive(OneofObject)]
pub enum OutboundDeliverySelector {
    /// The given up or delivered ones with these `id`s, 1,000 at most.
    Ids(Vec<ID>),
    /// The given up ones of an endpoint, 100,000 at most.
    Dead(OutboundDeadFilter),
    /// The given up ones to users by a channel, 100,000 at most.
    DeadTo(OutboundDeadToFilter),
}

/// Deliveries of an endpoint that were given up.
#[derive(InputObject)]
pub struct OutboundDeadFilter {
    /// The `id` of the endpoint.
    pub endpoint: ID,
    /// Only events since then.
    pub since: Option<DateTimeScalar>,
}

/// Deliveries to users that were given up.
#[derive(InputObject)]
pub struct OutboundDeadToFilter {
    /// The channel.
    pub channel: DeliveryChannel,
    /// Only events since then. Default: all.
    pub since: Option<DateTimeScalar>,
}

impl OutboundDeliverySelector {
    pub async fn into_replay(self, call: CallContext<'_>) -> Result<ReplaySelection> {
        Ok(match self {
            Self::Ids(ids) => {
                validate::at_most("select.ids", ids.len(), 1000)?;
                let id = |(place, id): (usize, &ID)| {
                    open_row_id(call, IdKind::Delivery, &format!("select.ids[{place}]"), id)
                };
                ReplaySelection::Ids(ids.iter().enumerate().map(id).collect::<Result<_>>()?)
            }
            Self::Dead(of) => {
                let destination = open_row_id(call, IdKind::Destination, "select.dead.endpoint", &of.endpoint)?;
                let known =
                    destination::get_by_id(call.app, call.tenant, destination::DestinationKind::Webhook, destination)
                        .await;
                known.map_err(|error| error.with_field_prefix("select.dead.endpoint"))?;
                ReplaySelection::Dead { destination, since: of.since.map(|at| at.0) }
            }
            Self::DeadTo(of) => {
                let kind = of.channel.into();
                let destination = destination::get_single(call.app, call.tenant, kind).await;
                let destination = destination.map_err(|error| error.with_field_prefix("select.deadTo.channel"))?;
                ReplaySelection::Dead { destination: destination.id, since: of.since.map(|at| at.0) }
            }
        })
    }
}
