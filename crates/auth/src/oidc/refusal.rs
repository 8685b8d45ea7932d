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
    /// The provider identified the person, but the settings do not admit them: a sentence for the person.
    NotLetIn(String),
}
