//! Sending notifications.

use async_graphql::{Context, ID, InputObject, Object, OneofObject, Result, SimpleObject};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::admission::RateLimiter;
use super::channel::TargetInput;
use super::context::{CallContext, STAFF};
use super::json::JsonScalar;
use super::notification::SentNotification;
use super::overview::CappedCount;
use super::scalars::{DateTimeScalar, to_int};
use auth::CallerRole;
use base::error::Error;
use domain::notification::{self, Addressees, NotificationContent, NotificationInput};

/// Queries before a send.
#[derive(Default)]
pub struct SendQuery;

#[Object]
impl SendQuery {
    /// How many users an announcement would address if it were sent now, counted like `stats.audienceSize`. Preferences
    /// are ignored. Named users count once each, even if the tenant does not know them. The server counts at most a
    /// million users or members of groups: `exact` is false if there may be more. Fails like a send to this audience.
    /// SERVICE, ADMIN.
    async fn audience_size(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The audience of the announcement.")] audience: AudienceInput,
    ) -> Result<CappedCount> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let size = notification::audience_size(call.app, call.tenant, &into_addressees(audience)?).await?;
        Ok(CappedCount { count: to_int(size.users), exact: size.is_exact })
    }
}

/// Each time a user's message reaches this many bytes, it costs one more operation of the user's rate.
const COUNTED_BYTES: usize = 1024;

/// The result of a send.
#[derive(SimpleObject)]
pub struct SendPayload {
    /// The notification, or that of the first call if `replayed`.
    pub notification: SentNotification,
    /// True if the idempotency key had been used and nothing new was sent.
    pub replayed: bool,
}

/// Content of a notification.
#[derive(InputObject)]
#[graphql(name = "NotificationContentInput")]
pub struct ContentInput {
    /// 1 to 256 characters. Required, unless the type has a template.
    pub title: Option<String>,
    /// At most 16 KiB.
    pub body: Option<String>,
    /// Where a click leads: an absolute http(s) URL or a path, at most 2,048 characters.
    pub link: Option<String>,
    /// Variables of the type's template, at most 16 KiB of JSON.
    pub params: Option<JsonScalar>,
    /// JSON for the client, at most 16 KiB. The server returns it unchanged.
    pub data: Option<JsonScalar>,
}

impl From<ContentInput> for NotificationContent {
    fn from(input: ContentInput) -> Self {
        let json = |value: Option<JsonScalar>| value.map(|JsonScalar(value)| value);
        Self {
            title: input.title,
            body: input.body,
            link: input.link,
            params: json(input.params),
            data: json(input.data),
        }
    }
}

/// Audience of an announcement.
#[derive(OneofObject)]
#[graphql(name = "NotificationAudienceInput")]
pub enum AudienceInput {
    /// True: all users of the tenant, including users first mentioned within the retention window after it.
    Everyone(bool),
    /// Users who are in one of these groups at publication; 1 to 100 groups.
    Groups(Vec<String>),
    /// 1 to 10,000 users, by your ids.
    Users(Vec<ID>),
}

/// A notification to an audience.
#[derive(InputObject)]
#[graphql(name = "SendAnnouncementInput")]
pub struct AnnouncementInput {
    /// Code of a message type.
    pub r#type: String,
    /// The audience.
    pub audience: AudienceInput,
    /// The content.
    pub content: ContentInput,
    /// Your id of the sender. Default: no sender.
    pub sender: Option<ID>,
    /// Publishes within a second of this time instead of at once; at most ten years ahead. A time in the past means at
    /// once.
    pub publish_at: Option<DateTimeScalar>,
    /// In the future, and after `publishAt`. Default: the type's ttl after publication.
    pub expires_at: Option<DateTimeScalar>,
    /// 1 to 128 characters. A second call with the same key sends nothing and returns the notification of the first;
    /// with other content it is `CONFLICT`. Keys are kept as long as the notification. The tenant's services and
    /// operators share their keys; each user has separate ones.
    pub idempotency_key: Option<String>,
    /// True: `BAD_USER_INPUT` if the type's template fails on this notification; the error names the flaws, as
    /// `previewNotification` returns them. False: it is sent in any case, and readers see the text of `content` instead
    /// of each part that fails.
    #[graphql(default)]
    pub strict: bool,
}

/// A notification about an action on a target.
#[derive(InputObject)]
#[graphql(name = "SendReminderInput")]
pub struct ReminderInput {
    /// Code of a message type.
    pub r#type: String,
    /// The target.
    pub target: TargetInput,
    /// The action, such as `comment`; 1 to 128 characters.
    pub action: String,
    /// Your id of the user who did it. They do not receive the reminder; their followers do.
    pub sender: Option<ID>,
    /// The content.
    pub content: ContentInput,
    /// As in `SendAnnouncementInput`.
    pub publish_at: Option<DateTimeScalar>,
    /// In the future, and after `publishAt`. Default: the type's ttl after publication.
    pub expires_at: Option<DateTimeScalar>,
    /// As in `SendAnnouncementInput`.
    pub idempotency_key: Option<String>,
    /// As in `SendAnnouncementInput`.
    #[graphql(default)]
    pub strict: bool,
}

/// A notification to one user.
#[derive(InputObject)]
#[graphql(name = "SendMessageInput")]
pub struct MessageInput {
    /// Code of a message type.
    pub r#type: String,
    /// Your id of the receiver.
    pub receiver: ID,
    /// Your id of the sender. Default: no sender, or for USER the token's user, who must be the sender.
    pub sender: Option<ID>,
    /// The content.
    pub content: ContentInput,
    /// As in `SendAnnouncementInput`.
    pub publish_at: Option<DateTimeScalar>,
    /// In the future, and after `publishAt`. Default: the type's ttl after publication.
    pub expires_at: Option<DateTimeScalar>,
    /// As in `SendAnnouncementInput`.
    pub idempotency_key: Option<String>,
    /// As in `SendAnnouncementInput`.
    #[graphql(default)]
    pub strict: bool,
}

/// One of the three kinds of notifications.
#[derive(OneofObject)]
#[graphql(name = "SendNotificationInput")]
pub enum SendInput {
    /// To everyone, to groups or to named users.
    Announcement(AnnouncementInput),
    /// To the subscribers of a target's action.
    Reminder(ReminderInput),
    /// To one user.
    Message(MessageInput),
}

#[derive(Default)]
pub struct SendMutation;

#[Object]
impl SendMutation {
    /// Sends to everyone, to groups or to named users. SERVICE, ADMIN.
    async fn send_announcement(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send.")] input: AnnouncementInput,
    ) -> Result<SendPayload> {
        Ok(send_one(CallContext::with_role(ctx, STAFF)?, SendInput::Announcement(input)).await?)
    }

    /// Sends to the subscribers of an action on a target, users and groups, and to the followers of the sender.
    /// SERVICE, ADMIN.
    async fn send_reminder(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send.")] input: ReminderInput,
    ) -> Result<SendPayload> {
        Ok(send_one(CallContext::with_role(ctx, STAFF)?, SendInput::Reminder(input)).await?)
    }

    /// Sends to one user. SERVICE and ADMIN; USER as themselves, if the server allows it for the tenant
    /// (`TIDINGS_USER_MESSAGES`), for types with `usersMaySend` and with a path as the link. Each whole KiB that a user
    /// sends costs one more operation of their rate.
    async fn send_message(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send.")] input: MessageInput,
    ) -> Result<SendPayload> {
        let call = CallContext::from_context(ctx);
        let mut input = input;
        if call.viewer.role == CallerRole::User {
            if !call.app.config.can_users_message(&call.tenant.code) {
                return Err(Error::Forbidden("users of this tenant cannot send messages".into()).into());
            }
            if input.sender.as_ref().is_some_and(|sender| sender.as_str() != call.viewer.sub) {
                return Err(Error::bad_input("input.sender", "must be the token's user if a user sends").into());
            }
            input.sender = Some(ID(call.viewer.sub.clone()));
        }
        let receiver = input.receiver.0.clone();
        let input = into_domain_input(SendInput::Message(input)).map_err(|error| error.with_field_prefix("input"))?;
        if call.viewer.role != CallerRole::User {
            return Ok(send_translated(call, input).await?);
        }
        let operations = input.content.byte_count() / COUNTED_BYTES;
        ctx.data_unchecked::<RateLimiter>().charge_operations(call.app, call.viewer, operations).await?;
        if call.find_user("input.receiver", &receiver).await?.is_some() {
            return Ok(send_translated(call, input).await?);
        }
        let sending = async {
            match send_translated(call, input).await {
                Err(error) if call.find_user("input.receiver", &receiver).await?.is_none() => Err(error),
                // The new receiver counts towards the caller's quota of created objects, and stays even if the message
                // fails.
                sent => Ok(sent),
            }
        };
        Ok(call.charge_creation(ctx, 1, sending.boxed()).await??)
    }

    /// Sends up to 1,000 notifications in one transaction: all or none. SERVICE, ADMIN.
    async fn send_notifications(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send, in this order, at most 1,000.")] inputs: Vec<SendInput>,
    ) -> Result<Vec<SendPayload>> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let variants: Vec<&'static str> = inputs.iter().map(variant_name).collect();
        let inputs = inputs.into_iter().zip(0..).map(|(input, place)| {
            into_domain_input(input)
                .map_err(|error| error.with_field_prefix(&format!("inputs[{place}].{}", variants[place])))
        });
        let inputs = inputs.collect::<base::error::Result<Vec<_>>>()?;
        Ok(send_all(call, inputs, |place| format!("inputs[{place}].{}", variants[place])).await?)
    }
}

fn variant_name(input: &SendInput) -> &'static str {
    match input {
        SendInput::Announcement(_) => "announcement",
        SendInput::Reminder(_) => "reminder",
        SendInput::Message(_) => "message",
    }
}

async fn send_one(call: CallContext<'_>, input: SendInput) -> base::error::Result<SendPayload> {
    send_translated(call, into_domain_input(input).map_err(|error| error.with_field_prefix("input"))?).await
}

/// Boxed, to keep the large future of a send out of the types of its callers, which would slow compilation.
fn send_translated(call: CallContext<'_>, input: NotificationInput) -> BoxFuture<'_, base::error::Result<SendPayload>> {
    Box::pin(async move {
        let sent = send_all(call, vec![input], |_| "input".into()).await?.pop();
        sent.ok_or_else(|| Error::internal("a send returned no outcome"))
    })
}

async fn send_all(
    call: CallContext<'_>,
    inputs: Vec<NotificationInput>,
    path: impl Fn(usize) -> String,
) -> base::error::Result<Vec<SendPayload>> {
    let sent_by = call.audit_actor();
    let inputs = inputs.into_iter().map(|input| NotificationInput { sent_by: sent_by.clone(), ..input });
    let inputs: Vec<NotificationInput> = inputs.collect();
    let sent = notification::send(call.app, call.tenant, call.acting_party(), &inputs, path).await?;
    let (all, replayed): (Vec<_>, Vec<_>) = sent.into_iter().map(|of| (of.notification, of.is_replayed)).unzip();
    let payload = |(notification, replayed)| SendPayload { notification, replayed };
    Ok(SentNotification::from_notifications(all).into_iter().zip(replayed).map(payload).collect())
}

fn into_addressees(audience: AudienceInput) -> base::error::Result<Addressees> {
    Ok(match audience {
        AudienceInput::Everyone(true) => Addressees::Everyone,
        AudienceInput::Everyone(false) => {
            return Err(Error::bad_input("audience.everyone", "must be true, or name groups or users instead"));
        }
        AudienceInput::Groups(codes) => Addressees::Groups(codes),
        AudienceInput::Users(ids) => Addressees::Users(ids.into_iter().map(|id| id.0).collect()),
    })
}

fn into_domain_input(input: SendInput) -> base::error::Result<NotificationInput> {
    // The fields that the three kinds of input share.
    macro_rules! input {
        ($input:ident, $addressees:expr) => {
            NotificationInput {
                message_type: $input.r#type,
                addressees: $addressees,
                content: $input.content.into(),
                sender: $input.sender.map(|id| id.0),
                publish_at: $input.publish_at.map(|at| at.0),
                expires_at: $input.expires_at.map(|at| at.0),
                idempotency_key: $input.idempotency_key,
                is_strict: $input.strict,
                past: None,
                raised: None,
                sent_by: None,
            }
        };
    }
    Ok(match input {
        SendInput::Announcement(of) => input!(of, into_addressees(of.audience)?),
        SendInput::Reminder(of) => input!(of, {
            let (target_type, target_id) = (of.target.r#type, of.target.external_id.0);
            Addressees::Subscribers { target_type, target_id, action: of.action }
        }),
        SendInput::Message(of) => input!(of, Addressees::Receiver(of.receiver.0)),
    })
}
