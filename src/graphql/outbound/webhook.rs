//! Webhook endpoints.

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};
use entity::audit_entry::Subject;

use super::delivery::OutboundDelivery;
use super::webhook_input::{CreateWebhookEndpointInput, UpdateWebhookEndpointInput, WebhookEvent};
use super::{lane_id, opened};
use crate::domain::lane;
use crate::domain::webhook::{self, DeliveryState};
use crate::error::Error;
use crate::graphql::catalogue::DeletePayload;
use crate::graphql::context::{ADMIN, Call};
use crate::graphql::scalars::{Instant, int};
use crate::model::alarm::Alarm;
use crate::model::delivery::EVENTS;
use crate::model::seal::Kind;

/// Whether a webhook endpoint, mail relay, WeChat account or Web Push sender is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "webhook::State")]
pub enum OutboundState {
    /// Events are sent.
    Active,
    /// A service or an operator has paused it.
    Paused,
    /// The server gave it up: it only failed for five days, responded with status 410, or (WeChat) the account lacks
    /// the right to send or has another secret. Resuming it tries again.
    Disabled,
}

/// An announcement to a group.
#[derive(SimpleObject)]
pub struct OutboundAlarm {
    /// Code of the message type.
    #[graphql(name = "type")]
    pub message_type: String,
    /// Code of the group.
    pub group: String,
}

impl From<Alarm> for OutboundAlarm {
    fn from(of: Alarm) -> Self {
        Self { message_type: of.message_type, group: of.group }
    }
}

/// A URL of your server that receives the tenant's events.
#[derive(Clone)]
pub struct WebhookEndpoint(Box<webhook::Endpoint>);

impl From<webhook::Endpoint> for WebhookEndpoint {
    fn from(of: webhook::Endpoint) -> Self {
        Self(Box::new(of))
    }
}

/// A URL of your server that receives the tenant's events.
#[Object]
impl WebhookEndpoint {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        lane_id(Call::of(ctx), self.0.id)
    }

    /// Each event is posted here.
    async fn url(&self) -> &str {
        &self.0.url
    }

    /// The events that it receives.
    async fn events(&self) -> Vec<WebhookEvent> {
        let wanted = EVENTS.iter().filter(|(event, _)| self.0.events & event.bit() != 0);
        wanted.map(|(event, _)| (*event).into()).collect()
    }

    /// Whether events contain the texts of notifications.
    async fn full(&self) -> bool {
        self.0.is_full
    }

    /// Sent when the endpoint is disabled. Null if only the log and the metrics report it.
    async fn alarm(&self) -> Option<OutboundAlarm> {
        webhook::alarm_of(&self.0).map(Into::into)
    }

    /// Whether it is used.
    async fn state(&self) -> OutboundState {
        self.0.state.into()
    }

    /// Start of the current streak of failures; null if the last attempt succeeded, or there was none.
    async fn failing_since(&self) -> Option<Instant> {
        self.0.failing_since.map(Into::into)
    }

    /// End of the pause after five or more failures in a row; null if it is not resting.
    async fn resting_until(&self, ctx: &Context<'_>) -> Option<Instant> {
        lane::resting_until(Call::of(ctx).app, &self.0).map(Into::into)
    }

    /// End of the last attempt.
    async fn last_attempt_at(&self) -> Option<Instant> {
        self.0.attempted_at.map(Into::into)
    }

    /// HTTP status of the last attempt; null without a response.
    async fn last_status(&self) -> Option<i32> {
        self.0.last_status.map(int)
    }

    /// Why the last failed attempt failed, 500 bytes at most.
    async fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// Deliveries that wait for their first or next attempt.
    async fn pending_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(lane::pending(Call::of(ctx).app, &self.0).await?))
    }

    /// Deliveries of the retention window that were given up.
    async fn dead_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(lane::many(Call::of(ctx).app, &self.0, DeliveryState::Dead).await?))
    }

    /// Until then requests are also signed with the previous secret; null if there is none.
    async fn previous_secret_until(&self, ctx: &Context<'_>) -> Option<Instant> {
        self.0.previous_until.filter(|until| *until > Call::of(ctx).app.now()).map(Into::into)
    }

    /// When it was created.
    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }
}

/// A new endpoint.
#[derive(SimpleObject)]
pub struct CreateWebhookEndpointPayload {
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// Signs requests to the endpoint: `whsec_` and base64. No other response contains it.
    pub secret: String,
}

/// An endpoint with a new secret.
#[derive(SimpleObject)]
pub struct RotateWebhookSecretPayload {
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// Signs requests to the endpoint, for 24 hours beside the previous secret. No other response contains it.
    pub secret: String,
}

#[derive(Default)]
pub struct WebhookQuery;

#[Object]
impl WebhookQuery {
    /// The tenant's webhook endpoints, oldest first. ADMIN.
    async fn webhook_endpoints(&self, ctx: &Context<'_>) -> Result<Vec<WebhookEndpoint>> {
        let call = Call::by(ctx, ADMIN)?;
        Ok(lane::all(call.app, call.tenant, lane::Kind::Webhook).await?.into_iter().map(Into::into).collect())
    }

    /// The endpoint with this id, or null. ADMIN.
    async fn webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<Option<WebhookEndpoint>> {
        let call = Call::by(ctx, ADMIN)?;
        let Some((_, row)) = call.tenant.seal.open(Kind::Lane, &id) else { return Ok(None) };
        Ok(lane::find(call.app, call.tenant, lane::Kind::Webhook, row).await?.map(Into::into))
    }
}

#[derive(Default)]
pub struct WebhookMutation;

#[Object]
impl WebhookMutation {
    /// Creates an endpoint that receives events from now on. `CONFLICT` if the tenant has 20, or if the server has no
    /// key to seal secrets (`TIDINGS_KEY`). ADMIN.
    async fn create_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new endpoint.")] input: CreateWebhookEndpointInput,
    ) -> Result<CreateWebhookEndpointPayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, Subject::Endpoint, &[]);
        let made = webhook::create(call.app, call.tenant, &input.into()).await;
        let made = made.map_err(|error| error.within("input"))?;
        Ok(CreateWebhookEndpointPayload { endpoint: made.endpoint.into(), secret: made.secret.text() })
    }

    /// Changes an endpoint. `NOT_FOUND` if it does not exist. ADMIN.
    async fn update_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
        #[graphql(desc = "What to change.")] input: UpdateWebhookEndpointInput,
    ) -> Result<WebhookEndpoint> {
        let call = Call::by(ctx, ADMIN)?;
        // Wrong input is reported before an unknown id: no endpoint has number 0.
        let row = call.tenant.seal.open(Kind::Lane, &id).map_or(0, |(_, row)| row);
        call.audits(ctx, Subject::Endpoint, &[row]);
        let updated = async { webhook::update(call.app, call.tenant, row, &input.change()?).await };
        Ok(updated.await.map_err(|error| told_of(&id)(error).within("input"))?.into())
    }

    /// Creates a new secret. Requests are signed with both for 24 hours. ADMIN.
    async fn rotate_webhook_secret(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<RotateWebhookSecretPayload> {
        let (call, row) = named(ctx, &id)?;
        call.audits(ctx, Subject::Endpoint, &[row]);
        let made = webhook::rotate(call.app, call.tenant, row).await.map_err(told_of(&id))?;
        Ok(RotateWebhookSecretPayload { endpoint: made.endpoint.into(), secret: made.secret.text() })
    }

    /// Holds events back. They are sent when the endpoint is resumed, as far as the retention window reaches. ADMIN.
    async fn pause_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<WebhookEndpoint> {
        let (call, row) = named(ctx, &id)?;
        call.audits(ctx, Subject::Endpoint, &[row]);
        let paused = lane::pause(call.app, call.tenant, lane::Kind::Webhook, row).await;
        Ok(paused.map_err(told_of(&id))?.into())
    }

    /// Sends due events again, to an endpoint that is paused, disabled or resting. ADMIN.
    async fn resume_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<WebhookEndpoint> {
        let (call, row) = named(ctx, &id)?;
        call.audits(ctx, Subject::Endpoint, &[row]);
        let resumed = lane::resume(call.app, call.tenant, lane::Kind::Webhook, row).await;
        Ok(resumed.map_err(told_of(&id))?.into())
    }

    /// Deletes an endpoint and its deliveries. ADMIN.
    async fn delete_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<DeletePayload> {
        let call = Call::by(ctx, ADMIN)?;
        let Some((_, row)) = call.tenant.seal.open(Kind::Lane, &id) else {
            return Ok(DeletePayload { deleted_id: None });
        };
        call.audits(ctx, Subject::Endpoint, &[row]);
        let is_gone = lane::delete(call.app, call.tenant, lane::Kind::Webhook, row).await?;
        Ok(DeletePayload { deleted_id: is_gone.then_some(id) })
    }

    /// Sends `test.ping` once, in any state of the endpoint, and returns the result. `RATE_LIMITED` after ten per
    /// tenant and minute. ADMIN.
    async fn test_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<OutboundDelivery> {
        let (call, row) = named(ctx, &id)?;
        call.audits(ctx, Subject::Endpoint, &[row]);
        let pinged = webhook::ping(call.app, call.tenant, row).await.map_err(told_of(&id))?;
        Ok(OutboundDelivery::along(lane::Kind::Webhook, pinged))
    }
}

/// Adds the endpoint's id to `NOT_FOUND`.
fn told_of(id: &ID) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::NotFound { what, field, .. } if field.is_empty() => Error::not_found(what, id.as_str()),
        other => other,
    }
}

fn named<'a>(ctx: &'a Context<'_>, id: &ID) -> Result<(Call<'a>, i64)> {
    let call = Call::by(ctx, ADMIN)?;
    Ok((call, opened(call, Kind::Lane, "id", id)?))
}
