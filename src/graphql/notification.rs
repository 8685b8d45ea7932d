//! What was sent.

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

/// Where a notification is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "notification::Status")]
pub enum NotificationStatus {
    /// It waits for its `publishAt`.
    Scheduled,
    /// In the inboxes of those it reaches.
    Published,
    /// Past its `expiresAt`: in no list and no count.
    Expired,
    /// Taken back, before or after it was published: in no list and no count.
    Retracted,
}

/// What readers see of a notification.
#[derive(SimpleObject)]
pub struct ShownNotification {
    /// Rendered by the type's template; else as it was sent; else the type's title.
    pub title: String,
    /// Rendered by the type's template; else as it was sent.
    pub body: Option<String>,
    /// Rendered by the type's template; else as it was sent.
    pub link: Option<String>,
}

/// What was sent, once, however many users it reaches.
#[derive(Clone)]
pub struct Notification {
    of: Box<notification::Notification>,
    sender: Option<User>,
    figures: Arc<SharedFigures>,
    histories: Arc<SharedHistories>,
    hours: Arc<SharedHours>,
}

impl Notification {
    /// Several that were sent together, whose senders and figures are read together.
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

    /// One by itself.
    pub fn alone(of: notification::Notification) -> Self {
        let sender = of.sender.map(User::alone);
        let (figures, histories) = (SharedFigures::of(vec![of.id]), SharedHistories::of(vec![of.id]));
        let hours = SharedHours::of(of.seq.into_iter().collect());
        Self { of: Box::new(of), sender, figures, histories, hours }
    }
}

/// What was sent, once, however many users it reaches.
#[Object(name = "SentNotification")]
impl Notification {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(Call::of(ctx).tenant.seal.close(Kind::Notification, 0, self.of.id))
    }

    /// What it is.
    async fn kind(&self) -> NotificationKind {
        self.of.kind.into()
    }

    /// Its category.
    async fn r#type(&self) -> MessageType {
        MessageType(self.of.message_type.clone())
    }

    /// Where it is in its life.
    async fn status(&self, ctx: &Context<'_>) -> NotificationStatus {
        self.of.status(Call::of(ctx).app.now()).into()
    }

    /// As it was sent; the type's title where it was sent without one. Readers see it through the type's template.
    async fn title(&self) -> &str {
        self.of.content.title.as_deref().unwrap_or(&self.of.message_type.title)
    }

    /// As it was sent.
    async fn body(&self) -> Option<&str> {
        self.of.content.body.as_deref()
    }

    /// As it was sent.
    async fn link(&self) -> Option<&str> {
        self.of.content.link.as_deref()
    }

    /// As its readers see it, by its type's template. SERVICE, ADMIN.
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

    /// What the sender attached, untouched.
    async fn data(&self) -> Option<Json> {
        self.of.content.data.clone().map(Json)
    }

    /// Who sent it, or did what it is about.
    async fn sender(&self) -> Option<User> {
        self.sender.clone()
    }

    /// What a reminder is about.
    async fn target(&self) -> Option<Target> {
        self.of.target.clone().map(Into::into)
    }

    /// What happened to the target.
    async fn action(&self) -> Option<&str> {
        self.of.action.as_deref()
    }

    /// Whom it addresses by itself.
    async fn audience(&self) -> Audience<'_> {
        Audience(&self.of.audience)
    }

    /// When it was handed in, here or to the system that it was brought over from.
    async fn created_at(&self) -> Instant {
        self.of.created_at.into()
    }

    /// When its text was last amended.
    async fn updated_at(&self) -> Option<Instant> {
        self.of.updated_at.map(Into::into)
    }

    /// When it is, or was, to be published; null where it was not scheduled.
    async fn publish_at(&self) -> Option<Instant> {
        self.of.publish_at.map(Into::into)
    }

    /// When it was published; null while it is scheduled.
    async fn published_at(&self) -> Option<Instant> {
        self.of.published_at.map(Into::into)
    }

    /// From this instant on it is in no list and no count.
    async fn expires_at(&self) -> Option<Instant> {
        self.of.expires_at.map(Into::into)
    }

    /// When it was taken back.
    async fn retracted_at(&self) -> Option<Instant> {
        self.of.retracted_at.map(Into::into)
    }

    /// The service or operator who has sent it; null where a user or a rule has, and for what was sent before this was kept. SERVICE, ADMIN.
    #[expect(clippy::unused_async, reason = "resolvers are asynchronous")]
    async fn sent_by(&self, ctx: &Context<'_>) -> Result<Option<AuditActor>> {
        Call::by(ctx, STAFF)?;
        Ok(self.of.sent_by.clone().map(Into::into))
    }

    /// What services and operators did to it since: who has amended, postponed or retracted it, newest first; 20 acts at the most.
    /// SERVICE, ADMIN.
    async fn history(&self, ctx: &Context<'_>) -> Result<Vec<AuditEntry>> {
        self.histories.shown(Call::by(ctx, STAFF)?, self.of.id).await
    }

    /// Code of the rule that has raised it; null where somebody has sent it.
    async fn rule(&self) -> Option<&str> {
        self.of.raised.as_ref().map(|raised| raised.rule.as_str())
    }

    /// The key of the row that a rule has raised it for: column → value.
    async fn row_key(&self) -> Option<Json> {
        self.of.raised.as_ref().map(|raised| Json(Value::Object(raised.key.clone())))
    }

    /// How many users it addressed, has reached and was read by. Right in the end: what happens now is counted within a
    /// minute, so that reading never waits for counting.
    async fn stats(&self) -> NotificationStats {
        NotificationStats::of(&self.of)
    }

    /// What `stats` grew by in each hour in which it did, oldest first; the first 1,000 of them. A message, which is for one user, has none, and what
    /// was delivered to users by name as it was published is in none. SERVICE, ADMIN.
    async fn stats_by_hour(&self, ctx: &Context<'_>) -> Result<Vec<NotificationHour>> {
        self.hours.shown(Call::by(ctx, STAFF)?, self.of.seq).await
    }

    /// What came of its deliveries to the outside, by channel; one without any is left out. They are counted while they are kept: for the
    /// retention window, and as long as their endpoint or relay is there. SERVICE, ADMIN.
    async fn deliveries(&self, ctx: &Context<'_>) -> Result<Vec<NotificationDeliveries>> {
        self.figures.shown(Call::by(ctx, STAFF)?, self.of.id).await
    }
}

/// Whom a notification addresses by itself; a reminder leaves that to the subscriptions.
pub struct Audience<'a>(&'a notification::Audience);

/// Whom a notification addresses by itself; a reminder leaves that to the subscriptions.
#[Object(name = "NotificationAudience")]
impl Audience<'_> {
    /// All users of the tenant.
    async fn everyone(&self) -> bool {
        self.0.everyone
    }

    /// Those of the groups that still exist, by code.
    async fn groups(&self, ctx: &Context<'_>) -> Result<Vec<Group>> {
        let call = Call::of(ctx);
        let mut groups = channel::named_groups(&call.app.db.read, call.tenant, &self.0.groups).await?;
        Ok(Group::list(self.0.groups.iter().filter_map(|code| groups.remove(code)).collect()))
    }

    /// How many users are named one by one.
    async fn user_count(&self) -> i32 {
        int(self.0.users)
    }
}
