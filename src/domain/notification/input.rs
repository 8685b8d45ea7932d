//! What callers want to send.

use serde::Serialize;

use crate::clock::Millis;
use crate::model::content::Content;

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
