//! Sent notifications.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};
use serde_json::Value;

use super::audit::{AuditActor, AuditEntry, SharedHistories};
use super::catalogue::MessageType;
use super::channel::Target;
use super::context::{Call, STAFF};
use super::group::Group;
use super::inbox::NotificationKind;
use super::json::Json;
use super::outbound::{NotificationDeliveries, SharedFigures};
use super::scalars::{Instant, int};
use super::siblings::Siblings;
use super::stats::{NotificationHour, NotificationStats, SharedHours};
use super::user::User;
use crate::domain::{catalogue, channel, notification};
use crate::model::seal::Kind;

/// State of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "notification::Status")]
pub enum NotificationStatus {
    /// It waits for its `publishAt`.
    Scheduled,
    /// It is in the inboxes of its recipients.
    Published,
    /// Past its `expiresAt`: in no list and no count.
    Expired,
    /// Retracted, before or after publication: in no list and no count.
    Retracted,
}

/// What readers see of a notification.
#[derive(SimpleObject)]
pub struct ShownNotification {
    /// Rendered by the type's template; else as sent; else the type's title.
    pub title: String,
    /// Rendered by the type's template; else as sent.
    pub body: Option<String>,
    /// Rendered by the type's template; else as sent.
    pub link: Option<String>,
}

/// A notification as sent: one object, however many users it reaches.
#[derive(Clone)]
pub struct Notification {
    of: Box<notification::Notification>,
    sender: Option<User>,
    figures: Arc<SharedFigures>,
    histories: Arc<SharedHistories>,
    hours: Arc<SharedHours>,
}

impl Notification {
    /// Notifications of a request. Their senders, figures, histories and hours are each read in one batch.
    pub fn list(all: Vec<notification::Notification>) -> Vec<Self> {
        let siblings = Siblings::of(all.iter().filter_map(|of| of.sender).collect());
        let figures = SharedFigures::of(all.iter().map(|of| of.id).collect());
        let histories = SharedHistories::of(all.iter().map(|of| of.id).collect());
        let hours = SharedHours::of(all.iter().filter_map(|of| of.seq).collect());
        let list = all.into_iter().map(|of| {
            let sender = of.sender.map(|sender| User::among(&siblings, sender));
            Self {
                of: Box::new(of),
                sender,
                figures: figures.clone(),
                histories: histories.clone(),
                hours: hours.clone(),
            }
        });
        list.collect()
    }

    /// A single notification.
    pub fn alone(of: notification::Notification) -> Self {
        let sender = of.sender.map(User::alone);
        let (figures, histories) = (SharedFigures::of(vec![of.id]), SharedHistories::of(vec![of.id]));
        let hours = SharedHours::of(of.seq.into_iter().collect());
        Self { of: Box::new(of), sender, figures, histories, hours }
    }
}

/// A notification as sent: one object, however many users it reaches.
#[Object(name = "SentNotification")]
impl Notification {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(Call::of(ctx).tenant.seal.close(Kind::Notification, 0, self.of.id))
    }

    /// Its kind.
    async fn kind(&self) -> NotificationKind {
        self.of.kind.into()
    }

    /// Its message type.
    async fn r#type(&self) -> MessageType {
        MessageType(self.of.message_type.clone())
    }

    /// Its state.
    async fn status(&self, ctx: &Context<'_>) -> NotificationStatus {
        self.of.status(Call::of(ctx).app.now()).into()
    }

    /// As sent, or the type's title if it was sent without one. Readers see it rendered by the type's template.
    async fn title(&self) -> &str {
        self.of.content.title.as_deref().unwrap_or(&self.of.message_type.title)
    }

    /// As sent.
    async fn body(&self) -> Option<&str> {
        self.of.content.body.as_deref()
    }

    /// As sent.
    async fn link(&self) -> Option<&str> {
        self.of.content.link.as_deref()
    }

    /// As readers see it, rendered by its type's template. SERVICE, ADMIN.
    async fn shown(&self, ctx: &Context<'_>) -> Result<ShownNotification> {
        let call = Call::by(ctx, STAFF)?;
        let sender = match &self.sender {
            Some(sender) => Some(sender.read(call).await?.as_ref().clone()),
            None => None,
        };
        let catalogue = catalogue::cached(call.app, call.tenant).await?;
        let content = notification::content(&self.of, sender, catalogue);
        Ok(ShownNotification { title: content.title(), body: content.body(), link: content.link() })
    }

    /// The sender's `data`, unchanged.
    async fn data(&self) -> Option<Json> {
        self.of.content.data.clone().map(Json)
    }

    /// The user who sent it or, for a reminder, who did the action.
    async fn sender(&self) -> Option<User> {
        self.sender.clone()
    }

    /// The target of a reminder.
    async fn target(&self) -> Option<Target> {
        self.of.target.clone().map(Into::into)
    }

    /// The action on the target.
    async fn action(&self) -> Option<&str> {
        self.of.action.as_deref()
    }

    /// Its own audience.
    async fn audience(&self) -> Audience<'_> {
        Audience(&self.of.audience)
    }

    /// When it was submitted, to this server or to the system that it was imported from.
    async fn created_at(&self) -> Instant {
        self.of.created_at.into()
    }

    /// When its text was last amended.
    async fn updated_at(&self) -> Option<Instant> {
        self.of.updated_at.map(Into::into)
    }

    /// When it is, or was, due to be published; null if it was not scheduled.
    async fn publish_at(&self) -> Option<Instant> {
        self.of.publish_at.map(Into::into)
    }

    /// When it was published; null while it is scheduled.
    async fn published_at(&self) -> Option<Instant> {
        self.of.published_at.map(Into::into)
    }

    /// From then on it is in no list and no count.
    async fn expires_at(&self) -> Option<Instant> {
        self.of.expires_at.map(Into::into)
    }

    /// When it was retracted.
    async fn retracted_at(&self) -> Option<Instant> {
        self.of.retracted_at.map(Into::into)
    }

    /// The service or operator that sent it; null if a user or a rule did, or if it is older than this record. SERVICE,
    /// ADMIN.
    #[expect(clippy::unused_async, reason = "resolvers are asynchronous")]
    async fn sent_by(&self, ctx: &Context<'_>) -> Result<Option<AuditActor>> {
        Call::by(ctx, STAFF)?;
        Ok(self.of.sent_by.clone().map(Into::into))
    }

    /// What services and operators did to it since: amendments, postponements and the retraction, newest first, at most
    /// 20. SERVICE, ADMIN.
    async fn history(&self, ctx: &Context<'_>) -> Result<Vec<AuditEntry>> {
        self.histories.shown(Call::by(ctx, STAFF)?, self.of.id).await
    }

    /// Code of the rule that raised it; null if a caller sent it.
    async fn rule(&self) -> Option<&str> {
        self.of.raised.as_ref().map(|raised| raised.rule.as_str())
    }

    /// Key of the row that the rule raised it for: column → value.
    async fn row_key(&self) -> Option<Json> {
        self.of.raised.as_ref().map(|raised| Json(Value::Object(raised.key.clone())))
    }

    /// How many users it addressed, reached, and was read by. Counts lag by up to a minute, so that reads never wait
    /// for counting.
    async fn stats(&self) -> NotificationStats {
        NotificationStats::of(&self.of)
    }

    /// Growth of `stats` by hour, oldest first, without hours of no growth; the first 1,000 hours. Empty for a message,
    /// which is for one user. Deliveries to named users at publication are in no hour. SERVICE, ADMIN.
    async fn stats_by_hour(&self, ctx: &Context<'_>) -> Result<Vec<NotificationHour>> {
        self.hours.shown(Call::by(ctx, STAFF)?, self.of.seq).await
    }

    /// Its deliveries outside of the inbox, by channel; channels without any are left out. Deliveries are counted while
    /// they are kept: for the retention window, and as long as their endpoint or relay exists. SERVICE, ADMIN.
    async fn deliveries(&self, ctx: &Context<'_>) -> Result<Vec<NotificationDeliveries>> {
        self.figures.shown(Call::by(ctx, STAFF)?, self.of.id).await
    }
}

/// The audience that a notification names. A reminder names none: its subscriptions decide.
pub struct Audience<'a>(&'a notification::Audience);

/// The audience that a notification names. A reminder names none: its subscriptions decide.
#[Object(name = "NotificationAudience")]
impl Audience<'_> {
    /// Whether it is for all users of the tenant.
    async fn everyone(&self) -> bool {
        self.0.everyone
    }

    /// The groups among them that still exist, by code.
    async fn groups(&self, ctx: &Context<'_>) -> Result<Vec<Group>> {
        let call = Call::of(ctx);
        let mut groups = channel::named_groups(&call.app.db.read, call.tenant, &self.0.groups).await?;
        Ok(Group::list(self.0.groups.iter().filter_map(|code| groups.remove(code)).collect()))
    }

    /// Number of users named by id.
    async fn user_count(&self) -> i32 {
        int(self.0.users)
    }
}
