//! Users, as others see them and as actors.

use entity::ids::UserId;
use entity::prelude::*;
use entity::user::Entity as User;

/// A user as others see them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, DerivePartialModel)]
#[sea_orm(entity = "User")]
pub struct UserProfile {
    /// Their row.
    pub id: UserId,
    /// The backend's id of the user.
    pub external_id: String,
    /// `None` until the backend sets it.
    pub name: Option<String>,
    /// An http(s) URL or a path.
    pub avatar_url: Option<String>,
    /// BCP 47.
    pub locale: Option<String>,
}

/// Maximum characters of a name that searches use.
const FOLDED_CHARACTERS: usize = 128;

/// The part of a name that searches use, case-folded.
pub fn folded_name(name: &str) -> String {
    fold_case(name).take(FOLDED_CHARACTERS).collect()
}

/// Folds the case of a text, in the same way for every database.
pub fn fold_case(text: &str) -> impl Iterator<Item = char> {
    // To upper case first: letters with several lower-case forms, such as sigma, then become one.
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// Who performed an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerformedBy<'a> {
    /// The tenant's backend or operator, or the server itself.
    Backend,
    /// A user, by the backend's id.
    User(&'a str),
}
