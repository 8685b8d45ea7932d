//! What was sent, or will be.

use std::sync::Arc;

use entity::ids::{Seq, UserId};
use entity::notification::Kind;
use serde_json::{Map, Value};

use super::actor::Actor;
use super::catalogue::MessageType;
use super::channel::Target;
use super::content::Content;
use crate::clock::Millis;

/// Whom a notification addresses by itself; a reminder leaves that to the subscriptions.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Audience {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everyone: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// How many users are named one by one.
    #[serde(skip_serializing_if = "is_zero")]
    pub users: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// For which row of a table a rule has raised a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Code of the rule.
    pub rule: String,
    /// Column → value.
    pub key: Map<String, Value>,
}

/// Where a notification is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It waits for its time.
    Scheduled,
    /// In the inboxes of those it reaches.
    Published,
    /// In no list and no count any more.
    Expired,
    /// Taken back, before or after it was published.
    Retracted,
}

/// What was sent, or will be.
#[derive(Clone, Debug)]
pub struct Notification {
    /// Its number within the tenant.
    pub id: i64,
    /// Its place in the log, once it is published.
    pub seq: Option<Seq>,
    pub kind: Kind,
    pub message_type: Arc<MessageType>,
    pub content: Content,
    pub sender: Option<UserId>,
    /// Of a message.
    pub receiver: Option<UserId>,
    pub target: Option<Target>,
    pub action: Option<String>,
    pub audience: Audience,
    pub created_at: Millis,
    /// When it is to be published, where it was scheduled.
    pub publish_at: Option<Millis>,
    pub published_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    /// When its text was last amended.
    pub updated_at: Option<Millis>,
    pub retracted_at: Option<Millis>,
    /// Users addressed when it was published; nothing until they were counted.
    pub audience_size: Option<i64>,
    /// Inboxes in which it has arrived, as far as they were counted.
    pub delivered_count: i64,
    /// Users who have read it, as far as they were counted.
    pub read_count: i64,
    /// Nothing where somebody has sent it.
    pub raised: Option<Raised>,
    /// The service or operator who has sent it.
    pub sent_by: Option<Actor>,
}

impl Notification {
    /// Where it is at this instant.
    pub fn status(&self, now: Millis) -> Status {
        match self {
            Self { retracted_at: Some(_), .. } => Status::Retracted,
            Self { seq: None, .. } => Status::Scheduled,
            Self { expires_at: Some(at), .. } if *at <= now => Status::Expired,
            _ => Status::Published,
        }
    }
}
