//! Sent notifications.

use std::sync::Arc;

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};
use serde_json::Value;

use super::audit::{AuditActor, AuditEntry, HistoryLoader};
use super::catalogue::MessageType;
use super::channel::TopicTarget;
use super::context::{CallContext, STAFF};
use super::group::UserGroup;
use super::inbox::NotificationKind;
use super::json::JsonScalar;
use super::loaders::UserLoader;
use super::outbound::{DeliveryCountLoader, NotificationDeliveries};
use super::scalars::{DateTimeScalar, to_int};
use super::stats::{HourLoader, NotificationHour, NotificationStats};
use super::user::User;
use domain::{catalogue, channel, notification};
use model::id_cipher::IdKind;

/// State of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "notification::NotificationState")]
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
pub struct SentNotification {
    of: Box<notification::Notification>,
    sender: Option<User>,
    figures: Arc<DeliveryCountLoader>,
    histories: Arc<HistoryLoader>,
    hours: Arc<HourLoader>,
}

impl SentNotification {
    /// Notifications of a request. Their senders, figures, histories and hours are each read in one batch.
    pub fn from_notifications(all: Vec<notification::Notification>) -> Vec<Self> {
        let siblings = UserLoader::for_users(all.iter().filter_map(|of| of.sender).collect());
        let figures = DeliveryCountLoader::for_keys(all.iter().map(|of| of.id).collect());
        let histories = HistoryLoader::for_keys(all.iter().map(|of| of.id).collect());
        let hours = HourLoader::for_keys(all.iter().filter_map(|of| of.seq).collect());
        let list = all.into_iter().map(|of| {
            let sender = of.sender.map(|sender| User::in_batch(&siblings, sender));
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
    pub fn from_notification(of: notification::Notification) -> Self {
        let sender = of.sender.map(User::for_user);
        let (figures, histories) = (DeliveryCountLoader::for_keys(vec![of.id]), HistoryLoader::for_keys(vec![of.id]));
        let hours = HourLoader::for_keys(of.seq.into_iter().collect());
        Self { of: Box::new(of), sender, figures, histories, hours }
    }
}

/// A notification as sent: one object, however many users it reaches.
#[Object(name = "SentNotification")]
impl SentNotification {
    /// Opaque.
    pub async fn id(&self, ctx: &Context<'_>) -> ID {
        ID(CallContext::from_context(ctx).tenant.id_cipher.encode(IdKind::Notification, 0, self.of.id))
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
        self.of.status(CallContext::from_context(ctx).app.now()).into()
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

    /// As readers see it, rendered by its type's template, for a reader of English in UTC. SERVICE, ADMIN.
    async fn shown(&self, ctx: &Context<'_>) -> Result<ShownNotification> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let sender = match &self.sender {
            Some(sender) => Some(sender.load_profile(call).await?.as_ref().clone()),
            None => None,
        };
        let catalogue = catalogue::load_cached(call.app, call.tenant).await?;
        let content = notification::render_content(&self.of, sender, catalogue);
        Ok(ShownNotification { title: content.title(), body: content.body(), link: content.link() })
    }

    /// The sender's `data`, unchanged.
    async fn data(&self) -> Option<JsonScalar> {
        self.of.content.data.clone().map(JsonScalar)
    }

    /// The user who sent it or, for a reminder, who did the action.
    async fn sender(&self) -> Option<User> {
        self.sender.clone()
    }

    /// The target of a reminder.
    async fn target(&self) -> Option<TopicTarget> {
        self.of.target.clone().map(Into::into)
    }

    /// The action on the target.
    async fn action(&self) -> Option<&str> {
        self.of.action.as_deref()
    }

    /// Its own audience.
    async fn audience(&self) -> NotificationAudience<'_> {
        NotificationAudience(&self.of.audience)
    }

    /// When it was submitted, to this server or to the system that it was imported from.
    async fn created_at(&self) -> DateTimeScalar {
        self.of.created_at.into()
    }

    /// When its text was last amended.
    async fn updated_at(&self) -> Option<DateTimeScalar> {
        self.of.updated_at.map(Into::into)
    }

    /// When it is, or was, due to be published; null if it was not scheduled.
    async fn publish_at(&self) -> Option<DateTimeScalar> {
        self.of.publish_at.map(Into::into)
    }

    /// When it was published; null while it is scheduled.
    async fn published_at(&self) -> Option<DateTimeScalar> {
        self.of.published_at.map(Into::into)
    }

    /// From then on it is in no list and no count.
    async fn expires_at(&self) -> Option<DateTimeScalar> {
        self.of.expires_at.map(Into::into)
    }

    /// When it was retracted.
    async fn retracted_at(&self) -> Option<DateTimeScalar> {
        self.of.retracted_at.map(Into::into)
    }

    /// The service or operator that sent it; null if a user or a rule did, or if it is older than this record. SERVICE,
    /// ADMIN.
    #[expect(clippy::unused_async, reason = "resolvers are asynchronous")]
    async fn sent_by(&self, ctx: &Context<'_>) -> Result<Option<AuditActor>> {
        CallContext::with_role(ctx, STAFF)?;
        Ok(self.of.sent_by.clone().map(Into::into))
    }

    /// What services and operators did to it since: amendments, postponements and the retraction, newest first, at most
    /// 20. SERVICE, ADMIN.
    async fn history(&self, ctx: &Context<'_>) -> Result<Vec<AuditEntry>> {
        self.histories.load_entries(CallContext::with_role(ctx, STAFF)?, self.of.id).await
    }

    /// Code of the rule that raised it; null if a caller sent it.
    async fn rule(&self) -> Option<&str> {
        self.of.raised.as_ref().map(|raised| raised.rule.as_str())
    }

    /// Key of the row that the rule raised it for: column → value.
    async fn row_key(&self) -> Option<JsonScalar> {
        self.of.raised.as_ref().map(|raised| JsonScalar(Value::Object(raised.key.clone())))
    }

    /// How many users it addressed, reached, and was read by. Counts lag by up to a minute, so that reads never wait
    /// for counting.
    async fn stats(&self) -> NotificationStats {
        NotificationStats::from_notification(&self.of)
    }

    /// Growth of `stats` by hour, oldest first, without hours of no growth; the first 1,000 hours. Empty for a message,
    /// which is for one user. Deliveries to named users at publication are in no hour. SERVICE, ADMIN.
    async fn stats_by_hour(&self, ctx: &Context<'_>) -> Result<Vec<NotificationHour>> {
        self.hours.load_hours(CallContext::with_role(ctx, STAFF)?, self.of.seq).await
    }

    /// Its deliveries outside of the inbox, by channel; channels without any are left out. Deliveries are counted while
    /// they are kept: for the retention window, and as long as their endpoint or relay exists. SERVICE, ADMIN.
    async fn deliveries(&self, ctx: &Context<'_>) -> Result<Vec<NotificationDeliveries>> {
        self.figures.load_counts(CallContext::with_role(ctx, STAFF)?, self.of.id).await
    }
}

/// The audience that a notification names. A reminder names none: its subscriptions decide.
pub struct NotificationAudience<'a>(&'a notification::DirectAudience);

/// The audience that a notification names. A reminder names none: its subscriptions decide.
#[Object(name = "NotificationAudience")]
impl NotificationAudience<'_> {
    /// Whether it is for all users of the tenant.
    async fn everyone(&self) -> bool {
        self.0.everyone
    }

    /// The groups among them that still exist, by code.
    async fn groups(&self, ctx: &Context<'_>) -> Result<Vec<UserGroup>> {
        let call = CallContext::from_context(ctx);
        let mut groups = channel::find_groups(&call.app.db.read, call.tenant, &self.0.groups).await?;
        Ok(UserGroup::from_groups(self.0.groups.iter().filter_map(|code| groups.remove(code)).collect()))
    }

    /// Number of users named by id.
    async fn user_count(&self) -> i32 {
        to_int(self.0.users)
    }
}
