//! Views, as users see them. A visit marks all of a view as read.

use entity::ids::{UserId, ViewId};
use entity::prelude::*;
use entity::view;

use super::validate;
use base::clock::Millis;
use base::error::{Error, Result};

/// A view by the backend's ids, 1 to 128 characters each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, DerivePartialModel)]
#[sea_orm(entity = "view::Entity")]
pub struct ViewKey {
    /// The kind of view: `chat`, `feed` …
    pub code: String,
    /// The id within its kind.
    #[sea_orm(from_col = "external_id")]
    pub id: String,
}

impl ViewKey {
    /// Fails if a part is invalid.
    pub fn check(&self) -> Result<()> {
        validate::identifier("code", &self.code)?;
        validate::identifier("externalId", &self.id)
    }

    /// The error for an unknown view.
    pub fn not_found_error(&self) -> Error {
        Error::not_found("view", format!("{}/{}", self.code, self.id))
    }
}

/// A view as a user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct UserView {
    pub row: ViewId,
    pub key: ViewKey,
    /// The user who sees it; `None` for no user or several.
    pub user: Option<UserId>,
    /// Activities since the user's last visit, or since they joined; 0 without a user.
    pub unread: i64,
    /// `None` if there was no activity yet.
    pub last_activity_at: Option<Millis>,
    /// `None` if the user has not visited it.
    pub last_visited_at: Option<Millis>,
    /// The data of the latest activity.
    pub latest: Option<serde_json::Value>,
}

/// Unread activities of a user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnreadViews {
    /// Number of activities in all the user's views.
    pub total: i64,
    /// The views with unread activities, most recently active first.
    pub views: Vec<UserView>,
}
