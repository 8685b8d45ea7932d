//! Users, as others see them and as they act.

use entity::ids::UserId;
use entity::prelude::*;
use entity::user::Entity as User;

/// A user as others see them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, DerivePartialModel)]
#[sea_orm(entity = "User")]
pub struct Profile {
    /// Their row.
    pub id: UserId,
    /// The partner's id of them.
    pub external_id: String,
    /// As far as the partner has told it.
    pub name: Option<String>,
    /// An http(s) URL or a path.
    pub avatar_url: Option<String>,
    /// BCP 47.
    pub locale: Option<String>,
}

/// The most characters of a name that it is found by.
const FOLDED_CHARACTERS: usize = 128;

/// As much of a name as it is found by, without regard to case.
pub fn folded(name: &str) -> String {
    without_case(name).take(FOLDED_CHARACTERS).collect()
}

/// A text without regard to case, as texts are compared, on every database alike.
pub fn without_case(text: &str) -> impl Iterator<Item = char> {
    // To upper case first: of what has several lower ones, such as the sigma, one is left.
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
}

/// Whose doing something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By<'a> {
    /// The tenant's backend or operator, or the server itself.
    Partner,
    /// One of its users, by the partner's id.
    User(&'a str),
}
