//! Outbound deliveries and their results.

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};
use entity::audit_entry::SubjectKind;

use super::delivery_input::{OutboundDeliveryFilter, OutboundDeliverySelector, OutboundDeliveryState};
use super::webhook_input::WebhookEvent;
use crate::graphql::connection::{PageArguments, ScannedConnection, names, row_connection};
use crate::graphql::context::{CallContext, STAFF};
use crate::graphql::scalars::{DateTimeScalar, to_int};
use crate::graphql::user::User;
use delivery::destination::{self, Delivery, DeliveryEvent, DeliveryState, DestinationKind};
use domain::user;
use model::id_cipher;

names!(Deliveries, "OutboundDeliveryConnection", "OutboundDeliveryEdge");

/// Channels that lead out of the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum OutboundChannel {
    /// To your server.
    Webhook,
    /// By email to a user.
    Email,
    /// By a WeChat template message to a follower of the tenant's official account.
    #[graphql(name = "WECHAT")]
    WeChat,
    /// To a user's browser.
    WebPush,
}

impl From<DestinationKind> for OutboundChannel {
    fn from(of: DestinationKind) -> Self {
        match of {
            DestinationKind::Webhook => Self::Webhook,
            DestinationKind::Email => Self::Email,
            DestinationKind::WeChat => Self::WeChat,
            DestinationKind::WebPush => Self::WebPush,
        }
    }
}

impl From<OutboundChannel> for DestinationKind {
    fn from(of: OutboundChannel) -> Self {
        match of {
            OutboundChannel::Webhook => Self::Webhook,
            OutboundChannel::Email => Self::Email,
            OutboundChannel::WeChat => Self::WeChat,
            OutboundChannel::WebPush => Self::WebPush,
        }
    }
}

/// An event for an endpoint or a user, and the result of sending it.
#[derive(Clone)]
pub struct OutboundDelivery(Box<Delivery>, DestinationKind);

impl OutboundDelivery {
    /// A delivery of this kind.
    pub fn of_kind(kind: DestinationKind, of: Delivery) -> Self {
        Self(Box::new(of), kind)
    }
}

/// An event for an endpoint or a user, and the result of sending it.
#[Object]
impl OutboundDelivery {
    /// Opaque, and the same in each attempt: the `webhook-id` of a webhook, the part of an email's `Message-ID` before
    /// the `@`, the `client_msg_id` of a WeChat message.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(CallContext::from_context(ctx).tenant.id_cipher.encode(id_cipher::IdKind::Delivery, 0, self.0.id))
    }

    /// Its channel.
    async fn channel(&self) -> OutboundChannel {
        self.1.into()
    }

    /// The `id` of its `WebhookEndpoint`; null for deliveries to users.
    async fn endpoint_id(&self, ctx: &Context<'_>) -> Option<ID> {
        let is_webhook = self.1 == DestinationKind::Webhook;
        is_webhook.then(|| {
            ID(CallContext::from_context(ctx).tenant.id_cipher.encode(
                id_cipher::IdKind::Destination,
                0,
                self.0.lane_id,
            ))
        })
    }

    /// The recipient; null for deliveries to endpoints, and if the user no longer has the address.
    async fn user(&self, ctx: &Context<'_>) -> Result<Option<User>> {
        let call = CallContext::from_context(ctx);
        let user = user::find_contact_owner(call.app, call.tenant, self.0.contact_id).await?;
        Ok(user.map(User::for_user))
    }

    /// The event.
    async fn event(&self) -> WebhookEvent {
        self.0.event.into()
    }

    /// The `id` of its `SentNotification`, or null if the event is about none.
    async fn notification_id(&self, ctx: &Context<'_>) -> Option<ID> {
        let id = self.0.subject_id.filter(|_| DeliveryEvent::OF_NOTIFICATIONS.contains(&self.0.event))?;
        Some(ID(CallContext::from_context(ctx).tenant.id_cipher.encode(id_cipher::IdKind::Notification, 0, id)))
    }

    /// Time of the event; in the future for an expiry to come.
    async fn happened_at(&self) -> DateTimeScalar {
        self.0.happened_at.into()
    }

    /// Its state.
    async fn state(&self) -> OutboundDeliveryState {
        self.0.state.into()
    }

    /// Attempts so far.
    async fn attempt_count(&self) -> i32 {
        to_int(self.0.attempts)
    }

    /// Time of the next attempt, unless the destination rests or is inactive; null if there is none.
    async fn due_at(&self) -> Option<DateTimeScalar> {
        let is_pending = matches!(self.0.state, DeliveryState::Fresh | DeliveryState::Retrying);
        is_pending.then(|| self.0.due_at.into())
    }

    /// HTTP or SMTP status of the last attempt; null without a response.
    async fn last_status(&self) -> Option<i32> {
        self.0.status.map(to_int)
    }

    /// Why the last attempt failed, 500 bytes at most. For `test.ping` with the beginning of the response.
    async fn last_error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }

    /// When the delivery was created.
    async fn created_at(&self) -> DateTimeScalar {
        self.0.created_at.into()
    }

    /// When the receiver accepted it; null if it has not.
    async fn delivered_at(&self) -> Option<DateTimeScalar> {
        self.0.done_at.filter(|_| self.0.state == DeliveryState::Delivered).map(Into::into)
    }
}

/// The result of a replay.
#[derive(SimpleObject)]
pub struct ReplayOutboundDeliveriesPayload {
    /// Deliveries that will be sent again.
    pub replayed_count: i32,
}

#[derive(Default)]
pub struct DeliveryQuery;

#[Object]
impl DeliveryQuery {
    /// Outbound deliveries, newest first; 20 without `first` and `last`. A filtered page scans 10,000 deliveries: it
    /// may have fewer than requested, or none, and continues at its `endCursor` (`startCursor`). SERVICE, ADMIN.
    async fn outbound_deliveries(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which deliveries to list. Default: all.")] filter: Option<OutboundDeliveryFilter>,
        #[graphql(desc = "Page size from the newest on, at most 200.")] first: Option<i32>,
        #[graphql(desc = "Only deliveries older than the one at this cursor.")] after: Option<String>,
        #[graphql(
            desc = "Page size from the oldest on, at most 200. Not with `first`, unless exactly one cursor is given: `before` selects `last`."
        )]
        last: Option<i32>,
        #[graphql(desc = "Only deliveries newer than the one at this cursor.")] before: Option<String>,
    ) -> Result<ScannedConnection<OutboundDelivery, Deliveries>> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let open = |cursor: &str| call.tenant.id_cipher.decode(id_cipher::IdKind::Row, cursor).map(|(_, id)| id);
        let slice = PageArguments::from_field(ctx, (first, after), (last, before)).into_slice(call, open)?;
        let filter = match filter {
            Some(filter) => filter.into_filter(call).await?,
            None => destination::DeliveryFilter::default(),
        };
        let page = destination::list_deliveries(call.app, call.tenant, &filter, slice).await?;
        let kinds = destination::load_kinds(call.app, call.tenant).await?;
        // `None` if its destination was just deleted.
        let one = |of: Delivery| Some((of.id, OutboundDelivery::of_kind(*kinds.get(&of.lane_id)?, of)));
        let rows = page.deliveries.into_iter().filter_map(one);
        Ok(row_connection(call, &slice, rows, (page.goes_on, page.goes_on_at)))
    }
}

#[derive(Default)]
pub struct DeliveryMutation;

#[Object]
impl DeliveryMutation {
    /// Sends deliveries again that were given up or, if their ids are named, delivered. They keep their ids and start
    /// from the first attempt. Pings are not repeated. SERVICE, ADMIN.
    async fn replay_outbound_deliveries(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which deliveries.")] select: OutboundDeliverySelector,
    ) -> Result<ReplayOutboundDeliveriesPayload> {
        let call = CallContext::with_role(ctx, STAFF)?;
        call.start_audit::<&str>(ctx, SubjectKind::Tenant, &[]);
        let replayed = destination::replay_deliveries(call.app, call.tenant, select.into_replay(call).await?).await?;
        Ok(ReplayOutboundDeliveriesPayload { replayed_count: to_int(replayed) })
    }
}
