//! The file to replay.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use chrono::{DateTime, Utc};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use crate::Result;

/// An action of a user on a target.
#[derive(Deserialize)]
pub struct Activity {
    /// Line number from 1. The idempotency key is made of it, so it must not depend on options.
    #[serde(skip)]
    pub line: usize,
    pub at: DateTime<Utc>,
    pub actor: String,
    #[serde(flatten)]
    pub topic: Topic,
}

/// A topic to subscribe to: an action on a target.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Hash)]
pub struct Topic {
    pub action: String,
    #[serde(rename = "targetType")]
    pub target_type: String,
    #[serde(rename = "target")]
    pub target_id: String,
}

/// Reads the whole file, sorted by time; lines of the same instant keep their order.
pub fn read(path: &Path) -> Result<Vec<Activity>> {
    let file = File::open(path).map_err(|error| format!("cannot open {}: {error}", path.display()))?;
    parse(BufReader::new(MultiGzDecoder::new(file)))
}

/// Reads activities from uncompressed JSONL.
pub fn parse(lines: impl BufRead) -> Result<Vec<Activity>> {
    let mut activities = Vec::new();
    for (index, text) in lines.lines().enumerate() {
        let line = index + 1;
        let activity: Activity = serde_json::from_str(&text?).map_err(|error| format!("line {line}: {error}"))?;
        activities.push(Activity { line, ..activity });
    }
    activities.sort_by_key(|activity| activity.at);
    Ok(activities)
}
