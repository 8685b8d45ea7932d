//! Explains why a user has a notification, or not.
//!
//! Syncs the user's inbox first, as before every read, so that the inbox is up to date. If the notification is not in
//! it, the conditions of a sync are checked one by one, as of now. Past preferences and deleted items are not stored:
//! if no condition excludes the user now, the decision says that.

mod queries;

use entity::channel::ChannelKind;
use entity::ids::{Seq, UserId};
use entity::notification::{self, Entity as Notifications};
use entity::prelude::*;

use super::{DirectAudience, NotificationKind};
use crate::inbox::freshness::{self, InboxPosition};
use crate::tenant::Tenant;
use base::clock::Millis;
use base::error::{Error, Result};
use queries::{ExplanationFacts, HeardChannel};
use store::Store;

/// The conditions, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxCondition {
    NotRetracted,
    Published,
    NotExpired,
    Addressed,
    InTime,
    WithinRetention,
    ByAnother,
    TypeWanted,
    ActionWanted,
    InInbox,
}

/// The deciding reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidingReason {
    InInbox,
    InArchive,
    Retracted,
    NotPublished,
    Expired,
    NotAddressed,
    NotMember,
    NotSubscribed,
    JoinedLater,
    SubscribedLater,
    BeforeRetention,
    OwnAction,
    TypeOff,
    ActionOff,
    Gone,
    NotNamedOrGone,
}

/// The result of one condition.
#[derive(Clone, Debug)]
pub struct ConditionResult {
    pub rule: InboxCondition,
    /// `None` if it can no longer be determined.
    pub passed: Option<bool>,
    pub at: Option<Millis>,
    pub detail: Option<String>,
}

/// The explanation why a user has a notification, or not.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub decision: DecidingReason,
    /// Up to and including the one that decided.
    pub steps: Vec<ConditionResult>,
}

impl Explanation {
    /// Whether the user has it, in their inbox or in the archive.
    pub fn is_present(&self) -> bool {
        matches!(self.decision, DecidingReason::InInbox | DecidingReason::InArchive)
    }
}

/// Explains whether a user has the notification with this number. `None` if it does not exist (any more).
pub async fn explain(store: &Store, tenant: &Tenant, id: i64, user: UserId) -> Result<Option<Explanation>> {
    let db = &store.db.read;
    loop {
        let seq = Notifications::of_tenant(tenant.id).filter(notification::Column::Id.eq(id)).select_only();
        let seq = seq.column(notification::Column::Seq).into_tuple::<Option<Seq>>().one(db).await?;
        let Some(seq) = seq else { return Ok(None) };
        if freshness::load_positions(db, tenant, vec![user]).await?.iter().any(InboxPosition::is_behind) {
            freshness::sync_inboxes(store, tenant, &[user]).await?;
        }
        let now = store.now();
        let facts = queries::select_facts(db, tenant, (id, user), now).fetch_optional::<ExplanationFacts>(db).await?;
        let Some(facts) = facts else { return Ok(None) };
        if facts.seq != seq {
            // It was published after the inbox was synced: start again.
            continue;
        }
        let heard = match seq {
            Some(seq) => {
                queries::select_heard_channels(db, tenant, (seq, user)).fetch_by_name::<HeardChannel>(db).await?
            }
            None => Vec::new(),
        };
        let audience: DirectAudience = serde_json::from_str(&facts.audience).map_err(Error::internal)?;
        let mut case = ExplanationCase { facts, heard, audience, user, steps: Vec::new() };
        let decision = case.decide(now, store.config.retention_millis());
        return Ok(Some(Explanation { decision, steps: case.steps }));
    }
}

/// The facts, and the results so far.
struct ExplanationCase {
    facts: ExplanationFacts,
    heard: Vec<HeardChannel>,
    audience: DirectAudience,
    user: UserId,
    steps: Vec<ConditionResult>,
}

impl ExplanationCase {
    fn decide(&mut self, now: Millis, retention: Millis) -> DecidingReason {
        if let Some(decision) = self.check_lifetime(now) {
            return decision;
        }
        if let Some(state) = self.facts.state {
            // It was delivered, so all other conditions held at that time.
            self.record_result(InboxCondition::InInbox, Some(true), self.facts.archived_at, None);
            return if state.is_archived() { DecidingReason::InArchive } else { DecidingReason::InInbox };
        }
        let kept_out = self.check_audience(retention).or_else(|| self.check_preferences());
        if let Some(decision) = kept_out {
            return decision;
        }
        self.record_result(InboxCondition::InInbox, Some(false), None, None);
        let is_certain = self.steps.iter().all(|step| step.passed.is_some());
        if is_certain { DecidingReason::Gone } else { DecidingReason::NotNamedOrGone }
    }

    /// The conditions of the notification itself, which exclude all users.
    fn check_lifetime(&mut self, now: Millis) -> Option<DecidingReason> {
        let ExplanationFacts { retracted_at, seq, published_at, publish_at, expires_at, .. } = self.facts;
        let is_alive = expires_at.is_none_or(|at| at > now);
        if self.record_result(InboxCondition::NotRetracted, Some(retracted_at.is_none()), retracted_at, None) {
            return Some(DecidingReason::Retracted);
        }
        if self.record_result(InboxCondition::Published, Some(seq.is_some()), published_at.or(publish_at), None) {
            return Some(DecidingReason::NotPublished);
        }
        self.record_result(InboxCondition::NotExpired, Some(is_alive), expires_at, None)
            .then_some(DecidingReason::Expired)
    }

    /// The conditions of the audience.
    fn check_audience(&mut self, retention: Millis) -> Option<DecidingReason> {
        if self.facts.kind == NotificationKind::Message {
            let is_receiver = self.facts.receiver_id == Some(self.user);
            return self
                .record_result(InboxCondition::Addressed, Some(is_receiver), None, None)
                .then_some(DecidingReason::NotAddressed);
        }
        if self.audience.users > 0 {
            let is_named = (self.facts.keeps_named == 1).then_some(self.facts.is_named == 1);
            return self
                .record_result(InboxCondition::Addressed, is_named, None, None)
                .then_some(DecidingReason::NotAddressed);
        }
        let detail = self.heard.first().and_then(channel_text);
        if self.record_result(InboxCondition::Addressed, Some(!self.heard.is_empty()), None, detail) {
            let is_reminder = self.facts.kind == NotificationKind::Reminder;
            return Some(if is_reminder { DecidingReason::NotSubscribed } else { DecidingReason::NotMember });
        }
        let in_time = self.heard.iter().find(|of| of.in_time == 1);
        let by = in_time.or(self.heard.first())?;
        let (since, detail) = (by.since, channel_text(by));
        // An announcement's channel was a group, even if that has been deleted since.
        let is_group = by.kind == ChannelKind::Group || self.facts.kind == NotificationKind::Announcement;
        let by_another = by.by_another == 1;
        if self.record_result(InboxCondition::InTime, Some(in_time.is_some()), since, detail) {
            return Some(if is_group { DecidingReason::JoinedLater } else { DecidingReason::SubscribedLater });
        }
        let from = self.facts.known_since - retention;
        let is_retained = self.facts.published_at.is_none_or(|at| at >= from);
        if self.record_result(InboxCondition::WithinRetention, Some(is_retained), Some(from), None) {
            return Some(DecidingReason::BeforeRetention);
        }
        let applies = self.facts.kind == NotificationKind::Reminder && self.facts.sender_id.is_some();
        (applies && self.record_result(InboxCondition::ByAnother, Some(by_another), None, None))
            .then_some(DecidingReason::OwnAction)
    }

    /// The conditions of the user's preferences.
    fn check_preferences(&mut self) -> Option<DecidingReason> {
        let is_mandatory = self.facts.is_mandatory == 1;
        let source = |is_own: i32| match (is_mandatory, is_own) {
            (true, _) => "mandatory",
            (_, 1) => "own",
            _ => "default",
        };
        let (of_type, of_action) = (source(self.facts.is_own_type), source(self.facts.is_own_action));
        if self.record_result(
            InboxCondition::TypeWanted,
            Some(self.facts.wants_type == 1),
            None,
            Some(of_type.to_owned()),
        ) {
            return Some(DecidingReason::TypeOff);
        }
        let (applies, wants) = (self.facts.has_action == 1, self.facts.wants_action == 1);
        (applies && self.record_result(InboxCondition::ActionWanted, Some(wants), None, Some(of_action.to_owned())))
            .then_some(DecidingReason::ActionOff)
    }

    /// Records a result. Returns whether it decides that the user does not have the notification.
    fn record_result(
        &mut self,
        rule: InboxCondition,
        passed: Option<bool>,
        at: Option<Millis>,
        detail: Option<String>,
    ) -> bool {
        self.steps.push(ConditionResult { rule, passed, at, detail });
        passed == Some(false)
    }
}

/// The channel through which a user is addressed, as text for operators.
fn channel_text(of: &HeardChannel) -> Option<String> {
    match of.kind {
        ChannelKind::Everyone => Some("everyone".to_owned()),
        ChannelKind::Group => Some(format!("group {}", of.code)),
        ChannelKind::Target => Some("subscription".to_owned()),
        ChannelKind::Actor => Some("follow".to_owned()),
        ChannelKind::Deleted => None,
    }
}
