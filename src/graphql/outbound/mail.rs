//! The relay of a tenant's mail.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result};
use entity::audit_entry::Subject;

use super::lane_id;
use super::webhook::{OutboundAlarm, OutboundState};
use super::webhook_input::OutboundAlarmInput;
use crate::domain::dispatch;
use crate::domain::lane::{self, DeliveryState, Kind, Settings};
use crate::domain::mail;
use crate::graphql::catalogue::DeletePayload;
use crate::graphql::context::{ADMIN, Call};
use crate::graphql::scalars::{Instant, int};

/// The server that takes a tenant's mail to its users.
pub struct MailRelay(Box<lane::Lane>);

impl From<lane::Lane> for MailRelay {
    fn from(of: lane::Lane) -> Self {
        Self(Box::new(of))
    }
}

/// The server that takes a tenant's mail to its users.
#[Object]
impl MailRelay {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        lane_id(Call::of(ctx), self.0.id)
    }

    /// Without user name and password, which nobody is shown again.
    async fn url(&self) -> &str {
        &self.0.url
    }

    /// The address that mail comes from, with its name where it has one.
    async fn from(&self) -> &str {
        self.0.sender.as_deref().unwrap_or_default()
    }

    /// Where answers go; null where they go to `from`.
    async fn reply_to(&self) -> Option<&str> {
        self.0.reply_to.as_deref()
    }

    /// What links of notifications that are paths belong to; null: such a link is left out of mail.
    async fn link_base(&self) -> Option<&str> {
        self.0.link_base.as_deref()
    }

    /// Whom it tells that it was disabled.
    async fn alarm(&self) -> Option<OutboundAlarm> {
        lane::alarm_of(&self.0).map(Into::into)
    }

    /// Whether anything is sent by it.
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

    /// Why the last attempt failed that did; 500 bytes at most.
    async fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// How many letters wait to be sent, or to be tried again. What is not due yet is not among them.
    async fn pending_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(lane::pending(Call::of(ctx).app, &self.0).await?))
    }

    /// How many letters were given up, of those of the retention window.
    async fn dead_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(lane::many(Call::of(ctx).app, &self.0, DeliveryState::Dead).await?))
    }
}

/// All of a relay.
#[derive(InputObject)]
pub struct MailRelayInput {
    /// `smtps://user:password@host:465`, or `smtp://user:password@host:587`, which begins to encrypt before anything is told; without
    /// encryption by `?tls=none`, where whoever runs the server has allowed the host. User name and password are percent-encoded, and kept
    /// sealed.
    pub url: String,
    /// The address that mail comes from: `ada@example.com`, or `Ada <ada@example.com>`.
    pub from: String,
    /// Where answers go, where that is another address.
    pub reply_to: Option<String>,
    /// What links of notifications that are paths belong to: an absolute http(s) URL.
    pub link_base: Option<String>,
    /// Whom it tells that it was disabled; the log and the figures where it is left out.
    pub alarm: Option<OutboundAlarmInput>,
}

impl From<MailRelayInput> for mail::Change {
    fn from(input: MailRelayInput) -> Self {
        Self {
            url: input.url,
            from: input.from,
            reply_to: input.reply_to,
            settings: Settings { link_base: input.link_base, alarm: input.alarm.map(Into::into) },
        }
    }
}

/// Whether a relay is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum MailRelaySwitch {
    /// What is due, at once: also by one that was disabled, or rests since it has failed.
    On,
    /// Nothing for now. What happens meanwhile is sent when it is on again, as far as the retention window goes back.
    Off,
}

#[derive(Default)]
pub struct MailQuery;

#[Object]
impl MailQuery {
    /// The tenant's relay for mail; null where it has none, and sends no mail. ADMIN.
    async fn mail_relay(&self, ctx: &Context<'_>) -> Result<Option<MailRelay>> {
        let call = Call::by(ctx, ADMIN)?;
        Ok(lane::only(call.app, call.tenant, Kind::Email).await?.map(Into::into))
    }
}

#[derive(Default)]
pub struct MailMutation;

#[Object]
impl MailMutation {
    /// Makes the tenant's relay, or replaces all of its settings, and tries at once what is due. A new one sends what is published from now
    /// on. `CONFLICT` where the server was given no key to keep secrets with. ADMIN.
    async fn save_mail_relay(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "All of it.")] input: MailRelayInput,
    ) -> Result<MailRelay> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, Subject::Tenant, &[]);
        let saved = mail::save(call.app, call.tenant, &input.into()).await;
        Ok(saved.map_err(|error| error.within("input"))?.into())
    }

    /// Lets the tenant's relay send, or not. `NOT_FOUND` where there is none. ADMIN.
    async fn switch_mail_relay(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which.")] to: MailRelaySwitch,
    ) -> Result<MailRelay> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, Subject::Tenant, &[]);
        let relay = lane::only_known(call.app, call.tenant, Kind::Email).await?;
        Ok(match to {
            MailRelaySwitch::On => lane::resume(call.app, call.tenant, Kind::Email, relay.id).await?,
            MailRelaySwitch::Off => lane::pause(call.app, call.tenant, Kind::Email, relay.id).await?,
        }
        .into())
    }

    /// Deletes the tenant's relay with all that was to be sent, or was sent, by it. ADMIN.
    async fn delete_mail_relay(&self, ctx: &Context<'_>) -> Result<DeletePayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, Subject::Tenant, &[]);
        let Some(relay) = lane::only(call.app, call.tenant, Kind::Email).await? else {
            return Ok(DeletePayload { deleted_id: None });
        };
        let is_gone = dispatch::delete(call.app, call.tenant, Kind::Email, relay.id).await?;
        Ok(DeletePayload { deleted_id: is_gone.then(|| lane_id(call, relay.id)) })
    }
}
