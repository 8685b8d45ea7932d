//! On whose behalf something is done.

/// Whose doing something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By<'a> {
    /// The tenant's backend or operator, or the server itself.
    Partner,
    /// One of its users, by the partner's id.
    User(&'a str),
}
