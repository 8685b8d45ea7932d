//! Channels and targets, by the tenant's ids.

use entity::channel::ChannelKind;

use super::validate;
use base::error::Result;

/// An object that actions happen to: a document, an order, a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ActionTarget {
    pub target_type: String,
    pub id: String,
}

impl ActionTarget {
    /// Fails if an id is invalid.
    pub fn check(&self) -> Result<()> {
        validate::identifier("target.type", &self.target_type)?;
        validate::identifier("target.externalId", &self.id)
    }

    /// The channel of an action on this target.
    pub fn channel(&self, action: &str) -> ChannelCode {
        let Self { target_type, id } = self.clone();
        ChannelCode::Target { target_type, target_id: id, action: action.to_owned() }
    }
}

/// A channel by the tenant's ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChannelCode {
    /// All members of the group with this code.
    Group(String),
    /// An action on a target.
    Target { target_type: String, target_id: String, action: String },
    /// All actions of the user with this row.
    Actor(i64),
}

/// Separates the parts of a target's code. Ids contain no control characters, so the code is unambiguous.
const SEPARATOR: char = '\u{1f}';

impl ChannelCode {
    /// The kind of channel.
    pub fn kind(&self) -> ChannelKind {
        match self {
            Self::Group(_) => ChannelKind::Group,
            Self::Target { .. } => ChannelKind::Target,
            Self::Actor(_) => ChannelKind::Actor,
        }
    }

    /// The stored form.
    pub fn stored_form(&self) -> String {
        match self {
            Self::Group(code) => code.clone(),
            Self::Target { target_type, target_id, action } => {
                format!("{target_type}{SEPARATOR}{target_id}{SEPARATOR}{action}")
            }
            Self::Actor(user) => user.to_string(),
        }
    }

    /// Parses the code of a target: type, id, action.
    pub fn parse_target(text: &str) -> Option<(String, String, String)> {
        let mut parts = text.split(SEPARATOR).map(str::to_owned);
        Some((parts.next()?, parts.next()?, parts.next()?))
    }
}
