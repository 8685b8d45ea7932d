//! The official account by which a tenant's messages go out over WeChat.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result};
use entity::audit_entry::Subject;

use super::lane_id;
use super::webhook::{OutboundAlarm, OutboundState};
use super::webhook_input::OutboundAlarmInput;
use crate::domain::dispatch;
use crate::domain::lane::{self, DeliveryState, Kind, Settings};
use crate::domain::wechat;
use crate::graphql::catalogue::DeletePayload;
use crate::graphql::context::{ADMIN, Call};
use crate::graphql::scalars::{Instant, int};

/// The official account by which a tenant's template messages go to users who follow it.
pub struct WeChatAccount(Box<lane::Lane>);

impl From<lane::Lane> for WeChatAccount {
    fn from(of: lane::Lane) -> Self {
        Self(Box::new(of))
    }
}

/// The official account by which a tenant's template messages go to users who follow it.
#[Object]
impl WeChatAccount {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        lane_id(Call::of(ctx), self.0.id)
    }

    /// The account's `appid`. Its secret nobody is shown again.
    async fn app_id(&self) -> &str {
        self.0.sender.as_deref().unwrap_or_default()
    }

    /// What links of notifications that are paths belong to; null: a message with such a link leads nowhere.
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

    /// Until when nothing is tried: since it has failed five times in a row or more, or has sent all that it may on this day, which ends at
    /// midnight in Shanghai. Null where it is not so.
    async fn resting_until(&self, ctx: &Context<'_>) -> Option<Instant> {
        lane::resting_until(Call::of(ctx).app, &self.0).map(Into::into)
    }

    /// Why the last attempt failed that did, with the code that WeChat gave; 500 bytes at most.
    async fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// How many messages wait to be sent, or to be tried again. What is not due yet is not among them.
    async fn pending_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(lane::pending(Call::of(ctx).app, &self.0).await?))
    }

    /// How many messages were given up, of those of the retention window.
    async fn dead_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(int(lane::many(Call::of(ctx).app, &self.0, DeliveryState::Dead).await?))
    }
}

/// All of an account.
#[derive(InputObject)]
pub struct WeChatAccountInput {
    /// The account's `appid`; 1 to 128 letters, digits, `-` and `_`.
    pub app_id: String,
    /// The account's `AppSecret`, which is kept sealed; 1 to 128 letters, digits, `-` and `_`.
    pub secret: String,
    /// What links of notifications that are paths belong to: an absolute http(s) URL.
    pub link_base: Option<String>,
    /// Whom it tells that it was disabled; the log and the figures where it is left out.
    pub alarm: Option<OutboundAlarmInput>,
}

impl From<WeChatAccountInput> for wechat::Change {
    fn from(input: WeChatAccountInput) -> Self {
        Self {
            app_id: input.app_id,
            secret: input.secret,
            settings: Settings { link_base: input.link_base, alarm: input.alarm.map(Into::into) },
        }
    }
}

/// Whether an account is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum WeChatAccountSwitch {
    /// What is due, at once: also by one that was disabled, or rests.
    On,
    /// Nothing for now. What happens meanwhile is sent when it is on again, as far as the retention window goes back.
    Off,
}

#[derive(Default)]
pub struct WeChatQuery;

#[Object]
impl WeChatQuery {
    /// The tenant's official account of WeChat; null where it has none, and sends nothing by WeChat. ADMIN.
    async fn we_chat_account(&self, ctx: &Context<'_>) -> Result<Option<WeChatAccount>> {
        let call = Call::by(ctx, ADMIN)?;
        Ok(lane::only(call.app, call.tenant, Kind::WeChat).await?.map(Into::into))
    }
}

#[derive(Default)]
pub struct WeChatMutation;

#[Object]
impl WeChatMutation {
    /// Makes the tenant's account of WeChat, or replaces all of its settings, and tries at once what is due. A new one sends what is published
    /// from now on. `CONFLICT` where the server was given no key to keep secrets with. ADMIN.
    async fn save_we_chat_account(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "All of it.")] input: WeChatAccountInput,
    ) -> Result<WeChatAccount> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, Subject::Tenant, &[]);
        let saved = wechat::save(call.app, call.tenant, &input.into()).await;
        Ok(saved.map_err(|error| error.within("input"))?.into())
    }

    /// Lets the tenant's account of WeChat send, or not. `NOT_FOUND` where there is none. ADMIN.
    async fn switch_we_chat_account(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which.")] to: WeChatAccountSwitch,
    ) -> Result<WeChatAccount> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, Subject::Tenant, &[]);
        let account = lane::only_known(call.app, call.tenant, Kind::WeChat).await?;
        Ok(match to {
            WeChatAccountSwitch::On => lane::resume(call.app, call.tenant, Kind::WeChat, account.id).await?,
            WeChatAccountSwitch::Off => lane::pause(call.app, call.tenant, Kind::WeChat, account.id).await?,
        }
        .into())
    }

    /// Deletes the tenant's account of WeChat with all that was to be sent, or was sent, by it. The account there stays as it is. ADMIN.
    async fn delete_we_chat_account(&self, ctx: &Context<'_>) -> Result<DeletePayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, Subject::Tenant, &[]);
        let Some(account) = lane::only(call.app, call.tenant, Kind::WeChat).await? else {
            return Ok(DeletePayload { deleted_id: None });
        };
        let is_gone = dispatch::delete(call.app, call.tenant, Kind::WeChat, account.id).await?;
        Ok(DeletePayload { deleted_id: is_gone.then(|| lane_id(call, account.id)) })
    }
}
