//! Why a user has or lacks a notification, for support.

use async_graphql::{Context, Enum, ID, Object, Result, SimpleObject};

use super::context::{CallContext, STAFF};
use super::scalars::DateTimeScalar;
use base::error::Error;
use domain::notification;
use model::id_cipher::IdKind;

/// Why a user has or lacks a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "notification::DecidingReason")]
pub enum InboxDecision {
    /// It is in the user's inbox.
    InInbox,
    /// It is in the user's archive.
    InArchive,
    /// It was retracted.
    Retracted,
    /// It waits for its `publishAt`.
    NotPublished,
    /// It is past its `expiresAt`.
    Expired,
    /// It is for named users, and the user is none of them.
    NotAddressed,
    /// It is for groups, and the user is in none of them.
    NotMember,
    /// It is for subscribers of its target and action and for followers of its sender, and the user is neither,
    /// directly or by a group.
    NotSubscribed,
    /// The user joined the group after it was published.
    JoinedLater,
    /// The user subscribed or followed after it was published.
    SubscribedLater,
    /// It was past the retention window when the tenant first knew the user.
    BeforeRetention,
    /// The user is its sender.
    OwnAction,
    /// The user or the tenant's defaults switched its message type off.
    TypeOff,
    /// The user or the tenant's defaults switched its action off.
    ActionOff,
    /// No present rule excludes it: the user deleted it, or a switch was off when it came. Deletions and former
    /// switches are not kept.
    Gone,
    /// The same, or it never named the user. The named users of an announcement are not kept after publication, unless
    /// its type is also delivered by other channels.
    NotNamedOrGone,
}

/// The rules that decide about a notification and a user, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "notification::InboxCondition")]
pub enum InboxRule {
    /// It was not retracted. `at`: when it was.
    NotRetracted,
    /// It is published. `at`: when it was, or will be.
    Published,
    /// It has not expired. `at`: when it does, or did.
    NotExpired,
    /// It is for the user: named, member of a group, subscribed, or everyone. `detail`: `everyone`, `group` with its
    /// code, `subscription` or `follow`. `passed` is null if it named users that are not kept.
    Addressed,
    /// The user listened before it was published. `at`: since when.
    InTime,
    /// It was within the retention window when the tenant first knew the user. `at`: where the user's inbox begins.
    WithinRetention,
    /// Its sender is another user.
    ByAnother,
    /// Its message type is on for the user. `detail`: `own` or `default` switch, or `mandatory`.
    TypeWanted,
    /// Its action is on for the user. `detail`: `own` or `default` switch, or `mandatory`.
    ActionWanted,
    /// It is in the user's inbox or archive. `at`: when the user archived it. If it is there, the rules between
    /// `NOT_EXPIRED` and this one are left out: it passed them when it came.
    InInbox,
}

/// The result of one rule.
pub struct InboxStep(notification::ConditionResult);

/// The result of one rule for a notification and a user.
#[Object]
impl InboxStep {
    /// The rule.
    async fn rule(&self) -> InboxRule {
        self.0.rule.into()
    }

    /// False if this is why the user lacks it; null if it can no longer be decided.
    async fn passed(&self) -> Option<bool> {
        self.0.passed
    }

    /// The rule's instant, if it has one.
    async fn at(&self) -> Option<DateTimeScalar> {
        self.0.at.map(Into::into)
    }

    /// The rule's detail, if it has one.
    async fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }
}

/// Why a user has or lacks a notification in inbox or archive.
#[derive(SimpleObject)]
pub struct InboxExplanation {
    /// Whether the user's own lists show it.
    pub present: bool,
    /// The reason.
    pub decision: InboxDecision,
    /// The reason's instant, if it has one: that of the last step.
    pub at: Option<DateTimeScalar>,
    /// The rules up to the one that decided.
    pub steps: Vec<InboxStep>,
}

#[derive(Default)]
pub struct ExplanationQuery;

#[Object]
impl ExplanationQuery {
    /// Why a user has or lacks a notification, by the rules that bring it into the inbox, applied now and in order.
    /// Mail and other channels are in `outboundDeliveries`. `NOT_FOUND` if the notification does not exist (any more),
    /// or the tenant does not know the user. SERVICE, ADMIN.
    async fn explain_delivery(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The `id` of a `SentNotification`.")] notification: ID,
        #[graphql(desc = "Your id of the user.")] user: ID,
    ) -> Result<InboxExplanation> {
        let call = CallContext::with_role(ctx, STAFF)?;
        let unknown = || Error::not_found_at("notification", "notification", notification.as_str());
        let (_, number) = call.tenant.id_cipher.decode(IdKind::Notification, &notification).ok_or_else(unknown)?;
        let known = call.find_user("user", &user).await?;
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
