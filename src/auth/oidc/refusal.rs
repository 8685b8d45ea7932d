//! Why a sign-in fails.

/// Why a sign-in fails.
#[derive(Debug)]
pub enum Refusal {
    /// This browser has not begun it, or too long ago, or it has ended already.
    Unknown,
    /// The provider has refused: its code, and what it says about it.
    Declined { code: String, words: Option<String> },
    /// The provider cannot be asked now.
    Away(String),
    /// What the provider has said is not what it must be.
    Unsound(String),
    /// The provider vouches for them, and the settings do not let them in: a sentence to them.
    NotLetIn(String),
}
