//! Channels as a tenant calls them, and targets.

use entity::channel::Kind;

use super::check;
use crate::error::Result;

/// Something that happens are done to: a document, an order, a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub target_type: String,
    pub id: String,
}

impl Target {
    /// Refuses ids that are none.
    pub fn check(&self) -> Result<()> {
        check::code("target.type", &self.target_type)?;
        check::code("target.externalId", &self.id)
    }

    /// Its channel for an action.
    pub fn channel(&self, action: &str) -> Code {
        let Self { target_type, id } = self.clone();
        Code::Target { target_type, target_id: id, action: action.to_owned() }
    }
}

/// A channel as the tenant calls it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// All members of the group with this code.
    Group(String),
    /// An action on a target.
    Target { target_type: String, target_id: String, action: String },
    /// All that the user with this row does.
    Actor(i64),
}

/// Between the parts of a target's code. Ids contain no control characters, so no two targets are written alike.
const SEPARATOR: char = '\u{1f}';

impl Code {
    /// Of what kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Group(_) => Kind::Group,
            Self::Target { .. } => Kind::Target,
            Self::Actor(_) => Kind::Actor,
        }
    }

    /// As it is stored.
    pub fn text(&self) -> String {
        match self {
            Self::Group(code) => code.clone(),
            Self::Target { target_type, target_id, action } => {
                format!("{target_type}{SEPARATOR}{target_id}{SEPARATOR}{action}")
            }
            Self::Actor(user) => user.to_string(),
        }
    }

    /// A target's parts again: type, id, action.
    pub fn parse_target(text: &str) -> Option<(String, String, String)> {
        let mut parts = text.split(SEPARATOR).map(str::to_owned);
        Some((parts.next()?, parts.next()?, parts.next()?))
    }
}
