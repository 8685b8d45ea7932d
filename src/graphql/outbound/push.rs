//! The tenant's sender of Web Push, and the browsers of its users.

use async_graphql::{Context, Enum, ID, InputObject, Object, Result, SimpleObject};
use entity::audit_entry;

use super::lane_id;
use super::webhook::{OutboundAlarm, OutboundState};
use super::webhook_input::OutboundAlarmInput;
use crate::domain::lane::{self, DeliveryState, Kind, Settings};
use crate::domain::push;
use crate::graphql::account::Subject;
use crate::graphql::catalogue::DeletePayload;
use crate::graphql::context::{ADMIN, Call};
use crate::graphql::json::Json;
use crate::graphql::scalars::int;

/// By what a tenant's messages go to users' browsers, over the push services that these have chosen.
pub struct WebPush(Box<lane::Lane>);

impl From<lane::Lane> for WebPush {
    fn from(of: lane::Lane) -> Self {
        Self(Box::new(of))
    }
}

/// By what a tenant's messages go to users' browsers, over the push services that these have chosen.
#[Object]
impl WebPush {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        lane_id(Call::of(ctx), self.0.id)
    }

    /// Where push services reach somebody who knows what is sent.
    async fn contact(&self) -> &str {
        self.0.sender.as_deref().unwrap_or_default()
    }

    /// What push services may not take of it, though it was saved; empty where nothing is wrong.
    async fn warnings(&self) -> Vec<String> {
        push::contact_warning(self.0.sender.as_deref().unwrap_or_default()).into_iter().collect()
    }

    /// The public key that browsers subscribe by, in base64url. The private one nobody is shown.
    async fn key(&self) -> &str {
        self.0.public_key.as_deref().unwrap_or_default()
    }

    /// What links of notifications that are paths belong to; null: to the page whose service worker opens them.
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

    /// Why the last attempt failed that did, whatever push service it was at; 500 bytes at most.
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

/// All of Web Push, but for its keys, which are made once and stay.
#[derive(InputObject)]
pub struct WebPushInput {
    /// How push services reach the operator: `mailto:ops@example.com`, or an https URL; 256 bytes at the most. At
    /// `localhost` it is saved with a warning: Apple's push service refuses it.
    pub contact: String,
    /// What links of notifications that are paths belong to: an absolute http(s) URL. Where it is left out, they belong to the page whose
    /// service worker opens them.
    pub link_base: Option<String>,
    /// Whom it tells that it was disabled; the log and the figures where it is left out.
    pub alarm: Option<OutboundAlarmInput>,
}

impl From<WebPushInput> for push::Change {
    fn from(input: WebPushInput) -> Self {
        let settings = Settings { link_base: input.link_base, alarm: input.alarm.map(Into::into) };
        Self { contact: input.contact, settings }
    }
}

/// Whether Web Push is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub enum WebPushSwitch {
    /// What is due, at once: also where it was disabled.
    On,
    /// Nothing for now. What happens meanwhile is sent when it is on again, as far as the retention window goes back.
    Off,
}

/// What saving or deleting a browser's subscription did.
#[derive(SimpleObject)]
pub struct PushSubscriptionPayload {
    /// How many browsers the user is reached in now.
    pub push_subscription_count: i32,
    #[graphql(flatten)]
    pub subject: Subject,
}

#[derive(Default)]
pub struct PushQuery;

#[Object]
impl PushQuery {
    /// The tenant's Web Push; null where it has none. ADMIN.
    async fn web_push(&self, ctx: &Context<'_>) -> Result<Option<WebPush>> {
        let call = Call::by(ctx, ADMIN)?;
        Ok(lane::only(call.app, call.tenant, Kind::WebPush).await?.map(Into::into))
    }

    /// The `applicationServerKey` for `PushManager.subscribe`, in base64url; null where Web Push is off.
    async fn web_push_key(&self, ctx: &Context<'_>) -> Result<Option<String>> {
        let call = Call::of(ctx);
        Ok(push::public_key(call.app, call.tenant).await?)
    }
}

#[derive(Default)]
pub struct PushMutation;

#[Object]
impl PushMutation {
    /// Makes the tenant's Web Push with keys of its own, or replaces all of its settings but them, and tries at once what is due. A new one
    /// sends what is published from now on. `CONFLICT` where the server was given no key to keep secrets with. ADMIN.
    async fn save_web_push(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "All of it.")] input: WebPushInput,
    ) -> Result<WebPush> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, audit_entry::Subject::Tenant, &[]);
        let saved = push::save(call.app, call.tenant, &input.into()).await;
        Ok(saved.map_err(|error| error.within("input"))?.into())
    }

    /// Lets the tenant's Web Push send, or not. `NOT_FOUND` where there is none. ADMIN.
    async fn switch_web_push(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Which.")] to: WebPushSwitch,
    ) -> Result<WebPush> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, audit_entry::Subject::Tenant, &[]);
        let of = lane::only_known(call.app, call.tenant, Kind::WebPush).await?;
        Ok(match to {
            WebPushSwitch::On => lane::resume(call.app, call.tenant, Kind::WebPush, of.id).await?,
            WebPushSwitch::Off => lane::pause(call.app, call.tenant, Kind::WebPush, of.id).await?,
        }
        .into())
    }

    /// Gives the tenant's Web Push other keys, as when somebody else may know them. This ends all subscriptions: nobody is reached until
    /// their browser has subscribed again, by the new key. `NOT_FOUND` where there is none. ADMIN.
    async fn renew_web_push_key(&self, ctx: &Context<'_>) -> Result<WebPush> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, audit_entry::Subject::Tenant, &[]);
        Ok(push::renew(call.app, call.tenant).await?.into())
    }

    /// Deletes the tenant's Web Push with its keys, with all that was to be sent, or was sent, by it, and with all subscriptions. ADMIN.
    async fn delete_web_push(&self, ctx: &Context<'_>) -> Result<DeletePayload> {
        let call = Call::by(ctx, ADMIN)?;
        call.audits::<&str>(ctx, audit_entry::Subject::Tenant, &[]);
        let Some(of) = lane::only(call.app, call.tenant, Kind::WebPush).await? else {
            return Ok(DeletePayload { deleted_id: None });
        };
        let is_gone = push::delete(call.app, call.tenant, of.id).await?;
        Ok(DeletePayload { deleted_id: is_gone.then(|| lane_id(call, of.id)) })
    }

    /// Reaches the token's user in a browser from now on; SERVICE and ADMIN name one by `user`. Whoever was reached in it before is so no
    /// more. At most 10 browsers a user: with another one the oldest goes. It may be saved as often as you like. `CONFLICT` where the
    /// tenant has no Web Push.
    async fn save_push_subscription(
        &self,
        ctx: &Context<'_>,
        #[graphql(
            desc = "The browser's `PushSubscription`, as its `toJSON()` has it: `endpoint`, an https URL of at most 2,048 bytes, and `keys` with `p256dh` and `auth`."
        )]
        subscription: Json,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<PushSubscriptionPayload> {
        let call = Call::of(ctx);
        let user = call.subject("user", user.as_ref()).await?;
        call.audits(ctx, audit_entry::Subject::User, &[user]);
        let saved = push::subscribe(call.app, call.tenant, user, &subscription.0).await;
        saved.map_err(|error| error.within("subscription"))?;
        payload(call, user).await
    }

    /// Reaches the token's user no more in a browser; SERVICE and ADMIN name one by `user`. Nothing happens where they were not, or the tenant does not know them.
    async fn delete_push_subscription(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `endpoint` of the browser's `PushSubscription`.")] endpoint: String,
        #[graphql(desc = "Whose, by the partner's own id; USER need not name themselves.")] user: Option<ID>,
    ) -> Result<PushSubscriptionPayload> {
        let call = Call::of(ctx);
        let Some(user) = call.known_subject("user", user.as_ref()).await? else {
            return Ok(PushSubscriptionPayload { push_subscription_count: 0, subject: Subject(None) });
        };
        call.audits(ctx, audit_entry::Subject::User, &[user]);
        push::unsubscribe(call.app, user, &endpoint).await?;
        payload(call, user).await
    }
}

async fn payload(call: Call<'_>, user: entity::ids::UserId) -> Result<PushSubscriptionPayload> {
    let browsers = push::browsers(call.app, user).await?;
    Ok(PushSubscriptionPayload { push_subscription_count: int(browsers.len()), subject: Subject(Some(user)) })
}
