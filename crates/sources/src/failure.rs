//! Failures of sources, with messages for the authors of rules.

use std::fmt::{self, Display, Formatter};

use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::{PgDatabaseError, PgErrorPosition};

use base::error::{driver_message, redact_quoted};

/// Maximum size of a row, and of a value in one, in bytes. The source refuses to send a larger row, so this process
/// never has to hold it.
pub const ROW_BYTES: u32 = 256 << 10;

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryFailureKind {
    /// The source does not respond, is shutting down, or has no capacity. It may pass.
    Unreachable,
    /// Tidings or the source does not permit the statement.
    Refused,
    /// It took too long, including waiting.
    TimedOut,
    /// The statement or its result caused the failure.
    Failed,
}

/// A query failed: its result is unknown, not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryFailure {
    pub kind: QueryFailureKind,
    /// The source's own code: a SQLSTATE, or an error number of MySQL or SQLite.
    pub code: Option<String>,
    /// The position of the error in the statement, in characters, starting at 1.
    pub position: Option<usize>,
    /// A message for users who may write statements. It contains no row values, no URL and no password.
    pub message: String,
}

impl Display for QueryFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(code) = &self.code {
            write!(f, " ({code})")?;
        }
        Ok(())
    }
}

impl std::error::Error for QueryFailure {}

impl QueryFailure {
    fn new(kind: QueryFailureKind, message: impl Into<String>) -> Self {
        Self { kind, code: None, position: None, message: message.into() }
    }

    pub(super) fn rejected_statement(message: impl Into<String>, position: Option<usize>) -> Self {
        Self { position, ..Self::new(QueryFailureKind::Refused, message) }
    }

    pub(super) fn failed_statement(message: impl Into<String>) -> Self {
        Self::new(QueryFailureKind::Failed, message)
    }

    pub(super) fn row_too_large() -> Self {
        Self::failed_statement(format!(
            "a row, or a value in one, is larger than {} KiB: select less of it",
            ROW_BYTES >> 10
        ))
    }

    pub(super) fn timed_out() -> Self {
        Self::new(QueryFailureKind::TimedOut, "the source took too long")
    }

    pub(super) fn no_connection() -> Self {
        Self::new(
            QueryFailureKind::TimedOut,
            "all connections to the source that this tenant may use were busy for too long",
        )
    }

    pub(super) fn no_response() -> Self {
        Self::new(QueryFailureKind::TimedOut, "the source did not answer in time")
    }

    pub(super) fn shutting_down() -> Self {
        Self::new(QueryFailureKind::Unreachable, "the server is being stopped")
    }

    /// For errors at run time, which may contain row values: replaces quoted text and numbers by `…`.
    pub(super) fn without_values(self) -> Self {
        // This message is our own and contains no values.
        if self.message == Self::row_too_large().message {
            return self;
        }
        let mut message = String::with_capacity(self.message.len());
        let mut is_number = false;
        for char in redact_quoted(&self.message, &['"', '\'']).chars() {
            if char.is_ascii_digit() {
                if !is_number {
                    message.push('…');
                }
            } else {
                message.push(char);
            }
            is_number = char.is_ascii_digit();
        }
        Self { message, ..self }
    }

    /// Hides the address and user name of the source, for callers who may only know that it does not respond.
    #[must_use]
    pub fn without_address(self) -> Self {
        let message = match self.kind {
            QueryFailureKind::Unreachable => "the source does not answer",
            QueryFailureKind::Refused => "the source refuses access",
            QueryFailureKind::TimedOut => "the source does not answer in time",
            QueryFailureKind::Failed => "the source cannot be used",
        };
        Self { message: message.into(), ..self }
    }

    /// From SQLite's extended code and message. Messages about a file that cannot be opened would contain its path.
    pub(super) fn from_sqlite(error: rusqlite::ffi::Error, message: String) -> Self {
        let code = error.extended_code;
        let failure = match code & 0xff {
            18 => Self::row_too_large(),
            14 => Self::new(kind_from_sqlite(code), "unable to open database file"),
            _ => Self::new(kind_from_sqlite(code), message),
        };
        Self { code: Some(code.to_string()), ..failure }
    }

    /// From a driver's error about a statement. `place` maps a position in the sent statement to one in the original.
    pub(super) fn from_driver(cause: &sqlx::Error, place: impl FnOnce(usize) -> Option<usize>) -> Self {
        let said = cause.as_database_error().and_then(|cause| cause.try_downcast_ref::<PgDatabaseError>());
        let seen = match said.and_then(PgDatabaseError::position) {
            Some(PgErrorPosition::Original(seen)) => Some(seen),
            _ => None,
        };
        Self { position: seen.and_then(place), ..Self::from(cause) }
    }
}

impl From<&sqlx::Error> for QueryFailure {
    fn from(cause: &sqlx::Error) -> Self {
        let Some(said) = cause.as_database_error() else {
            let kind = match cause {
                sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
                    QueryFailureKind::Unreachable
                }
                _ => QueryFailureKind::Failed,
            };
            return Self::new(kind, redact_quoted(&driver_message(cause), &['"']));
        };
        let message = said.message();
        let (kind, code, message) = if let Some(said) = said.try_downcast_ref::<PgDatabaseError>() {
            (kind_from_sqlstate(said.code()), said.code().to_owned(), safe_postgres_message(said.code(), message))
        } else if let Some(said) = said.try_downcast_ref::<MySqlDatabaseError>() {
            (kind_from_mysql(said.number()), said.number().to_string(), safe_mysql_message(said.number(), message))
        } else {
            (QueryFailureKind::Failed, said.code().unwrap_or_default().into_owned(), message.to_owned())
        };
        Self { code: Some(code), ..Self::new(kind, message) }
    }
}

fn kind_from_sqlstate(code: &str) -> QueryFailureKind {
    match code {
        "57014" | "55P03" | "25P03" | "25P04" => QueryFailureKind::TimedOut,
        "42501" | "25006" => QueryFailureKind::Refused,
        _ if code.starts_with("28") => QueryFailureKind::Refused,
        _ if code.starts_with("08") || code.starts_with("57P") || code.starts_with("53") => {
            QueryFailureKind::Unreachable
        }
        _ => QueryFailureKind::Failed,
    }
}

fn kind_from_mysql(number: u16) -> QueryFailureKind {
    match number {
        1205 | 1317 | 1907 | 1969 | 3024 | 3572 => QueryFailureKind::TimedOut,
        1044 | 1045 | 1130 | 1142 | 1143 | 1227 | 1290 | 1370 | 1698 | 1792 | 1836 => QueryFailureKind::Refused,
        1040 | 1041 | 1053 | 1129 | 1158..=1161 | 1203 | 1226 => QueryFailureKind::Unreachable,
        _ => QueryFailureKind::Failed,
    }
}

/// Based on the extended code. Its last byte is the class.
fn kind_from_sqlite(code: i32) -> QueryFailureKind {
    match code & 0xff {
        5 | 6 | 9 => QueryFailureKind::TimedOut,
        8 | 23 => QueryFailureKind::Refused,
        10 | 14 | 26 => QueryFailureKind::Unreachable,
        _ => QueryFailureKind::Failed,
    }
}

/// Data exceptions quote the data, and PL/pgSQL functions can raise any text. Removes the quotes, or replaces the whole
/// message.
fn safe_postgres_message(code: &str, message: &str) -> String {
    const OF_NAMES: [&str; 14] = ["08", "0A", "25", "26", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58"];
    if OF_NAMES.iter().any(|class| code.starts_with(class)) {
        return message.to_owned();
    }
    match code.get(..2) {
        Some("21" | "22") => redact_quoted(message, &['"']),
        _ => "the source ended the statement with an error that is hidden because it may contain data".into(),
    }
}

/// Keeps messages that only contain names, statements and connections, and replaces all others.
fn safe_mysql_message(number: u16, message: &str) -> String {
    match number {
        1040..=1046
        | 1049
        | 1052
        | 1054..=1056
        | 1060
        | 1064
        | 1066
        | 1109
        | 1111
        | 1129
        | 1130
        | 1140
        | 1142
        | 1143
        | 1146
        | 1158..=1161
        | 1203
        | 1205
        | 1222
        | 1226
        | 1227
        | 1235
        | 1241
        | 1242
        | 1247
        | 1248
        | 1267
        | 1271
        | 1290
        | 1305
        | 1317
        | 1318
        | 1356
        | 1370
        | 1582
        | 1583
        | 1698
        | 1792
        | 1836
        | 1969
        | 3024 => message.to_owned(),
        _ => "the source ended the statement with an error that is hidden because it may contain data".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        QueryFailure, QueryFailureKind, kind_from_mysql, kind_from_sqlite, kind_from_sqlstate, safe_mysql_message,
        safe_postgres_message,
    };

    #[test]
    fn each_database_says_in_its_own_codes_what_could_be_done() {
        for (code, kind) in [
            ("57014", QueryFailureKind::TimedOut),
            ("42501", QueryFailureKind::Refused),
            ("28P01", QueryFailureKind::Refused),
            ("25006", QueryFailureKind::Refused),
            ("57P01", QueryFailureKind::Unreachable),
            ("53300", QueryFailureKind::Unreachable),
            ("42P01", QueryFailureKind::Failed),
        ] {
            assert_eq!(kind_from_sqlstate(code), kind, "{code}");
        }
        for (number, kind) in
            [(1969, QueryFailureKind::TimedOut), (1792, QueryFailureKind::Refused), (1064, QueryFailureKind::Failed)]
        {
            assert_eq!(kind_from_mysql(number), kind, "{number}");
        }
        for (code, kind) in
            [(9, QueryFailureKind::TimedOut), (264, QueryFailureKind::Refused), (1, QueryFailureKind::Failed)]
        {
            assert_eq!(kind_from_sqlite(code), kind, "{code}");
        }
    }

    #[test]
    fn no_value_of_a_row_is_told() {
        let told = safe_postgres_message("22P02", "invalid input syntax for type integer: \"4711\"");
        assert_eq!(told, "invalid input syntax for type integer: \"…\"");
        assert!(!safe_postgres_message("P0001", "the card is 4711").contains("4711"));
        assert!(!safe_mysql_message(1105, "XPATH syntax error: '4711'").contains("4711"));
        assert_eq!(safe_mysql_message(1146, "Table 'a.b' doesn't exist"), "Table 'a.b' doesn't exist");
        let of = |message: &str| QueryFailure::failed_statement(message).without_values().message;
        assert_eq!(of("date field value out of range: 2020-14-77"), "date field value out of range: …-…-…");
        assert_eq!(of("bad JSON path: 'secret'"), "bad JSON path: '…'");
    }
}
