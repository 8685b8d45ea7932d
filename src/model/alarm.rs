//! Whom something tells that it needs somebody.

use serde::{Deserialize, Serialize};

/// An announcement to a group, of a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alarm {
    pub message_type: String,
    pub group: String,
}
