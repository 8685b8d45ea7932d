//! Errors, by how callers can react to them.

mod database_failure;

use std::error::Error as StdError;

use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr};

use crate::telemetry::metrics::POOL_TIMEOUTS;
pub use database_failure::DatabaseFailure;

/// The result of every fallible function of the server.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A caller can react to each variant except `Internal` and `Config`, which are for operators.
///
/// Clients see these messages as they are, except that of `Internal`, which goes to the log only.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller has no valid credentials.
    #[error("{0}")]
    Unauthenticated(String),
    /// The caller's role may not do this to any object.
    #[error("{0}")]
    Forbidden(String),
    /// The object does not exist, or belongs to another user or tenant.
    #[error("no {what} {id:?}")]
    NotFound {
        /// The noun, as in "no group".
        what: &'static str,
        /// The id that the caller gave.
        id: String,
        /// The path of the argument that names it, such as `select.ids[3]`. Empty if there is only one.
        field: String,
    },
    /// The input is invalid. Nothing was changed.
    #[error("{}", field_message(field, message))]
    BadInput {
        /// The path of the argument, such as `input.content.title`. Empty if no single argument is invalid.
        field: String,
        /// The rest of a sentence that begins with the field: `must be at least 1`.
        message: String,
    },
    /// The request contradicts the current state.
    #[error("{0}")]
    Conflict(String),
    /// The server is overloaded or the database is unavailable. The same call may succeed in a moment.
    #[error("{0}")]
    Unavailable(String),
    /// A user was erased after the lookup. A retry finds the user that has the id now. Nothing was changed.
    #[error("the user was erased a moment ago: try again")]
    Erased,
    /// The caller exceeded a rate.
    #[error("too many {what}, try again in {retry_after} s")]
    RateLimited {
        /// The things that the caller has too many of.
        what: &'static str,
        /// Seconds until the same call may be tried again, at least 1.
        retry_after: u64,
    },
    /// The configuration is invalid.
    #[error("{0}")]
    Config(String),
    /// A failure that no caller can prevent.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// `message` says what `field` must be. If `field` is not empty, the message continues a sentence that it begins.
    pub fn bad_input(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::BadInput { field: field.into(), message: message.into() }
    }

    /// The caller can see no `what` with this `id`.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::not_found_at("", what, id)
    }

    /// The caller can see no `what` with the `id` that the argument `field` gives.
    pub fn not_found_at(field: impl Into<String>, what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { what, id: id.into(), field: field.into() }
    }

    /// A failure that no caller can prevent.
    pub fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal(source.into())
    }

    /// The database is busy or cannot be reached.
    pub fn database_busy() -> Self {
        Self::Unavailable(DatabaseFailure::Away.message().into())
    }

    /// Another transaction holds a lock that this one needs. Nothing was changed.
    pub fn lock_unavailable() -> Self {
        Self::Unavailable(DatabaseFailure::Held.message().into())
    }

    /// Whether it is [`Error::lock_unavailable`].
    pub fn is_lock_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why == DatabaseFailure::Held.message())
    }

    /// Whether the database took too long.
    pub fn is_slow(&self) -> bool {
        matches!(self, Self::Unavailable(why) if why == DatabaseFailure::Slow.message())
    }

    /// The message for operators: the cause for `Internal`, else the message for callers. Contains no user data.
    pub fn log_message(&self) -> String {
        match self {
            Self::Internal(source) => log_cause(&**source),
            other => other.to_string(),
        }
    }

    /// Prefixes the field with a path: `title` within `input.content` becomes `input.content.title`.
    #[must_use]
    pub fn with_field_prefix(self, path: &str) -> Self {
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

/// The driver's message. For a database error, the database's message alone.
pub fn driver_message(cause: &sqlx::Error) -> String {
    match cause {
        sqlx::Error::Database(cause) => cause.message().to_owned(),
        other => other.to_string(),
    }
}

/// Replaces the text between quotes of these kinds with `…`.
pub fn redact_quoted(message: &str, quotes: &[char]) -> String {
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

fn field_message(field: &str, message: &str) -> String {
    if field.is_empty() { message.to_owned() } else { format!("`{field}` {message}") }
}

impl From<DbErr> for Error {
    fn from(error: DbErr) -> Self {
        if matches!(error, DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)) {
            POOL_TIMEOUTS.inc();
        }
        match DatabaseFailure::from_db_error(&error) {
            Some(ailment) => {
                tracing::warn!(cause = log_cause(&error), "{}", ailment.message());
                Self::Unavailable(ailment.message().into())
            }
            None => Self::internal(error),
        }
    }
}

/// The cause, for the log. Databases repeat values of the statement (`Duplicate entry 'ada'`), which may be user data.
/// So the log gets only the code, the table, the constraint, and the message up to the first quoted value.
fn log_cause(error: &(dyn StdError + 'static)) -> String {
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

    /// A database's error message.
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
            assert_eq!(error(said).log_message(), format!("the database says {told}"));
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
