//! Webhook endpoints.

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};
use entity::audit_entry::SubjectKind;

use super::delivery::OutboundDelivery;
use super::webhook_input::{CreateWebhookEndpointInput, UpdateWebhookEndpointInput, WebhookEvent};
use super::{destination_id, open_row_id};
use crate::graphql::catalogue::DeletePayload;
use crate::graphql::context::{ADMIN, CallContext};
use crate::graphql::scalars::{DateTimeScalar, to_int};
use base::error::Error;
use delivery::destination;
use delivery::webhook::{self, DeliveryState};
use model::alarm::AlarmTarget;
use model::delivery::EVENTS;
use model::id_cipher::IdKind;

/// Whether a webhook endpoint, mail relay, WeChat account or Web Push sender is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "webhook::DestinationState")]
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

impl From<AlarmTarget> for OutboundAlarm {
    fn from(of: AlarmTarget) -> Self {
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
        destination_id(CallContext::from_context(ctx), self.0.id)
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
        webhook::alarm_settings(&self.0).map(Into::into)
    }

    /// Whether it is used.
    async fn state(&self) -> OutboundState {
        self.0.state.into()
    }

    /// Start of the current streak of failures; null if the last attempt succeeded, or there was none.
    async fn failing_since(&self) -> Option<DateTimeScalar> {
        self.0.failing_since.map(Into::into)
    }

    /// End of the pause after five or more failures in a row; null if it is not resting.
    async fn resting_until(&self, ctx: &Context<'_>) -> Option<DateTimeScalar> {
        destination::back_off_until(CallContext::from_context(ctx).app, &self.0).map(Into::into)
    }

    /// End of the last attempt.
    async fn last_attempt_at(&self) -> Option<DateTimeScalar> {
        self.0.attempted_at.map(Into::into)
    }

    /// HTTP status of the last attempt; null without a response.
    async fn last_status(&self) -> Option<i32> {
        self.0.last_status.map(to_int)
    }

    /// Why the last failed attempt failed, 500 bytes at most.
    async fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// Deliveries that wait for their first or next attempt.
    async fn pending_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(to_int(destination::count_pending_deliveries(CallContext::from_context(ctx).app, &self.0).await?))
    }

    /// Deliveries of the retention window that were given up.
    async fn dead_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(to_int(
            destination::count_deliveries(CallContext::from_context(ctx).app, &self.0, DeliveryState::Dead).await?,
        ))
    }

    /// Until then requests are also signed with the previous secret; null if there is none.
    async fn previous_secret_until(&self, ctx: &Context<'_>) -> Option<DateTimeScalar> {
        self.0.previous_until.filter(|until| *until > CallContext::from_context(ctx).app.now()).map(Into::into)
    }

    /// When it was created.
    async fn created_at(&self) -> DateTimeScalar {
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
        let call = CallContext::with_role(ctx, ADMIN)?;
        Ok(destination::list_by_kind(call.app, call.tenant, destination::DestinationKind::Webhook)
            .await?
            .into_iter()
            .map(Into::into)
            .collect())
    }

    /// The endpoint with this id, or null. ADMIN.
    async fn webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<Option<WebhookEndpoint>> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        let Some((_, row)) = call.tenant.id_cipher.decode(IdKind::Destination, &id) else { return Ok(None) };
        Ok(destination::find_by_id(call.app, call.tenant, destination::DestinationKind::Webhook, row)
            .await?
            .map(Into::into))
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
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, SubjectKind::Endpoint, &[]);
        let made = webhook::create(&call.app.delivery, call.tenant, &input.into()).await;
        let made = made.map_err(|error| error.with_field_prefix("input"))?;
        Ok(CreateWebhookEndpointPayload { endpoint: made.endpoint.into(), secret: made.secret.to_text() })
    }

    /// Changes an endpoint. `NOT_FOUND` if it does not exist. ADMIN.
    async fn update_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
        #[graphql(desc = "What to change.")] input: UpdateWebhookEndpointInput,
    ) -> Result<WebhookEndpoint> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        // Wrong input is reported before an unknown id: no endpoint has number 0.
        let row = call.tenant.id_cipher.decode(IdKind::Destination, &id).map_or(0, |(_, row)| row);
        call.start_audit(ctx, SubjectKind::Endpoint, &[row]);
        let updated = async { webhook::update(&call.app.delivery, call.tenant, row, &input.into_change()?).await };
        Ok(updated.await.map_err(|error| add_endpoint_id(&id)(error).with_field_prefix("input"))?.into())
    }

    /// Creates a new secret. Requests are signed with both for 24 hours. ADMIN.
    async fn rotate_webhook_secret(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<RotateWebhookSecretPayload> {
        let (call, row) = open_endpoint_id(ctx, &id)?;
        call.start_audit(ctx, SubjectKind::Endpoint, &[row]);
        let made = webhook::rotate_secret(&call.app.delivery, call.tenant, row).await.map_err(add_endpoint_id(&id))?;
        Ok(RotateWebhookSecretPayload { endpoint: made.endpoint.into(), secret: made.secret.to_text() })
    }

    /// Holds events back. They are sent when the endpoint is resumed, as far as the retention window reaches. ADMIN.
    async fn pause_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<WebhookEndpoint> {
        let (call, row) = open_endpoint_id(ctx, &id)?;
        call.start_audit(ctx, SubjectKind::Endpoint, &[row]);
        let paused = destination::pause(call.app, call.tenant, destination::DestinationKind::Webhook, row).await;
        Ok(paused.map_err(add_endpoint_id(&id))?.into())
    }

    /// Sends due events again, to an endpoint that is paused, disabled or resting. ADMIN.
    async fn resume_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<WebhookEndpoint> {
        let (call, row) = open_endpoint_id(ctx, &id)?;
        call.start_audit(ctx, SubjectKind::Endpoint, &[row]);
        let resumed = destination::resume(call.app, call.tenant, destination::DestinationKind::Webhook, row).await;
        Ok(resumed.map_err(add_endpoint_id(&id))?.into())
    }

    /// Deletes an endpoint and its deliveries. ADMIN.
    async fn delete_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<DeletePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        let Some((_, row)) = call.tenant.id_cipher.decode(IdKind::Destination, &id) else {
            return Ok(DeletePayload { deleted_id: None });
        };
        call.start_audit(ctx, SubjectKind::Endpoint, &[row]);
        let is_gone = destination::delete(call.app, call.tenant, destination::DestinationKind::Webhook, row).await?;
        Ok(DeletePayload { deleted_id: is_gone.then_some(id) })
    }

    /// Sends `test.ping` once, in any state of the endpoint, and returns the result. `RATE_LIMITED` after ten per
    /// tenant and minute. ADMIN.
    async fn test_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<OutboundDelivery> {
        let (call, row) = open_endpoint_id(ctx, &id)?;
        call.start_audit(ctx, SubjectKind::Endpoint, &[row]);
        let pinged = webhook::ping(&call.app.delivery, call.tenant, row).await.map_err(add_endpoint_id(&id))?;
        Ok(OutboundDelivery::of_kind(destination::DestinationKind::Webhook, pinged))
    }
}

/// Adds the endpoint's id to `NOT_FOUND`.
fn add_endpoint_id(id: &ID) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::NotFound { what, field, .. } if field.is_empty() => Error::not_found(what, id.as_str()),
        other => other,
    }
}

fn open_endpoint_id<'a>(ctx: &'a Context<'_>, id: &ID) -> Result<(CallContext<'a>, i64)> {
    let call = CallContext::with_role(ctx, ADMIN)?;
    Ok((call, open_row_id(call, IdKind::Destination, "id", id)?))
}
