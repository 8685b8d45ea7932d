//! Notifications, sent or scheduled.

use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::notification::NotificationKind;
use serde_json::{Map, Value};

use super::actor::StaffActor;
use super::catalogue::MessageType;
use super::channel::ActionTarget;
use super::content::NotificationContent;
use base::clock::Millis;

/// The users that a notification addresses directly; a reminder goes to subscribers instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct DirectAudience {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everyone: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Number of individually named users.
    #[serde(skip_serializing_if = "is_zero")]
    pub users: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The table row for which a rule sent a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleOrigin {
    /// Code of the rule.
    pub rule: String,
    /// Column → value.
    pub key: Map<String, Value>,
}

/// The state of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotificationState {
    /// Not published yet.
    Scheduled,
    /// In the inboxes of its recipients.
    Published,
    /// In no list and no count.
    Expired,
    /// Withdrawn, before or after publication.
    Retracted,
}

/// A notification, sent or scheduled.
#[derive(Clone, Debug)]
pub struct Notification {
    /// Its id within the tenant.
    pub id: i64,
    /// Its log position, once published.
    pub seq: Option<Seq>,
    pub kind: NotificationKind,
    pub message_type: Arc<MessageType>,
    pub content: NotificationContent,
    pub sender: Option<UserId>,
    /// Only of a message.
    pub receiver: Option<UserId>,
    pub target: Option<ActionTarget>,
    pub action: Option<String>,
    pub audience: DirectAudience,
    pub created_at: Millis,
    /// When it is due, if it was scheduled.
    pub publish_at: Option<Millis>,
    pub published_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    /// When its text was last amended.
    pub updated_at: Option<Millis>,
    pub retracted_at: Option<Millis>,
    /// Number of addressed users at publication; `None` until counted.
    pub audience_size: Option<i64>,
    /// Number of inboxes that have received it, as far as counted.
    pub delivered_count: i64,
    /// Number of users who have read it, as far as counted.
    pub read_count: i64,
    /// Set if a rule sent it.
    pub raised: Option<RuleOrigin>,
    /// The service or operator that sent it.
    pub sent_by: Option<StaffActor>,
}

impl Notification {
    /// The state at an instant.
    pub fn status(&self, now: Millis) -> NotificationState {
        match self {
            Self { retracted_at: Some(_), .. } => NotificationState::Retracted,
            Self { seq: None, .. } => NotificationState::Scheduled,
            Self { expires_at: Some(at), .. } if *at <= now => NotificationState::Expired,
            _ => NotificationState::Published,
        }
    }
}
