//! What can go wrong, as far as somebody can react to it.

mod ailment;

use std::error::Error as StdError;

use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr};

use crate::telemetry::metrics::POOL_TIMEOUTS;
pub use ailment::Ailment;

/// The result of everything in Tidings that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Each variant is something a caller can react to, but for the last, which only an operator can.
///
/// Messages are shown to clients as they stand, except that of `Internal`, which goes to the log alone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody that we know is calling.
    #[error("{0}")]
    Unauthenticated(String),
    /// The caller's role may not do this, whatever it is applied to.
    #[error("{0}")]
    Forbidden(String),
    /// Does not exist, or belongs to somebody else.
    #[error("no {what} {id:?}")]
    NotFound {
        /// The noun, as in "no group".
        what: &'static str,
        /// What the caller called it.
        id: String,
        /// Path of the argument that names it, such as `select.ids[3]`; empty where there is only one.
        field: String,
    },
    /// The input is to blame; nothing was changed.
    #[error("{}", said(field, message))]
    BadInput {
        /// Path of the argument, such as `input.content.title`; empty where no single one is to blame.
        field: String,
        /// What is wrong with it, as a sentence that the field begins: `must be at least 1`.
        message: String,
    },
    /// It contradicts what is already there.
    #[error("{0}")]
    Conflict(String),
    /// Overloaded, or the database is away: the same call may succeed in a moment.
    #[error("{0}")]
    Unavailable(String),
    /// Somebody who was looked up is no user any more; whoever looks again finds who has the id now. Nothing was changed.
    #[error("the user was erased a moment ago: try again")]
    Erased,
    /// The caller asks for more than their share.
    #[error("too many {what}, try again in {retry_after} s")]
    RateLimited {
        /// Of which the caller has had their share.
        what: &'static str,
        /// Seconds until the same call may be tried again, at least 1.
        retry_after: u64,
    },
    /// The server was started wrongly.
    #[error("{0}")]
    Config(String),
    /// What no caller can help.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// `field` is to blame: `message` says what it must be, and reads on from the field's name where there is one.
    pub fn bad_input(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::BadInput { field: field.into(), message: message.into() }
    }

    /// There is no `what` that the caller may see under `id`.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::not_found_at("", what, id)
    }

    /// There is no `what` that the caller may see under the `id` that stands in `field`.
    pub fn not_found_at(field: impl Into<String>, what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { what, id: id.into(), field: field.into() }
    }

    /// Something that no caller can help.
    pub fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal(source.into())
    }

    /// The database has no time, or cannot be reached.
    pub fn busy() -> Self {
        Self::Unavailable(Ailment::Away.words().into())
    }

    /// Others hold what this needs. Nothing of it was done.
    pub fn held() -> Self {
        Self::Unavailable(Ailment::Held.words().into())
    }

    /// Whether it is [`Error::held`].
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why == Ailment::Held.words())
    }

    /// Whether the database took too long over it.
    pub fn is_slow(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why == Ailment::Slow.words())
    }

    /// What to tell operators of it: for `Internal`, what happened; else what callers are told. Without values of anybody.
    pub fn told(&self) -> String {
        match self {
            Self::Internal(source) => cause(&**source),
            other => other.to_string(),
        }
    }

    /// Says where the blamed field stands: `title` within `input.content` is `input.content.title`.
    #[must_use]
    pub fn within(self, path: &str) -> Self {
        match self {
            Self::BadInput { field, message } if field.is_empty() => Self::bad_input(path, message),
            Self::BadInput { field, message } => Self::bad_input(format!("{path}.{field}"), message),
            Self::NotFound { what, id, field } if !field.is_empty() => {
                Self::not_found_at(format!("{path}.{field}"), what, id)
            }
            other => other,
        }
    }
}

/// A message with its subject.
/// What a driver says went wrong: of an error of the database its words alone.
pub fn words_of(cause: &sqlx::Error) -> String {
    match cause {
        sqlx::Error::Database(cause) => cause.message().to_owned(),
        other => other.to_string(),
    }
}

/// With `…` in place of whatever stands between quotes of some kind.
pub fn without_quoted(message: &str, quotes: &[char]) -> String {
    let (mut said, mut within) = (String::with_capacity(message.len()), None);
    for char in message.chars() {
        match within {
            Some(quote) if quote == char => {
                within = None;
                said.extend(['…', char]);
            }
            Some(_) => {}
            None => {
                within = quotes.contains(&char).then_some(char);
                said.push(char);
            }
        }
    }
    if within.is_some() {
        said.push('…');
    }
    said
}

fn said(field: &str, message: &str) -> String {
    if field.is_empty() { message.to_owned() } else { format!("`{field}` {message}") }
}

impl From<DbErr> for Error {
    fn from(error: DbErr) -> Self {
        if matches!(error, DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)) {
            POOL_TIMEOUTS.inc();
        }
        match Ailment::of(&error) {
            Some(ailment) => {
                tracing::warn!(cause = cause(&error), "{}", ailment.words());
                Self::Unavailable(ailment.words().into())
            }
            None => Self::internal(error),
        }
    }
}

/// What happened, for the log. Databases repeat values that they were given (`Duplicate entry 'ada'`), which may be a
/// user's; of theirs only the code, the table, the constraint and what stands before any quoted value is told.
fn cause(error: &(dyn StdError + 'static)) -> String {
    let Some(of) = error.downcast_ref::<DbErr>() else { return error.to_string() };
    let (DbErr::Exec(RuntimeErr::SqlxError(cause))
    | DbErr::Query(RuntimeErr::SqlxError(cause))
    | DbErr::Conn(RuntimeErr::SqlxError(cause))) = of
    else {
        return of.to_string();
    };
    let sqlx::Error::Database(cause) = &**cause else { return of.to_string() };
    let message = cause.message();
    let value_at = ["'", "(", ": \""].iter().filter_map(|quote| message.find(quote)).min();
    let told = message[..value_at.unwrap_or(message.len())].trim_end();
    let code = cause.code().unwrap_or_default();
    let of = [cause.table(), cause.constraint()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let of = if of.is_empty() { of } else { format!(" [{of}]") };
    format!("the database says {code}: {told}{of}")
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::fmt::{Display, Formatter, Result};

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::{DbErr, Error, RuntimeErr, StdError};

    /// What a database says.
    #[derive(Debug)]
    struct Said(&'static str, &'static str);

    impl Display for Said {
        fn fmt(&self, f: &mut Formatter<'_>) -> Result {
            f.write_str(self.1)
        }
    }

    impl StdError for Said {}

    impl DatabaseError for Said {
        fn message(&self) -> &str {
            self.1
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.into())
        }

        fn constraint(&self) -> Option<&str> {
            Some("users_key")
        }

        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    fn error(said: Said) -> Error {
        let cause: Box<dyn DatabaseError> = Box::new(said);
        DbErr::Query(RuntimeErr::SqlxError(sqlx::Error::Database(cause).into())).into()
    }

    #[test]
    fn an_operator_is_told_what_failed_without_anybodys_values() {
        for (said, told) in [
            (Said("23000", "Duplicate entry 'ada' for key 'users_key'"), "23000: Duplicate entry [users_key]"),
            (
                Said("22P02", "invalid input syntax for type json: \"ada\""),
                "22P02: invalid input syntax for type json [users_key]",
            ),
            (Said("42703", "column \"x\" does not exist"), "42703: column \"x\" does not exist [users_key]"),
        ] {
            assert_eq!(error(said).told(), format!("the database says {told}"));
        }
    }

    #[test]
    fn a_connection_that_was_ended_is_no_fault_of_ours() {
        for code in ["57P01", "57P03", "08006", "08S01", "53300", "70100"] {
            assert!(matches!(error(Said(code, "gone")), Error::Unavailable(_)), "{code}");
        }
        for code in ["22001", "23505", "HY000", "1"] {
            assert!(matches!(error(Said(code, "wrong")), Error::Internal(_)), "{code}");
        }
    }
}
