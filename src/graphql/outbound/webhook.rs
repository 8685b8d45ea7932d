//! Endpoints of webhooks.

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};
use entity::audit_entry::Subject;

use super::delivery::OutboundDelivery;
use super::webhook_input::{CreateWebhookEndpointInput, UpdateWebhookEndpointInput, WebhookEvent};
use super::{lane_id, opened};
use crate::domain::lane;
use crate::domain::webhook::{self, DeliveryState};
use crate::graphql::catalogue::DeletePayload;
use crate::graphql::context::{ADMIN, Call};
use crate::graphql::scalars::{Instant, int};
use crate::model::alarm::Alarm;
use crate::model::delivery::EVENTS;
use crate::model::seal::Kind;

/// Whether anything is sent to an endpoint, or by a relay or account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "webhook::State")]
pub enum OutboundState {
    /// It is.
    Active,
    /// Somebody has paused it.
    Paused,
    /// It was given up: it has failed for five days, has answered with status 410, or (of WeChat) that the account may not send or has another
    /// secret. Resuming it tries it again.
    Disabled,
}

/// An announcement to a group.
#[derive(SimpleObject)]
pub struct OutboundAlarm {
    /// Code of its message type.
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

/// Where a tenant's events go: an address of somebody's server.
#[derive(Clone)]
pub struct WebhookEndpoint(Box<webhook::Endpoint>);

impl From<webhook::Endpoint> for WebhookEndpoint {
    fn from(of: webhook::Endpoint) -> Self {
        Self(Box::new(of))
    }
}

/// Where a tenant's events go: an address of somebody's server.
#[Object]
impl WebhookEndpoint {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        lane_id(Call::of(ctx), self.0.id)
    }

    /// To which each event is posted.
    async fn url(&self) -> &str {
        &self.0.url
    }

    /// What it wants to hear of.
    async fn events(&self) -> Vec<WebhookEvent> {
        let wanted = EVENTS.iter().filter(|(event, _)| self.0.events & event.bit() != 0);
        wanted.map(|(event, _)| (*event).into()).collect()
    }

    /// Whether it is sent the texts of notifications, too.
    async fn full(&self) -> bool {
        self.0.is_full
    }

    /// Whom it tells that it was disabled.
    async fn alarm(&self) -> Option<OutboundAlarm> {
        webhook::alarm_of(&self.0).map(Into::into)
    }

    /// Whether anything is sent to it.
    async fn state(&self) -> OutboundState {
        self.0.state.into()
    }

    /// Since when nothing but failures has been; null where the last attempt succeeded, or there was none.
    async fn failing_since(&self) -> Option<Instant> {
        self.0.failing_since.map(Into::into)
    }

    /// Until when nothing is tried, since it has failed five times in a row or more; null where it is not so.
    async fn resting_until(&self, ctx: &Context<'_>) -> Option<Instant> {
        lane::resting_until(Call::of(ctx).app, &self.0).map(Into::into)
    }

    /// When the last attempt ended.
    async fn last_attempt_at(&self) -> Option<Instant> {
        self.0.attempted_at.map(Into::into)
    }

    /// HTTP status of the last attempt; null where there was no answer.
    async fn last_status(&self) -> Option<i32> {
        self.0.last_status.map(int)
    }

    /// Why the last attempt failed that did; 500 bytes at most.
    async fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// How many deliveries wait to be sent, or to be tried again.
    async fn pending_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(lane::pending(Call::of(ctx).app, &self.0).await?))
    }

    /// How many deliveries were given up, of those of the retention window.
    async fn dead_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(lane::many(Call::of(ctx).app, &self.0, DeliveryState::Dead).await?))
    }

    /// Until when the secret before signs, too; null where there is none that does.
    async fn previous_secret_until(&self, ctx: &Context<'_>) -> Option<Instant> {
        self.0.previous_until.filter(|until| *until > Call::of(ctx).app.now()).map(Into::into)
    }

    /// When it was made.
    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }
}

/// A new endpoint.
#[derive(SimpleObject)]
pub struct CreateWebhookEndpointPayload {
    /// As it is now.
    pub endpoint: WebhookEndpoint,
    /// Signs what is sent to it; `whsec_` and base64. It is in this answer and in no other.
    pub secret: String,
}

/// An endpoint with another secret.
#[derive(SimpleObject)]
pub struct RotateWebhookSecretPayload {
    /// As it is now.
    pub endpoint: WebhookEndpoint,
    /// Signs what is sent to it, beside the one before for 24 hours. It is in this answer and in no other.
    pub secret: String,
}

#[derive(Default)]
pub struct WebhookQuery;

#[Object]
impl WebhookQuery {
    /// The tenant's endpoints of webhooks, oldest first. ADMIN.
    async fn webhook_endpoints(&self, ctx: &Context<'_>) -> Result<Vec<WebhookEndpoint>> {
        let call = Call::by(ctx, ADMIN)?;
        Ok(lane::all(call.app, call.tenant, lane::Kind::Webhook).await?.into_iter().map(Into::into).collect())
    }

    /// The endpoint with this id; null where there is none. ADMIN.
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
    /// Makes an endpoint, which hears of what happens from now on. `CONFLICT` where the tenant has 20, or the server was given no key to keep
    /// secrets with. ADMIN.
    async fn create_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What it is.")] input: CreateWebhookEndpointInput,
    ) -> Result<CreateWebhookEndpointPayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, Subject::Endpoint, &[]);
        let made = webhook::create(call.app, call.tenant, &input.into()).await;
        let made = made.map_err(|error| error.within("input"))?;
        Ok(CreateWebhookEndpointPayload { endpoint: made.endpoint.into(), secret: made.secret.text() })
    }

    /// Changes an endpoint. ADMIN.
    async fn update_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
        #[graphql(desc = "What to change.")] input: UpdateWebhookEndpointInput,
    ) -> Result<WebhookEndpoint> {
        let call = Call::by(ctx, ADMIN)?;
        // What is wrong with the input is told first, whatever the id: there is no endpoint 0.
        let row = call.tenant.seal.open(Kind::Lane, &id).map_or(0, |(_, row)| row);
        call.audits(ctx, Subject::Endpoint, &[row]);
        let updated = async { webhook::update(call.app, call.tenant, row, &input.change()?).await };
        Ok(updated.await.map_err(|error| error.within("input"))?.into())
    }

    /// Gives an endpoint another secret. What is sent is signed with both for 24 hours. ADMIN.
    async fn rotate_webhook_secret(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<RotateWebhookSecretPayload> {
        let (call, row) = named(ctx, &id)?;
        call.audits(ctx, Subject::Endpoint, &[row]);
        let made = webhook::rotate(call.app, call.tenant, row).await?;
        Ok(RotateWebhookSecretPayload { endpoint: made.endpoint.into(), secret: made.secret.text() })
    }

    /// Sends an endpoint nothing for now. What happens meanwhile is sent when it is resumed, as far as the retention window goes back.
    /// ADMIN.
    async fn pause_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<WebhookEndpoint> {
        let (call, row) = named(ctx, &id)?;
        call.audits(ctx, Subject::Endpoint, &[row]);
        Ok(lane::pause(call.app, call.tenant, lane::Kind::Webhook, row).await?.into())
    }

    /// Sends again what is due: to an endpoint that was paused or disabled, or rests since it has failed. ADMIN.
    async fn resume_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<WebhookEndpoint> {
        let (call, row) = named(ctx, &id)?;
        call.audits(ctx, Subject::Endpoint, &[row]);
        Ok(lane::resume(call.app, call.tenant, lane::Kind::Webhook, row).await?.into())
    }

    /// Deletes an endpoint with all that was to be sent, or was sent, to it. ADMIN.
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

    /// Sends `test.ping` to an endpoint now, once, whatever its state, and answers with what came of it. `RATE_LIMITED` after ten of the
    /// tenant in a minute. ADMIN.
    async fn test_webhook_endpoint(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `WebhookEndpoint`.")] id: ID,
    ) -> Result<OutboundDelivery> {
        let (call, row) = named(ctx, &id)?;
        call.audits(ctx, Subject::Endpoint, &[row]);
        let pinged = webhook::ping(call.app, call.tenant, row).await?;
        Ok(OutboundDelivery::along(lane::Kind::Webhook, pinged))
    }
}

fn named<'a>(ctx: &'a Context<'_>, id: &ID) -> Result<(Call<'a>, i64)> {
    let call = Call::by(ctx, ADMIN)?;
    Ok((call, opened(call, Kind::Lane, "id", id)?))
}
