//! Views that read themselves, as users see them.

use entity::ids::{UserId, ViewId};
use entity::prelude::*;
use entity::view;

use super::check;
use crate::clock::Millis;
use crate::error::{Error, Result};

/// A view as the partner calls it: 1 to 128 characters each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, DerivePartialModel)]
#[sea_orm(entity = "view::Entity")]
pub struct Key {
    /// What kind of view it is: `chat`, `feed` …
    pub code: String,
    /// Which of its kind.
    #[sea_orm(from_col = "external_id")]
    pub id: String,
}

impl Key {
    /// Refuses what no view can have.
    pub fn check(&self) -> Result<()> {
        check::code("code", &self.code)?;
        check::code("externalId", &self.id)
    }

    /// That there is none.
    pub fn missing(&self) -> Error {
        Error::not_found("view", format!("{}/{}", self.code, self.id))
    }
}

/// A view as a user sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub row: ViewId,
    pub key: Key,
    /// Who sees it; nothing where it is nobody, or several.
    pub user: Option<UserId>,
    /// Activities since their last visit, or since they joined; 0 where it is nobody who sees it.
    pub unread: i64,
    /// Nothing where nothing has ever happened.
    pub last_activity_at: Option<Millis>,
    /// Nothing where they never looked.
    pub last_visited_at: Option<Millis>,
    /// What the latest activity carried.
    pub latest: Option<serde_json::Value>,
}

/// What a user has not seen yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unread {
    /// Activities in all their views.
    pub total: i64,
    /// Views that hold any, most recently active first.
    pub views: Vec<View>,
}
