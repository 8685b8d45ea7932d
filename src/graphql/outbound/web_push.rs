//! The tenant's Web Push sender, and the browsers of its users.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::audit_entry;

use super::destination_id;
use super::webhook::{OutboundAlarm, OutboundState};
use super::webhook_input::OutboundAlarmInput;
use crate::graphql::account::MutationSubject;
use crate::graphql::catalogue::DeletePayload;
use crate::graphql::context::{ADMIN, CallContext};
use crate::graphql::json::JsonScalar;
use crate::graphql::scalars::to_int;
use delivery::destination::{self, DeliveryState, DestinationKind, DestinationSettings};
use delivery::web_push;

/// The sender of messages to users' browsers, by the push services that the browsers chose.
pub struct WebPush(Box<destination::Destination>);

impl From<destination::Destination> for WebPush {
    fn from(of: destination::Destination) -> Self {
        Self(Box::new(of))
    }
}

/// The sender of messages to users' browsers, by the push services that the browsers chose.
#[Object]
impl WebPush {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        destination_id(CallContext::from_context(ctx), self.0.id)
    }

    /// How push services reach the operator.
    async fn contact(&self) -> &str {
        self.0.sender.as_deref().unwrap_or_default()
    }

    /// Why some push services may refuse `contact`; empty if none is known to.
    async fn warnings(&self) -> Vec<String> {
        web_push::contact_warning(self.0.sender.as_deref().unwrap_or_default()).into_iter().collect()
    }

    /// The public key that browsers subscribe with, in base64url. The private key is never shown.
    async fn key(&self) -> &str {
        self.0.public_key.as_deref().unwrap_or_default()
    }

    /// Base URL for links that are paths. Null: the page of the service worker that opens them.
    async fn link_base(&self) -> Option<&str> {
        self.0.link_base.as_deref()
    }

    /// Sent when Web Push is disabled. Null if only the log and the metrics report it.
    async fn alarm(&self) -> Option<OutboundAlarm> {
        destination::alarm_settings(&self.0).map(Into::into)
    }

    /// Whether it is used.
    async fn state(&self) -> OutboundState {
        self.0.state.into()
    }

    /// Why the last failed attempt failed, at any push service; 500 bytes at most.
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

/// All settings of Web Push. Its keys are not among them: they are created once and stay.
#[derive(InputObject)]
pub struct WebPushInput {
    /// How push services reach the operator: `mailto:ops@example.com`, or an https URL; at most 256 bytes. A contact
    /// without a public domain, such as `localhost`, is saved with a warning: Apple's push service refuses it.
    pub contact: String,
    /// Base URL for links that are paths: an absolute http(s) URL. Default: the page of the service worker that opens
    /// them.
    pub link_base: Option<String>,
    /// Sent when Web Push is disabled. Default: only the log and the metrics report it.
    pub alarm: Option<OutboundAlarmInput>,
}

impl From<WebPushInput> for web_push::SenderChange {
    fn from(input: WebPushInput) -> Self {
        let settings = DestinationSettings { link_base: input.link_base, alarm: input.alarm.map(Into::into) };
        Self { contact: input.contact, settings }
    }
}

/// Whether Web Push sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum WebPushSwitch {
    /// Sends due messages at once, even if it was disabled.
    On,
    /// Holds messages back. They are sent when it is on again, as far as the retention window reaches.
    Off,
}

/// The result of saving or deleting a browser's subscription.
#[derive(SimpleObject)]
pub struct PushSubscriptionPayload {
    /// Number of browsers that reach the user now.
    pub push_subscription_count: i32,
    #[graphql(flatten)]
    pub subject: MutationSubject,
}

#[derive(Default)]
pub struct PushQuery;

#[Object]
impl PushQuery {
    /// The tenant's Web Push, or null. ADMIN.
    async fn web_push(&self, ctx: &Context<'_>) -> Result<Option<WebPush>> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        Ok(destination::find_single(call.app, call.tenant, DestinationKind::WebPush).await?.map(Into::into))
    }

    /// The `applicationServerKey` for `PushManager.subscribe`, in base64url; null if Web Push is off. Any role.
    async fn web_push_key(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let call = CallContext::from_context(ctx);
        Ok(web_push::public_key(call.app, call.tenant).await?)
    }
}

#[derive(Default)]
pub struct PushMutation;

#[Object]
impl PushMutation {
    /// Creates the tenant's Web Push with its own keys, or replaces all settings except the keys and tries due messages
    /// at once. A new one sends notifications published from now on. `CONFLICT` if the server has no key to seal
    /// secrets (`TIDINGS_KEY`). ADMIN.
    async fn save_web_push(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "All settings.")] input: WebPushInput,
    ) -> Result<WebPush> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, audit_entry::SubjectKind::Tenant, &[]);
        let saved = web_push::save_sender(&call.app.delivery, call.tenant, &input.into()).await;
        Ok(saved.map_err(|error| error.with_field_prefix("input"))?.into())
    }

    /// Switches the tenant's Web Push on or off. `NOT_FOUND` if there is none. ADMIN.
    async fn switch_web_push(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The new state.")] to: WebPushSwitch,
    ) -> Result<WebPush> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, audit_entry::SubjectKind::Tenant, &[]);
        let of = destination::get_single(call.app, call.tenant, DestinationKind::WebPush).await?;
        Ok(match to {
            WebPushSwitch::On => destination::resume(call.app, call.tenant, DestinationKind::WebPush, of.id).await?,
            WebPushSwitch::Off => destination::pause(call.app, call.tenant, DestinationKind::WebPush, of.id).await?,
        }
        .into())
    }

    /// Replaces the keys of the tenant's Web Push, for example after a leak. This ends all subscriptions: it reaches
    /// users again once their browsers have subscribed with the new key. `NOT_FOUND` if there is none. ADMIN.
    async fn renew_web_push_key(&self, ctx: &Context<'_>) -> Result<WebPush> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, audit_entry::SubjectKind::Tenant, &[]);
        Ok(web_push::renew_keys(&call.app.delivery, call.tenant).await?.into())
    }

    /// Deletes the tenant's Web Push with its keys, its deliveries and all subscriptions. ADMIN.
    async fn delete_web_push(&self, ctx: &Context<'_>) -> Result<DeletePayload> {
        let call = CallContext::with_role(ctx, ADMIN)?;
        call.start_audit::<&str>(ctx, audit_entry::SubjectKind::Tenant, &[]);
        let Some(of) = destination::find_single(call.app, call.tenant, DestinationKind::WebPush).await? else {
            return Ok(DeletePayload { deleted_id: None });
        };
        let is_gone = web_push::delete_sender(call.app, call.tenant, of.id).await?;
        Ok(DeletePayload { deleted_id: is_gone.then(|| destination_id(call, of.id)) })
    }

    /// Subscribes a browser for the token's user; SERVICE and ADMIN name a `user`. Another user's subscription of the
    /// same browser ends. At most 10 browsers per user: one more replaces the oldest. Repeated calls are fine.
    /// `CONFLICT` if the tenant has no Web Push.
    async fn save_push_subscription(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The browser's `PushSubscription`, as its `toJSON()` returns it: `endpoint`, an https URL of at most 2,048 bytes, and `keys` with `p256dh` and `auth`."
        )]
        subscription: JsonScalar,
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> Result<PushSubscriptionPayload> {
        let call = CallContext::from_context(ctx);
        let user = call.mention_subject("user", user.as_ref()).await?;
        call.start_audit(ctx, audit_entry::SubjectKind::User, &[user]);
        let saved = web_push::subscribe_browser(&call.app.delivery, call.tenant, user, &subscription.0).await;
        saved.map_err(|error| error.with_field_prefix("subscription"))?;
        subscription_payload(call, user).await
    }

    /// Ends a browser's subscription for the token's user; SERVICE and ADMIN name a `user`. Does nothing if there is
    /// none, or if the tenant does not know the user.
    async fn delete_push_subscription(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `endpoint` of the browser's `PushSubscription`.")] endpoint: String,
        #[graphql(desc = "Your id of the user. Default for USER: the token's user. All other roles must name one.")]
        user: Option<ID>,
    ) -> Result<PushSubscriptionPayload> {
        let call = CallContext::from_context(ctx);
        let Some(user) = call.find_subject("user", user.as_ref()).await? else {
            return Ok(PushSubscriptionPayload { push_subscription_count: 0, subject: MutationSubject(None) });
        };
        call.start_audit(ctx, audit_entry::SubjectKind::User, &[user]);
        web_push::unsubscribe_browser(call.app, user, &endpoint).await?;
        subscription_payload(call, user).await
    }
}

async fn subscription_payload(call: CallContext<'_>, user: entity::ids::UserId) -> Result<PushSubscriptionPayload> {
    let browsers = web_push::list_browsers(call.app, user).await?;
    Ok(PushSubscriptionPayload {
        push_subscription_count: to_int(browsers.len()),
        subject: MutationSubject(Some(user)),
    })
}
