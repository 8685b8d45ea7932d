//! Deliveries to the outside, and what came of them.

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};
use entity::audit_entry::Subject;

use super::delivery_input::{OutboundDeliveryFilter, OutboundDeliverySelector, OutboundDeliveryState};
use super::webhook_input::WebhookEvent;
use crate::domain::lane::{self, Delivery, DeliveryState, Event, Kind};
use crate::domain::user;
use crate::graphql::connection::{Paging, Walked, by_row, names};
use crate::graphql::context::{Call, STAFF};
use crate::graphql::scalars::{Instant, int};
use crate::graphql::user::User;
use crate::model::seal;

names!(Deliveries, "OutboundDeliveryConnection", "OutboundDeliveryEdge");

/// How something leaves for the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum OutboundChannel {
    /// To somebody's server.
    Webhook,
    /// As a letter to a user.
    Email,
    /// As a message to a user who follows the tenant's official account of WeChat.
    #[graphql(name = "WECHAT")]
    WeChat,
    /// To a browser of a user.
    WebPush,
}

impl From<Kind> for OutboundChannel {
    fn from(of: Kind) -> Self {
        match of {
            Kind::Webhook => Self::Webhook,
            Kind::Email => Self::Email,
            Kind::WeChat => Self::WeChat,
            Kind::WebPush => Self::WebPush,
        }
    }
}

impl From<OutboundChannel> for Kind {
    fn from(of: OutboundChannel) -> Self {
        match of {
            OutboundChannel::Webhook => Self::Webhook,
            OutboundChannel::Email => Self::Email,
            OutboundChannel::WeChat => Self::WeChat,
            OutboundChannel::WebPush => Self::WebPush,
        }
    }
}

/// An event on its way to an endpoint or a user, or what came of it.
#[derive(Clone)]
pub struct OutboundDelivery(Box<Delivery>, Kind);

impl OutboundDelivery {
    /// One along a lane of a kind.
    pub fn along(kind: Kind, of: Delivery) -> Self {
        Self(Box::new(of), kind)
    }
}

/// An event on its way to an endpoint or a user, or what came of it.
#[Object]
impl OutboundDelivery {
    /// Opaque: the `webhook-id` that the receiver of a webhook sees, and the `Message-ID` of a letter before the
    /// `@`, and the `client_msg_id` of a message by WeChat; the same in each attempt.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(Call::of(ctx).tenant.seal.close(seal::Kind::Delivery, 0, self.0.id))
    }

    /// By what it goes.
    async fn channel(&self) -> OutboundChannel {
        self.1.into()
    }

    /// The `id` of its `WebhookEndpoint`; null where it goes to a user.
    async fn endpoint_id(&self, ctx: &Context<'_>) -> Option<ID> {
        let is_webhook = self.1 == Kind::Webhook;
        is_webhook.then(|| ID(Call::of(ctx).tenant.seal.close(seal::Kind::Lane, 0, self.0.lane_id)))
    }

    /// To whom it goes; null where it goes to an endpoint, or to an address that the user has no more.
    async fn user(&self, ctx: &Context<'_>) -> Result<Option<User>> {
        let call = Call::of(ctx);
        let user = user::of_contact(call.app, call.tenant, self.0.contact_id).await?;
        Ok(user.map(User::alone))
    }

    /// What has happened.
    async fn event(&self) -> WebhookEvent {
        self.0.event.into()
    }

    /// The `id` of the `SentNotification` that it is about, where it is about one.
    async fn notification_id(&self, ctx: &Context<'_>) -> Option<ID> {
        let id = self.0.subject_id.filter(|_| Event::OF_NOTIFICATIONS.contains(&self.0.event))?;
        Some(ID(Call::of(ctx).tenant.seal.close(seal::Kind::Notification, 0, id)))
    }

    /// When that happened, or will: of a notification that is to expire.
    async fn happened_at(&self) -> Instant {
        self.0.happened_at.into()
    }

    /// Where it is.
    async fn state(&self) -> OutboundDeliveryState {
        self.0.state.into()
    }

    /// How often it was tried.
    async fn attempt_count(&self) -> i32 {
        int(self.0.attempts)
    }

    /// When it is tried next, unless what it goes along rests or is not active; null where it is not any more.
    async fn due_at(&self) -> Option<Instant> {
        let is_pending = matches!(self.0.state, DeliveryState::Fresh | DeliveryState::Retrying);
        is_pending.then(|| self.0.due_at.into())
    }

    /// Status of the last attempt, of HTTP or SMTP; null where there was no answer.
    async fn last_status(&self) -> Option<i32> {
        self.0.status.map(int)
    }

    /// Why the last attempt failed; 500 bytes at most. Of `test.ping` with the beginning of the answer.
    async fn last_error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }

    /// When it was made of the event.
    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    /// When the receiver had taken it; null while it has not.
    async fn delivered_at(&self) -> Option<Instant> {
        self.0.done_at.filter(|_| self.0.state == DeliveryState::Delivered).map(Into::into)
    }
}

/// What was sent again.
#[derive(SimpleObject)]
pub struct ReplayOutboundDeliveriesPayload {
    /// How many deliveries.
    pub replayed_count: i32,
}

#[derive(Default)]
pub struct DeliveryQuery;

#[Object]
impl DeliveryQuery {
    /// What was sent to the outside, is to be sent or was given up, newest first; 20 where neither `first` nor `last` is given. A page that is
    /// filtered looks at 10,000 deliveries: it may have fewer than were asked for, or none, and go on at its `endCursor` (`startCursor`).
    /// SERVICE, ADMIN.
    async fn outbound_deliveries(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which deliveries; all where it is left out.")] filter: Option<OutboundDeliveryFilter>,
        #[graphql(desc = "So many from the newest on, 200 at the most.")] first: Option<i32>,
        #[graphql(desc = "Only older ones than the delivery at this cursor.")] after: Option<String>,
        #[graphql(
            desc = "So many from the oldest on, 200 at the most; not with `first`, unless `before` alone is given."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only newer ones than the delivery at this cursor.")] before: Option<String>,
    ) -> Result<Walked<OutboundDelivery, Deliveries>> {
        let call = Call::by(ctx, STAFF)?;
        let open = |cursor: &str| call.tenant.seal.open(seal::Kind::Row, cursor).map(|(_, id)| id);
        let slice = Paging::of(ctx, (first, after), (last, before)).slice(call, open)?;
        let filter = match filter {
            Some(filter) => filter.read(call).await?,
            None => lane::Filter::default(),
        };
        let page = lane::page(call.app, call.tenant, &filter, slice).await?;
        let kinds = lane::kinds(call.app, call.tenant).await?;
        // Nothing where its lane was deleted a moment ago.
        let one = |of: Delivery| Some((of.id, OutboundDelivery::along(*kinds.get(&of.lane_id)?, of)));
        let rows = page.deliveries.into_iter().filter_map(one);
        Ok(by_row(call, &slice, rows, (page.goes_on, page.goes_on_at)))
    }
}

#[derive(Default)]
pub struct DeliveryMutation;

#[Object]
impl DeliveryMutation {
    /// Sends again what was given up or, where its id is named, delivered: under the same ids, as if it had never been tried. Pings are not
    /// sent again. SERVICE, ADMIN.
    async fn replay_outbound_deliveries(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which deliveries.")] select: OutboundDeliverySelector,
    ) -> Result<ReplayOutboundDeliveriesPayload> {
        let call = Call::by(ctx, STAFF)?;
        call.audits::<&str>(ctx, Subject::Tenant, &[]);
        let replayed = lane::replay(call.app, call.tenant, select.read(call).await?).await?;
        Ok(ReplayOutboundDeliveriesPayload { replayed_count: int(replayed) })
    }
}
