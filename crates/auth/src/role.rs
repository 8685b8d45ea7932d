//! Roles of callers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a caller may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum CallerRole {
    /// An end user, in their own inbox.
    #[default]
    User,
    /// A tenant's backend.
    Service,
    /// An operator.
    Admin,
}

impl fmt::Display for CallerRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Service => "service",
            Self::Admin => "admin",
        })
    }
}
