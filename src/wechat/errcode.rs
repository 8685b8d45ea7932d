//! Classifies WeChat's error codes.

/// What can be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
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
const CODES: [(i64, Verdict); 20] = [
    // The system is busy.
    (-1, Verdict::Later),
    // The token: invalid or not the newest, invalid, expired.
    (40001, Verdict::Token),
    (40014, Verdict::Token),
    (42001, Verdict::Token),
    // The open id is invalid; its user does not follow; is blocked by the account; has refused.
    (40003, Verdict::Contact),
    (43004, Verdict::Contact),
    (43019, Verdict::Contact),
    (43101, Verdict::Contact),
    // The template id has a wrong length; is unknown; is banned.
    (40036, Verdict::Message),
    (40037, Verdict::Message),
    (43116, Verdict::Message),
    // A field named in the message is wrong; the content is blocked.
    (47003, Verdict::Message),
    (40249, Verdict::Message),
    // Too many per minute; too many concurrent messages to one user.
    (45011, Verdict::Throttled),
    (43108, Verdict::Throttled),
    // Too many per day.
    (45009, Verdict::Quota),
    // The account lacks the permission; the app id is invalid; the secret is wrong; the secret is missing.
    (48001, Verdict::Account),
    (40013, Verdict::Account),
    (40125, Verdict::Account),
    (41004, Verdict::Account),
];

/// Classifies a code; `None` for success. An unknown code counts as temporary.
pub fn verdict(code: i64) -> Option<Verdict> {
    let known = CODES.iter().find(|(of, _)| *of == code).map(|(_, verdict)| *verdict);
    (code != 0).then(|| known.unwrap_or(Verdict::Later))
}
