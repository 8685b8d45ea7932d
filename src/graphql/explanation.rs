//! Why a user has something, or has not: for support.

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};

use super::context::{Call, STAFF};
use super::scalars::Instant;
use crate::domain::notification;
use crate::error::Error;
use crate::model::seal::Kind;

/// Why a user has a notification in Tidings, or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "notification::Decision")]
pub enum InboxDecision {
    /// It is in their inbox.
    InInbox,
    /// It is in their archive.
    InArchive,
    /// It was taken back.
    Retracted,
    /// It waits for its `publishAt`.
    NotPublished,
    /// It is past its `expiresAt`.
    Expired,
    /// It is for users whom it names, and they are not among them.
    NotAddressed,
    /// It is for groups, and they are in none of them.
    NotMember,
    /// It is for those who subscribe to its target and action, by themselves or in a group, or follow who did it; they do none of these.
    NotSubscribed,
    /// They came into a group that it is for only after it was published.
    JoinedLater,
    /// They subscribed, or began to follow, only after it was published.
    SubscribedLater,
    /// When the tenant first heard of them, it was past the retention window.
    BeforeRetention,
    /// They did themselves what it is about.
    OwnAction,
    /// They, or the tenant's defaults, have switched its message type off.
    TypeOff,
    /// They, or the tenant's defaults, have switched its action off.
    ActionOff,
    /// Nothing keeps it from them as things are now: they have deleted it, or a switch was off when it came. What is deleted, and what
    /// switches used to be, is not kept.
    Gone,
    /// The same, or it never named them: whom an announcement names is not kept once it is published, unless its type goes out
    /// by other channels as well.
    NotNamedOrGone,
}

/// What is asked about a notification and a user, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "notification::Rule")]
pub enum InboxRule {
    /// It was not taken back. `at`: when it was.
    NotRetracted,
    /// It is published. `at`: when it was, or is to be.
    Published,
    /// It has not expired. `at`: when it does, or did.
    NotExpired,
    /// It is for them: they are named, in a group that it is for, subscribed, or it is for everyone. `detail`: `everyone`, `group` with its
    /// code, `subscription` or `follow`. `passed` is null where it named users and does not know any more whom.
    Addressed,
    /// They listened before it was published. `at`: since when they do.
    InTime,
    /// It was within the retention window when the tenant first heard of them. `at`: where their inbox begins.
    WithinRetention,
    /// Somebody else did what it is about.
    ByAnother,
    /// Its message type is on for them. `detail`: by whose switch, `own` or `default`, or `mandatory`.
    TypeWanted,
    /// Its action is on for them. `detail`: by whose switch, `own` or `default`, or `mandatory`.
    ActionWanted,
    /// It is in their inbox or archive. `at`: when they archived it. Where it is, no questions are between this and `NOT_EXPIRED`: it
    /// passed them when it came.
    InInbox,
}

/// An answer to one question.
pub struct InboxStep(notification::Step);

/// An answer to one question about a notification and a user.
#[Object]
impl InboxStep {
    /// What was asked.
    async fn rule(&self) -> InboxRule {
        self.0.rule.into()
    }

    /// False where this is why they have it not; null where it cannot be said any more.
    async fn passed(&self) -> Option<bool> {
        self.0.passed
    }

    /// The instant that it is about, as the rule says.
    async fn at(&self) -> Option<Instant> {
        self.0.at.map(Into::into)
    }

    /// What it was decided by, as the rule says.
    async fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }
}

/// Why a user has a notification in their inbox or archive, or has not.
#[derive(SimpleObject)]
pub struct InboxExplanation {
    /// Whether they have it, as their own lists show it.
    pub present: bool,
    /// Why.
    pub decision: InboxDecision,
    /// The instant that the decision is about, where it is about one: that of the last of the steps.
    pub at: Option<Instant>,
    /// What was asked, up to what decided.
    pub steps: Vec<InboxStep>,
}

#[derive(Default)]
pub struct ExplanationQuery;

#[Object]
impl ExplanationQuery {
    /// Why a user has a notification in their inbox, or has not: by the rules that bring it there, asked now, in the order in which they
    /// decide. What goes out by mail and other channels is in `outboundDeliveries`. `NOT_FOUND` where there is no such notification (any
    /// more), or the tenant has never heard of the user. SERVICE, ADMIN.
    async fn explain_delivery(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `SentNotification`.")] notification: ID,
        #[graphql(desc = "The partner's own id of the user.")] user: ID,
    ) -> Result<InboxExplanation> {
        let call = Call::by(ctx, STAFF)?;
        let unknown = || Error::not_found_at("notification", "notification", notification.as_str());
        let (_, number) = call.tenant.seal.open(Kind::Notification, &notification).ok_or_else(unknown)?;
        let known = call.known_user("user", &user).await?;
        let row = known.ok_or_else(|| Error::not_found_at("user", "user", user.as_str()))?;
        let explained = notification::explain(call.app, call.tenant, number, row).await?.ok_or_else(unknown)?;
        Ok(InboxExplanation {
            present: explained.is_present(),
            decision: explained.decision.into(),
            at: explained.steps.last().and_then(|step| step.at).map(Into::into),
            steps: explained.steps.into_iter().map(InboxStep).collect(),
        })
    }
}
