//! The tenant's mail relay.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result};
use entity::audit_entry::SubjectKind;

use super::destination_id;
use super::webhook::{OutboundAlarm, OutboundState};
use super::webhook_input::OutboundAlarmInput;
use crate::graphql::catalogue::DeletePayload;
use crate::graphql::context::{ADMIN, CallContext};
use crate::graphql::scalars::{DateTimeScalar, to_int};
use delivery::destination::{self, DeliveryState, DestinationKind, DestinationSettings};
use delivery::{dispatch, mail};

/// The SMTP server that sends the tenant's mail.
pub struct MailRelay(Box<destination::Destination>);

impl From<destination::Destination> for MailRelay {
    fn from(of: destination::Destination) -> Self {
        Self(Box::new(of))
    }
}

/// The SMTP server that sends the tenant's mail.
#[Object]
impl MailRelay {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        destination_id(CallContext::from_context(ctx), self.0.id)
    }

    /// URL of the server, without user name and password, which are never shown again.
    async fn url(&self) -> &str {
        &self.0.url
    }

    /// The sender's address, with its name if it has one.
    async fn from(&self) -> &str {
        self.0.sender.as_deref().unwrap_or_default()
    }

    /// Address for replies; null for `from`.
    async fn reply_to(&self) -> Option<&str> {
        self.0.reply_to.as_deref()
    }

    /// Base URL for links that are paths; null if mail leaves such links out.
    async fn link_base(&self) -> Option<&str> {
        self.0.link_base.as_deref()
    }

    /// Sent when the relay is disabled. Null if only the log and the metrics report it.
    async fn alarm(&self) -> Option<OutboundAlarm> {
        destination::alarm_settings(&self.0).map(Into::into)
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

    /// Why the last failed attempt failed, 500 bytes at most.
    async fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// Due emails that wait for their first or next attempt.
    async fn pending_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(to_int(destination::count_pending_deliveries(CallContext::from_context(ctx).app, &self.0).await?))
    }

    /// Emails of the retention window that were given up.
    async fn dead_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(to_int(
            destination::count_deliveries(CallContext::from_context(ctx).app, &self.0, DeliveryState::Dead).await?,
        ))
    }
}

/// All settings of a relay.
#[derive(InputObject)]
pub struct MailRelayInput {
    /// `smtps://user:password@host:465`, or `smtp://user:password@host:587`, which requires STARTTLS. `?tls=none`
    /// sends without encryption, if `TIDINGS_EGRESS_ALLOW` lists the host. User name and password are percent-encoded,
    /// and stored sealed.
    pub url: String,
    /// The sender's address: `ada@example.com`, or `Ada <ada@example.com>`.
    pub from: String,
    /// Address for replies, if it differs.
    pub reply_to: Option<String>,
    /// Base URL for links that are paths: an absolute http(s) URL.
    pub link_base: Option<String>,
    /// Sent when the relay is disabled. Default: only the log and the metrics report it.
    pub alarm: Option<OutboundAlarmInput>,
}

impl From<MailRelayInput> for mail::RelayChange {
    fn from(input: MailRelayInput) -> Self {
        Self {
            url: input.url,
            from: input.from,
            reply_to: input.reply_to,
            settings: DestinationSettings { link_base: input.link_base, alarm: input.alarm.map(Into::into) },
        }
    }
}

/// Whether a relay sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum MailRelaySwitch {
    /// Sends due emails at once, even if the relay was disabled or resting.
    On,
    /// Holds emails back. They are sent when it is on again, as far as the retention window reaches.
    Off,
}

#[derive(Default)]
pub struct MailQuery;

#[Object]
impl MailQuery {
    /// The tenant's mail relay, or null. ADMIN.
    async fn mail_relay(&self, ctx: &Context<'_>) -> Result<Option<MailRelay>> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        Ok(destination::find_single(call.app, call.tenant, DestinationKind::Email).await?.map(Into::into))
    }
}

#[derive(Default)]
pub struct MailMutation;

#[Object]
impl MailMutation {
    /// Creates the tenant's relay, or replaces all of its settings and tries due emails at once. A new relay sends
    /// notifications published from now on. `CONFLICT` if the server has no key to seal secrets (`TIDINGS_KEY`). ADMIN.
    async fn save_mail_relay(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "All settings.")] input: MailRelayInput,
    ) -> Result<MailRelay> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, SubjectKind::Tenant, &[]);
        let saved = mail::save_relay(&call.app.delivery, call.tenant, &input.into()).await;
        Ok(saved.map_err(|error| error.with_field_prefix("input"))?.into())
    }

    /// Switches the tenant's relay on or off. `NOT_FOUND` if there is none. ADMIN.
    async fn switch_mail_relay(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new state.")] to: MailRelaySwitch,
    ) -> Result<MailRelay> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, SubjectKind::Tenant, &[]);
        let relay = destination::get_single(call.app, call.tenant, DestinationKind::Email).await?;
        Ok(match to {
            MailRelaySwitch::On => destination::resume(call.app, call.tenant, DestinationKind::Email, relay.id).await?,
            MailRelaySwitch::Off => destination::pause(call.app, call.tenant, DestinationKind::Email, relay.id).await?,
        }
        .into())
    }

    /// Deletes the tenant's relay and its deliveries. ADMIN.
    async fn delete_mail_relay(&self, ctx: &Context<'_>) -> Result<DeletePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, SubjectKind::Tenant, &[]);
        let Some(relay) = destination::find_single(call.app, call.tenant, DestinationKind::Email).await? else {
            return Ok(DeletePayload { deleted_id: None });
        };
        let is_gone = dispatch::delete_destination(call.app, call.tenant, DestinationKind::Email, relay.id).await?;
        Ok(DeletePayload { deleted_id: is_gone.then(|| destination_id(call, relay.id)) })
    }
}
