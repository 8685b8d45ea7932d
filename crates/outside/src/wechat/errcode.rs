//! Classifies WeChat's error codes.

/// What can be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureVerdict {
    /// Retry later.
    Later,
    /// Retry with a lower rate.
    Throttled,
    /// The access token is no longer valid.
    Token,
    /// The recipient does not follow the account or does not want the message.
    Contact,
    /// WeChat will never accept this message.
    Message,
    /// The account has used up its daily quota (days of Shanghai).
    Quota,
    /// The account may not send, or does not exist.
    Account,
}

/// The known codes, from the documentation and reports of developers.
const CODES: [(i64, FailureVerdict); 20] = [
    // The system is busy.
    (-1, FailureVerdict::Later),
    // The token: invalid or not the newest, invalid, expired.
    (40001, FailureVerdict::Token),
    (40014, FailureVerdict::Token),
    (42001, FailureVerdict::Token),
    // The open id is invalid; its user does not follow; is blocked by the account; has refused.
    (40003, FailureVerdict::Contact),
    (43004, FailureVerdict::Contact),
    (43019, FailureVerdict::Contact),
    (43101, FailureVerdict::Contact),
    // The template id has a wrong length; is unknown; is banned.
    (40036, FailureVerdict::Message),
    (40037, FailureVerdict::Message),
    (43116, FailureVerdict::Message),
    // A field named in the message is wrong; the content is blocked.
    (47003, FailureVerdict::Message),
    (40249, FailureVerdict::Message),
    // Too many per minute; too many concurrent messages to one user.
    (45011, FailureVerdict::Throttled),
    (43108, FailureVerdict::Throttled),
    // Too many per day.
    (45009, FailureVerdict::Quota),
    // The account lacks the permission; the app id is invalid; the secret is wrong; the secret is missing.
    (48001, FailureVerdict::Account),
    (40013, FailureVerdict::Account),
    (40125, FailureVerdict::Account),
    (41004, FailureVerdict::Account),
];

/// Classifies a code; `None` for success. An unknown code counts as temporary.
pub fn classify_code(code: i64) -> Option<FailureVerdict> {
    let known = CODES.iter().find(|(of, _)| *of == code).map(|(_, verdict)| *verdict);
    (code != 0).then(|| known.unwrap_or(FailureVerdict::Later))
}
