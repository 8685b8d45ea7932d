//! What can go wrong, as far as somebody can react to it.

use std::error::Error as StdError;

use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr};

use crate::metrics::POOL_TIMEOUTS;

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
    },
    /// The input is to blame; nothing was changed.
    #[error("{message}")]
    BadInput {
        /// Path of the argument, such as `input.content.title`; empty where no single one is to blame.
        field: String,
        /// What is wrong with it.
        message: String,
    },
    /// It contradicts what is already there.
    #[error("{0}")]
    Conflict(String),
    /// Overloaded, or the database is away: the same call may succeed in a moment.
    #[error("{0}")]
    Unavailable(String),
    /// The caller asks for more than his share.
    #[error("too many operations, try again in {retry_after} s")]
    RateLimited {
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
    /// `field` is to blame: `message` says what it should be.
    pub fn bad_input(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::BadInput { field: field.into(), message: message.into() }
    }

    /// There is no `what` that the caller may see under `id`.
    pub fn not_found(what: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { what, id: id.into() }
    }

    /// Something that no caller can help.
    pub fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Internal(source.into())
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
            other => other,
        }
    }
}

impl From<DbErr> for Error {
    fn from(error: DbErr) -> Self {
        if matches!(error, DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)) {
            POOL_TIMEOUTS.inc();
        }
        let is_away = match &error {
            DbErr::ConnectionAcquire(_) | DbErr::Conn(_) => true,
            DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause)) => is_away(cause),
            _ => false,
        };
        if is_away {
            tracing::warn!(cause = cause(&error), "the database cannot be reached");
            return Self::Unavailable("the database is busy or away, try again in a moment".into());
        }
        Self::internal(error)
    }
}

/// Whether a connection was lost, or could not be had, so that the same may succeed on another one in a moment.
fn is_away(cause: &sqlx::Error) -> bool {
    match cause {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
        // By SQLSTATE: lost connections; PostgreSQL shuts down, starts up, or has too many clients; MySQL ended it.
        sqlx::Error::Database(cause) => cause.code().is_some_and(|code| {
            code.len() == 5
                && (code.starts_with("08") || code.starts_with("57P0") || ["53300", "70100"].contains(&&*code))
        }),
        _ => false,
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
    let told = cause.message().split(['\'', '(']).next().unwrap_or_default().trim_end();
    let code = cause.code().unwrap_or_default();
    let of = [cause.table(), cause.constraint()].into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!("the database says {code}: {told} [{of}]")
}
