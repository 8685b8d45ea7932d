//! Why a sign-in fails.

/// Why a sign-in fails.
#[derive(Debug)]
pub enum SignInRefusal {
    /// This browser has no open attempt: it began none, or the attempt has expired or ended.
    Unknown,
    /// The provider refused: its error code and description.
    Declined { code: String, words: Option<String> },
    /// The provider cannot be reached now.
    Away(String),
    /// The provider's response is invalid.
    Unsound(String),
    /// The provider identified the person, but the settings do not admit them.
    NotLetIn(ClaimRefusal),
}

/// Why a person's claims do not admit them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRefusal {
    /// The name of the claim.
    pub claim: String,
    pub problem: ClaimProblem,
}

/// What is wrong with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimProblem {
    /// The provider did not send it.
    Missing,
    /// It is not a text.
    NotText,
    /// It has several values, but must have one.
    Several,
    /// It cannot name a tenant or a user.
    InvalidName,
    /// The provider has not verified the email address.
    Unverified,
    /// None of its values gives a role.
    NoRole,
}
