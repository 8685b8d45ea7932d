//! Alarms of rules and destinations.

use serde::{Deserialize, Serialize};

/// Where an alarm is announced: a message type and a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlarmTarget {
    pub message_type: String,
    pub group: String,
}
