//! Sending.

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

/// What can be asked before something is sent.
#[derive(Default)]
pub struct SendQuery;

#[Object]
impl SendQuery {
    /// How many users an announcement would address if it were sent now, counted as `stats.audienceSize` counts them afterwards. Preferences
    /// do not count; named users count once each, also those that the tenant does not know. It counts at most a million users or
    /// members of groups: `exact` is false if there may be more. Fails where a send to this audience would. SERVICE, ADMIN.
    async fn audience_size(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "Whom it would be for.")] audience: AudienceInput,
    ) -> Result<Count> {
        let call = Call::by(ctx, STAFF)?;
        let size = notification::audience_size(call.app, call.tenant, &addressees(audience)?).await?;
        Ok(Count { count: int(size.users), exact: size.is_exact })
    }
}

/// Bytes of what a user sends that count as one operation of their rate.
const COUNTED_BYTES: usize = 1024;

/// What came of a send.
#[derive(SimpleObject)]
pub struct SendPayload {
    /// What was sent; the first one's where it is `replayed`.
    pub notification: Notification,
    /// True when the idempotency key had been used and nothing new was sent.
    pub replayed: bool,
}

/// What a notification says.
#[derive(InputObject)]
#[graphql(name = "NotificationContentInput")]
pub struct ContentInput {
    /// 1 to 256 characters. Required, unless the type has a template.
    pub title: Option<String>,
    /// 16 KiB at most.
    pub body: Option<String>,
    /// Where a click leads: an absolute http(s) URL or a path; 2,048 characters at most.
    pub link: Option<String>,
    /// For the type's template; 16 KiB of JSON at most.
    pub params: Option<Json>,
    /// For the client, untouched; 16 KiB of JSON at most.
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

/// Whom an announcement is for.
#[derive(OneofObject)]
#[graphql(name = "NotificationAudienceInput")]
pub enum AudienceInput {
    /// True: all users of the tenant, also those first mentioned within the retention window after it.
    Everyone(bool),
    /// Who is in one of these groups when it is published; 1 to 100.
    Groups(Vec<String>),
    /// 1 to 10,000 users by name.
    Users(Vec<ID>),
}

/// Something to say to an audience.
#[derive(InputObject)]
#[graphql(name = "SendAnnouncementInput")]
pub struct AnnouncementInput {
    /// Code of a message type.
    pub r#type: String,
    /// Whom it is for.
    pub audience: AudienceInput,
    /// What it says.
    pub content: ContentInput,
    /// Who it is from, by the partner's own id; nobody where it is left out.
    pub sender: Option<ID>,
    /// In the future: scheduled, and published within a second of it to whoever listens then. Within ten years; at once
    /// where it is left out, or past.
    pub publish_at: Option<Instant>,
    /// In the future, and after `publishAt`. Default: the type's ttl after publication.
    pub expires_at: Option<Instant>,
    /// 1 to 128 characters. A second call with the same key sends nothing and returns the first one's notification; with
    /// other content it is a CONFLICT. Keys are remembered as long as the notification. The tenant's services and operators
    /// share theirs; each user has keys of their own.
    pub idempotency_key: Option<String>,
    /// True: refused with `BAD_USER_INPUT` while the type's template has flaws on it, as `previewNotification` shows them, which the error
    /// names. False: sent in any case, and readers see what `content` gives in the place of what fails.
    #[graphql(default)]
    pub strict: bool,
}

/// Something happened to a target.
#[derive(InputObject)]
#[graphql(name = "SendReminderInput")]
pub struct ReminderInput {
    /// Code of a message type.
    pub r#type: String,
    /// To what it happened.
    pub target: TargetInput,
    /// What happened, such as `comment`; 1 to 128 characters.
    pub action: String,
    /// Who did it; they are never reminded of their own doing. Their followers are reminded too.
    pub sender: Option<ID>,
    /// What it says.
    pub content: ContentInput,
    /// In the future: scheduled, and published within a second of it to whoever listens then. Within ten years; at once
    /// where it is left out, or past.
    pub publish_at: Option<Instant>,
    /// In the future, and after `publishAt`. Default: the type's ttl after publication.
    pub expires_at: Option<Instant>,
    /// As in `SendAnnouncementInput`.
    pub idempotency_key: Option<String>,
    /// As in `SendAnnouncementInput`.
    #[graphql(default)]
    pub strict: bool,
}

/// Something to say to one user.
#[derive(InputObject)]
#[graphql(name = "SendMessageInput")]
pub struct MessageInput {
    /// Code of a message type.
    pub r#type: String,
    /// Whom it is for, by the partner's own id.
    pub receiver: ID,
    /// Who it is from, by the partner's own id: nobody where it is left out, and USER themselves.
    pub sender: Option<ID>,
    /// What it says.
    pub content: ContentInput,
    /// In the future: scheduled, and published within a second of it to whoever listens then. Within ten years; at once
    /// where it is left out, or past.
    pub publish_at: Option<Instant>,
    /// In the future, and after `publishAt`. Default: the type's ttl after publication.
    pub expires_at: Option<Instant>,
    /// As in `SendAnnouncementInput`.
    pub idempotency_key: Option<String>,
    /// As in `SendAnnouncementInput`.
    #[graphql(default)]
    pub strict: bool,
}

/// One of the three.
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
    /// To everyone, to groups or to named users. SERVICE, ADMIN.
    async fn send_announcement(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send.")] input: AnnouncementInput,
    ) -> Result<SendPayload> {
        Ok(send_one(Call::by(ctx, STAFF)?, SendInput::Announcement(input)).await?)
    }

    /// To the subscribers of a target's action, users and groups, and to the sender's followers. SERVICE, ADMIN.
    async fn send_reminder(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send.")] input: ReminderInput,
    ) -> Result<SendPayload> {
        Ok(send_one(Call::by(ctx, STAFF)?, SendInput::Reminder(input)).await?)
    }

    /// To one user. SERVICE, ADMIN; also USER, as themselves, where the server lets the tenant's users (`TIDINGS_USER_MESSAGES`), of types
    /// with `usersMaySend`, with a path as the link. Each whole KiB of what a user sends counts as one operation more.
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
                return Err(Error::bad_input("input.sender", "must be themselves where users send").into());
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
                // The new receiver counts towards what the caller makes, and stays even if the message fails.
                sent => Ok(sent),
            }
        };
        Ok(call.making(ctx, 1, sending.boxed()).await??)
    }

    /// Up to 1,000 at once, in one transaction: all or nothing. SERVICE, ADMIN.
    async fn send_notifications(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "What to send, in this order; at most 1,000.")] inputs: Vec<SendInput>,
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

/// Boxed, so that the compiler does not look through all of a send for each caller.
fn send_translated(call: Call<'_>, input: Input) -> BoxFuture<'_, crate::error::Result<SendPayload>> {
    Box::pin(async move {
        let sent = send(call, vec![input], |_| "input".into()).await?.pop();
        sent.ok_or_else(|| Error::internal("a send came to nothing"))
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
    // What the three kinds of input share.
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
