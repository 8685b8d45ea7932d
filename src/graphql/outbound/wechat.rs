//! The tenant's WeChat account.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result};
use entity::audit_entry::SubjectKind;

use super::destination_id;
use super::webhook::{OutboundAlarm, OutboundState};
use super::webhook_input::OutboundAlarmInput;
use crate::graphql::catalogue::DeletePayload;
use crate::graphql::context::{ADMIN, CallContext};
use crate::graphql::scalars::{DateTimeScalar, to_int};
use delivery::destination::{self, DeliveryState, DestinationKind, DestinationSettings};
use delivery::{dispatch, wechat};

/// The WeChat official account that sends template messages to the users who follow it.
pub struct WeChatAccount(Box<destination::Destination>);

impl From<destination::Destination> for WeChatAccount {
    fn from(of: destination::Destination) -> Self {
        Self(Box::new(of))
    }
}

/// The WeChat official account that sends template messages to the users who follow it.
#[Object]
impl WeChatAccount {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        destination_id(CallContext::from_context(ctx), self.0.id)
    }

    /// The account's `appid`. Its secret is never shown again.
    async fn app_id(&self) -> &str {
        self.0.sender.as_deref().unwrap_or_default()
    }

    /// Base URL for links that are paths; null if messages leave such links out.
    async fn link_base(&self) -> Option<&str> {
        self.0.link_base.as_deref()
    }

    /// Sent when the account is disabled. Null if only the log and the metrics report it.
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

    /// End of the pause after five or more failures in a row, or after WeChat's daily quota, which renews at midnight
    /// in Shanghai; null if it is not resting.
    async fn resting_until(&self, ctx: &Context<'_>) -> Option<DateTimeScalar> {
        destination::back_off_until(CallContext::from_context(ctx).app, &self.0).map(Into::into)
    }

    /// Why the last failed attempt failed, with WeChat's code; 500 bytes at most.
    async fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    /// Due messages that wait for their first or next attempt.
    async fn pending_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(to_int(destination::count_pending_deliveries(CallContext::from_context(ctx).app, &self.0).await?))
    }

    /// Messages of the retention window that were given up.
    async fn dead_count(&self, ctx: &Context<'_>) -> Result<i32> {
        Ok(to_int(
            destination::count_deliveries(CallContext::from_context(ctx).app, &self.0, DeliveryState::Dead).await?,
        ))
    }
}

/// All settings of an account.
#[derive(InputObject)]
pub struct WeChatAccountInput {
    /// The account's `appid`; 1 to 128 letters, digits, `-` and `_`.
    pub app_id: String,
    /// The account's `AppSecret`, stored sealed; 1 to 128 letters, digits, `-` and `_`.
    pub secret: String,
    /// Base URL for links that are paths: an absolute http(s) URL.
    pub link_base: Option<String>,
    /// Sent when the account is disabled. Default: only the log and the metrics report it.
    pub alarm: Option<OutboundAlarmInput>,
}

impl From<WeChatAccountInput> for wechat::AccountChange {
    fn from(input: WeChatAccountInput) -> Self {
        Self {
            app_id: input.app_id,
            secret: input.secret,
            settings: DestinationSettings { link_base: input.link_base, alarm: input.alarm.map(Into::into) },
        }
    }
}

/// Whether an account sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum WeChatAccountSwitch {
    /// Sends due messages at once, even if the account was disabled or resting.
    On,
    /// Holds messages back. They are sent when it is on again, as far as the retention window reaches.
    Off,
}

#[derive(Default)]
pub struct WeChatQuery;

#[Object]
impl WeChatQuery {
    /// The tenant's WeChat account, or null. ADMIN.
    async fn we_chat_account(&self, ctx: &Context<'_>) -> Result<Option<WeChatAccount>> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        Ok(destination::find_single(call.app, call.tenant, DestinationKind::WeChat).await?.map(Into::into))
    }
}

#[derive(Default)]
pub struct WeChatMutation;

#[Object]
impl WeChatMutation {
    /// Creates the tenant's WeChat account, or replaces all of its settings and tries due messages at once. A new
    /// account sends notifications published from now on. `CONFLICT` if the server has no key to seal secrets
    /// (`TIDINGS_KEY`). ADMIN.
    async fn save_we_chat_account(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "All settings.")] input: WeChatAccountInput,
    ) -> Result<WeChatAccount> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, SubjectKind::Tenant, &[]);
        let saved = wechat::save_account(&call.app.delivery, call.tenant, &input.into()).await;
        Ok(saved.map_err(|error| error.with_field_prefix("input"))?.into())
    }

    /// Switches the tenant's WeChat account on or off. `NOT_FOUND` if there is none. ADMIN.
    async fn switch_we_chat_account(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new state.")] to: WeChatAccountSwitch,
    ) -> Result<WeChatAccount> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, SubjectKind::Tenant, &[]);
        let account = destination::get_single(call.app, call.tenant, DestinationKind::WeChat).await?;
        Ok(match to {
            WeChatAccountSwitch::On => {
                destination::resume(call.app, call.tenant, DestinationKind::WeChat, account.id).await?
            }
            WeChatAccountSwitch::Off => {
                destination::pause(call.app, call.tenant, DestinationKind::WeChat, account.id).await?
            }
        }
        .into())
    }

    /// Deletes the tenant's WeChat account and its deliveries from Tidings. The account at WeChat stays as it is.
    /// ADMIN.
    async fn delete_we_chat_account(&self, ctx: &Context<'_>) -> Result<DeletePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, SubjectKind::Tenant, &[]);
        let Some(account) = destination::find_single(call.app, call.tenant, DestinationKind::WeChat).await? else {
            return Ok(DeletePayload { deleted_id: None });
        };
        let is_gone = dispatch::delete_destination(call.app, call.tenant, DestinationKind::WeChat, account.id).await?;
        Ok(DeletePayload { deleted_id: is_gone.then(|| destination_id(call, account.id)) })
    }
}
