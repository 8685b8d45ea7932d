//! The inputs of a send.

use serde::Serialize;

use base::clock::Millis;
use base::error::{Error, Result};
use model::actor::StaffActor;
use model::channel::ActionTarget;
use model::content::NotificationContent;
use model::notification::RuleOrigin;
use model::validate;

/// A notification that a caller wants to send.
#[derive(Clone, Debug)]
pub struct NotificationInput {
    /// Code of the message type.
    pub message_type: String,
    pub addressees: Addressees,
    pub content: NotificationContent,
    /// The backend's id of a user.
    pub sender: Option<String>,
    /// When to publish it. At once if `None` or in the past.
    pub publish_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    /// Belongs to the sender: two senders may use the same key.
    pub idempotency_key: Option<String>,
    /// Refused if the template of its type fails on it. Not part of the content that a key stands for.
    pub is_strict: bool,
    /// Its history in another system that has sent it already. Not part of the content that a key stands for.
    pub past: Option<ImportedState>,
    /// Set if a rule sends it.
    pub raised: Option<RuleOrigin>,
    /// The service or operator that sends it. Not part of the content that a key stands for.
    pub sent_by: Option<StaffActor>,
}

impl NotificationInput {
    /// A notification to send at once, without a sender.
    pub fn new(message_type: String, addressees: Addressees, content: NotificationContent) -> Self {
        Self {
            message_type,
            addressees,
            content,
            sender: None,
            publish_at: None,
            expires_at: None,
            idempotency_key: None,
            is_strict: false,
            past: None,
            raised: None,
            sent_by: None,
        }
    }
}

/// The history of a message that another system has sent.
#[derive(Clone, Debug)]
pub struct ImportedState {
    /// The start of its lifetime, and its time of publication unless the newest log entry is later.
    pub created_at: Millis,
    /// When its receiver read it.
    pub read_at: Option<Millis>,
    /// When its receiver archived it.
    pub archived_at: Option<Millis>,
    /// The target that the message is about.
    pub target: Option<ActionTarget>,
    /// The action on the target.
    pub action: Option<String>,
}

/// How far that system's clock may be ahead of ours, in milliseconds.
const AHEAD: Millis = 60_000;

impl ImportedState {
    /// Refuses times in the future, and invalid targets and actions.
    pub(super) fn check(&self, now: Millis) -> Result<()> {
        let instants =
            [("createdAt", Some(self.created_at)), ("readAt", self.read_at), ("archivedAt", self.archived_at)];
        for (field, at) in instants {
            if at.is_some_and(|at| at > now + AHEAD) {
                return Err(Error::bad_input(field, "must not be in the future"));
            }
        }
        if let Some(target) = &self.target {
            target.check()?;
        }
        self.action.as_ref().map_or(Ok(()), |action| validate::identifier("action", action))
    }
}

/// The recipients as the caller names them. They decide the kind.
#[derive(Clone, Debug, Serialize)]
pub enum Addressees {
    Everyone,
    Groups(Vec<String>),
    Users(Vec<String>),
    Receiver(String),
    Subscribers { target_type: String, target_id: String, action: String },
}

impl Addressees {
    /// The same recipients sorted and without duplicates; `None` if nothing changes. Order and duplicates in an input
    /// mean nothing.
    pub(super) fn normalized(&self) -> Option<Self> {
        let set = |names: &Vec<String>| {
            let mut set = names.clone();
            set.sort_unstable();
            set.dedup();
            (set != *names).then_some(set)
        };
        match self {
            Self::Users(ids) => set(ids).map(Self::Users),
            Self::Groups(codes) => set(codes).map(Self::Groups),
            Self::Everyone | Self::Receiver(_) | Self::Subscribers { .. } => None,
        }
    }
}
