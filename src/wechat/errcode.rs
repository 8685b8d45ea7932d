//! What WeChat's codes say, and what can be done about it.

/// What can be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It cannot take it now.
    Later,
    /// It wants less at a time.
    Throttled,
    /// The token counts no more.
    Token,
    /// Whoever it is for does not follow the account, or does not want it.
    Contact,
    /// It will never take this message.
    Message,
    /// The account has sent all that it may on this day of Shanghai.
    Quota,
    /// The account may not send, or is none.
    Account,
}

/// All codes that are known, by the documentation and by what developers report.
const CODES: [(i64, Verdict); 20] = [
    // The system is busy.
    (-1, Verdict::Later),
    // The token: invalid or not the newest, invalid, expired.
    (40001, Verdict::Token),
    (40014, Verdict::Token),
    (42001, Verdict::Token),
    // The open id is none, its user does not follow, is on the account's blacklist, has refused.
    (40003, Verdict::Contact),
    (43004, Verdict::Contact),
    (43019, Verdict::Contact),
    (43101, Verdict::Contact),
    // The template's id has a wrong length, is none, is banned.
    (40036, Verdict::Message),
    (40037, Verdict::Message),
    (43116, Verdict::Message),
    // A field is wrong, which the message names; what it says is blocked.
    (47003, Verdict::Message),
    (40249, Verdict::Message),
    // Too many in a minute, too many at a time to one user.
    (45011, Verdict::Throttled),
    (43108, Verdict::Throttled),
    // Too many in a day.
    (45009, Verdict::Quota),
    // The account lacks the right; the app id is none; the secret is wrong, is missing.
    (48001, Verdict::Account),
    (40013, Verdict::Account),
    (40125, Verdict::Account),
    (41004, Verdict::Account),
];

/// What a code says; nothing where it says that all is well. One that nobody knows may pass.
pub fn verdict(code: i64) -> Option<Verdict> {
    let known = CODES.iter().find(|(of, _)| *of == code).map(|(_, verdict)| *verdict);
    (code != 0).then(|| known.unwrap_or(Verdict::Later))
}
