//! Sending notifications.

use async_graphql::{Context, ID, InputObject, Object, OneofObject, Result, SimpleObject};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::admission::Rates;
use super::channel::TargetInput;
use super::context::{Call, STAFF};
use super::json::Json;
use super::notification::Notification;
use super::overview::Count;
use super::scalars::{Instant, int};
use crate::auth::Role;
use crate::domain::notification::{self, Addressees, Content, Input};
use crate::error::Error;

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
    ) -> Result<Count> {
        let call = Call::by(ctx, STAFF)?;
        let size = notification::audience_size(call.app, call.tenant, &addressees(audience)?).await?;
        Ok(Count { count: int(size.users), exact: size.is_exact })
    }
}

/// Each time a user's message reaches this many bytes, it costs one more operation of the user's rate.
const COUNTED_BYTES: usize = 1024;

/// The result of a send.
#[derive(SimpleObject)]
pub struct SendPayload {
    /// The notification, or that of the first call if `replayed`.
    pub notification: Notification,
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
    pub params: Option<Json>,
    /// JSON for the client, at most 16 KiB. The server returns it unchanged.
    pub data: Option<Json>,
}

impl From<ContentInput> for Content {
    fn from(input: ContentInput) -> Self {
        let json = |value: Option<Json>| value.map(|Json(value)| value);
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
    pub publish_at: Option<Instant>,
    /// In the future, and after `publishAt`. Default: the type's ttl after publication.
    pub expires_at: Option<Instant>,
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
    pub publish_at: Option<Instant>,
    /// In the future, and after `publishAt`. Default: the type's ttl after publication.
    pub expires_at: Option<Instant>,
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
    pub publish_at: Option<Instant>,
    /// In the future, and after `publishAt`. Default: the type's ttl after publication.
    pub expires_at: Option<Instant>,
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
        Ok(send_one(Call::by(ctx, STAFF)?, SendInput::Announcement(input)).await?)
    }

    /// Sends to the subscribers of an action on a target, users and groups, and to the followers of the sender.
    /// SERVICE, ADMIN.
    async fn send_reminder(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send.")] input: ReminderInput,
    ) -> Result<SendPayload> {
        Ok(send_one(Call::by(ctx, STAFF)?, SendInput::Reminder(input)).await?)
    }

    /// Sends to one user. SERVICE and ADMIN; USER as themselves, if the server allows it for the tenant
    /// (`TIDINGS_USER_MESSAGES`), for types with `usersMaySend` and with a path as the link. Each whole KiB that a user
    /// sends costs one more operation of their rate.
    async fn send_message(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send.")] input: MessageInput,
    ) -> Result<SendPayload> {
        let call = Call::of(ctx);
        let mut input = input;
        if call.viewer.role == Role::User {
            if !call.app.config.lets_users_message(&call.tenant.code) {
                return Err(Error::Forbidden("users of this tenant cannot send messages".into()).into());
            }
            if input.sender.as_ref().is_some_and(|sender| sender.as_str() != call.viewer.sub) {
                return Err(Error::bad_input("input.sender", "must be the token's user if a user sends").into());
            }
            input.sender = Some(ID(call.viewer.sub.clone()));
        }
        let receiver = input.receiver.0.clone();
        let input = translate(SendInput::Message(input)).map_err(|error| error.within("input"))?;
        if call.viewer.role != Role::User {
            return Ok(send_translated(call, input).await?);
        }
        let operations = input.content.bytes() / COUNTED_BYTES;
        ctx.data_unchecked::<Rates>().take(call.app, call.viewer, operations).await?;
        if call.known_user("input.receiver", &receiver).await?.is_some() {
            return Ok(send_translated(call, input).await?);
        }
        let sending = async {
            match send_translated(call, input).await {
                Err(error) if call.known_user("input.receiver", &receiver).await?.is_none() => Err(error),
                // The new receiver counts towards the caller's quota of created objects, and stays even if the message
                // fails.
                sent => Ok(sent),
            }
        };
        Ok(call.making(ctx, 1, sending.boxed()).await??)
    }

    /// Sends up to 1,000 notifications in one transaction: all or none. SERVICE, ADMIN.
    async fn send_notifications(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send, in this order, at most 1,000.")] inputs: Vec<SendInput>,
    ) -> Result<Vec<SendPayload>> {
        let call = Call::by(ctx, STAFF)?;
        let variants: Vec<&'static str> = inputs.iter().map(variant).collect();
        let inputs = inputs.into_iter().zip(0..).map(|(input, place)| {
            translate(input).map_err(|error| error.within(&format!("inputs[{place}].{}", variants[place])))
        });
        let inputs = inputs.collect::<crate::error::Result<Vec<_>>>()?;
        Ok(send(call, inputs, |place| format!("inputs[{place}].{}", variants[place])).await?)
    }
}

fn variant(input: &SendInput) -> &'static str {
    match input {
        SendInput::Announcement(_) => "announcement",
        SendInput::Reminder(_) => "reminder",
        SendInput::Message(_) => "message",
    }
}

async fn send_one(call: Call<'_>, input: SendInput) -> crate::error::Result<SendPayload> {
    send_translated(call, translate(input).map_err(|error| error.within("input"))?).await
}

/// Boxed, to keep the large future of a send out of the types of its callers, which would slow compilation.
fn send_translated(call: Call<'_>, input: Input) -> BoxFuture<'_, crate::error::Result<SendPayload>> {
    Box::pin(async move {
        let sent = send(call, vec![input], |_| "input".into()).await?.pop();
        sent.ok_or_else(|| Error::internal("a send returned no outcome"))
    })
}

async fn send(
    call: Call<'_>,
    inputs: Vec<Input>,
    path: impl Fn(usize) -> String,
) -> crate::error::Result<Vec<SendPayload>> {
    let sent_by = call.actor();
    let inputs = inputs.into_iter().map(|input| Input { sent_by: sent_by.clone(), ..input });
    let inputs: Vec<Input> = inputs.collect();
    let sent = notification::send(call.app, call.tenant, call.on_behalf(), &inputs, path).await?;
    let (all, replayed): (Vec<_>, Vec<_>) = sent.into_iter().map(|of| (of.notification, of.is_replayed)).unzip();
    let payload = |(notification, replayed)| SendPayload { notification, replayed };
    Ok(Notification::list(all).into_iter().zip(replayed).map(payload).collect())
}

fn addressees(audience: AudienceInput) -> crate::error::Result<Addressees> {
    Ok(match audience {
        AudienceInput::Everyone(true) => Addressees::Everyone,
        AudienceInput::Everyone(false) => {
            return Err(Error::bad_input("audience.everyone", "must be true, or name groups or users instead"));
        }
        AudienceInput::Groups(codes) => Addressees::Groups(codes),
        AudienceInput::Users(ids) => Addressees::Users(ids.into_iter().map(|id| id.0).collect()),
    })
}

fn translate(input: SendInput) -> crate::error::Result<Input> {
    // The fields that the three kinds of input share.
    macro_rules! input {
        ($input:ident, $addressees:expr) => {
            Input {
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
        SendInput::Announcement(of) => input!(of, addressees(of.audience)?),
        SendInput::Reminder(of) => input!(of, {
            let (target_type, target_id) = (of.target.r#type, of.target.external_id.0);
            Addressees::Subscribers { target_type, target_id, action: of.action }
        }),
        SendInput::Message(of) => input!(of, Addressees::Receiver(of.receiver.0)),
    })
}
