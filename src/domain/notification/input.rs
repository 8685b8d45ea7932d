//! What callers want to send.

use serde::Serialize;

use crate::clock::Millis;
use crate::error::{Error, Result};
use crate::model::actor::Actor;
use crate::model::channel::Target;
use crate::model::check;
use crate::model::content::Content;
use crate::model::notification::Raised;

/// What a caller wants to send.
#[derive(Clone, Debug)]
pub struct Input {
    /// Code of the message type.
    pub message_type: String,
    pub addressees: Addressees,
    pub content: Content,
    /// The partner's id.
    pub sender: Option<String>,
    /// When to publish it, where that is in the future; at once otherwise.
    pub publish_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    /// Among those of whoever sends.
    pub idempotency_key: Option<String>,
    /// Refused while its type's template has flaws on it. Strictness is not something else to a key.
    pub is_strict: bool,
    /// What another system knows of it, where that has sent it already. Another past is not something else to a key.
    pub past: Option<Past>,
    /// Where a rule raises it.
    pub raised: Option<Raised>,
    /// The service or operator who sends it. Another one is not something else to a key.
    pub sent_by: Option<Actor>,
}

impl Input {
    /// Something to be sent at once, by nobody in particular.
    pub fn new(message_type: String, addressees: Addressees, content: Content) -> Self {
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

/// What another system knows of a message that it has sent.
#[derive(Clone, Debug)]
pub struct Past {
    /// From here on its time runs, and it is published as of this instant, unless the log is further.
    pub created_at: Millis,
    /// When its receiver read it.
    pub read_at: Option<Millis>,
    /// When its receiver archived it.
    pub archived_at: Option<Millis>,
    /// What it is about.
    pub target: Option<Target>,
    /// What happened to that.
    pub action: Option<String>,
}

/// How far ahead of ours the clock of that system may be, in milliseconds.
const AHEAD: Millis = 60_000;

impl Past {
    /// Refuses what cannot have been.
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
        self.action.as_ref().map_or(Ok(()), |action| check::code("action", action))
    }
}

/// Whom it is for, as the caller names them; this decides the kind.
#[derive(Clone, Debug, Serialize)]
pub enum Addressees {
    Everyone,
    Groups(Vec<String>),
    Users(Vec<String>),
    Receiver(String),
    Subscribers { target_type: String, target_id: String, action: String },
}

impl Addressees {
    /// The same with each name once, sorted. `None` if it is so already. The order of users or groups in an input, and repeats, mean
    /// nothing.
    pub(super) fn as_set(&self) -> Option<Self> {
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
