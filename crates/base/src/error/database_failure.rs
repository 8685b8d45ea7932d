//! Database failures that are not the statement's fault, recognised by each database's error codes.

use sea_orm::{DbErr, RuntimeErr};
use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// A class of database failure. All of them may pass by themselves, or once an operator has acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseFailure {
    /// The database cannot be reached, or has no free connection or no memory.
    Away,
    /// The disk or its quota is full.
    Full,
    /// The database is read-only, such as a standby.
    ReadOnly,
    /// A write waits for a standby that does not acknowledge it.
    Waiting,
    /// The database was replaced or has another history. It is not used until the caches are cleared.
    Elsewhere,
    /// The disk fails, or is full in a way that looks the same.
    Disk,
    /// SQLite: the open file is no longer the one at its path.
    Moved,
    /// Another transaction held a lock for longer than the statement may wait.
    Held,
    /// The statement took longer than it may.
    Slow,
}

impl DatabaseFailure {
    /// The failure behind an error. `None` if the statement is at fault, or if callers only see `INTERNAL`.
    pub fn from_db_error(error: &DbErr) -> Option<Self> {
        match error {
            DbErr::ConnectionAcquire(_) => Some(Self::Away),
            DbErr::Conn(RuntimeErr::SqlxError(cause)) => Some(Self::from_driver_error(cause).unwrap_or(Self::Away)),
            DbErr::Conn(RuntimeErr::Internal(words)) => Some(Self::from_message(words)),
            DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause)) => {
                Self::from_driver_error(cause)
            }
            _ => None,
        }
    }

    /// This failure as an error, for failures that the server detects itself.
    pub fn to_error(self) -> DbErr {
        DbErr::Conn(RuntimeErr::Internal(self.message().into()))
    }

    fn from_message(words: &str) -> Self {
        let all = [
            Self::Full,
            Self::ReadOnly,
            Self::Waiting,
            Self::Elsewhere,
            Self::Disk,
            Self::Moved,
            Self::Held,
            Self::Slow,
        ];
        all.into_iter().find(|of| of.message() == words).unwrap_or(Self::Away)
    }

    /// The message for callers.
    pub fn message(self) -> &'static str {
        match self {
            Self::Away => "the database is busy or unreachable, try again in a moment",
            Self::Full => "the database is full, and accepts no writes until it has room again",
            Self::ReadOnly => "the database is read-only, and accepts no writes for now",
            Self::Waiting => "writes wait for the standby: the database acknowledges none before the standby has it",
            Self::Elsewhere => "the database was replaced by another one: the server uses it once its ids are raised",
            Self::Disk => "the database cannot use its disk, which may be full",
            Self::Moved => "the database's file was moved or replaced: restart the server",
            Self::Held => "another transaction held a lock for too long, try again in a moment",
            Self::Slow => "the database took too long, try again in a moment",
        }
    }

    /// Whether writes will fail, while reads may succeed.
    pub fn is_write_failure(self) -> bool {
        matches!(self, Self::Full | Self::ReadOnly | Self::Waiting | Self::Disk | Self::Moved)
    }

    /// The failure behind a driver's error. `None` if a retry would fail in the same way.
    pub fn from_driver_error(cause: &sqlx::Error) -> Option<Self> {
        let cause = match cause {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
                return Some(Self::Away);
            }
            sqlx::Error::Database(cause) => cause,
            _ => return None,
        };
        let number = cause.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number);
        if let Some(ailment) = number.and_then(|number| Self::from_mysql_error(number, cause.message())) {
            return Some(ailment);
        }
        let code = cause.code()?;
        // PgBouncer's one code for every lost server connection: none became free in time, or none can be opened.
        let is_fatal = |cause: &PgDatabaseError| cause.severity() == PgSeverity::Fatal;
        if code == "08P01" && cause.try_downcast_ref().is_some_and(is_fatal) {
            return Some(Self::Away);
        }
        // A SQLSTATE has five characters, which may all be digits. SQLite's codes have at most four digits.
        match code.parse::<u32>() {
            Ok(number) if code.len() < 5 => Self::from_sqlite_code(number),
            _ => Self::from_sqlstate(&code),
        }
    }

    /// By the extended code; its last byte is the primary code. SQLite waits for BUSY itself, as long as it may. The
    /// server retries the kinds of BUSY that SQLite does not wait for (`is_retryable`).
    fn from_sqlite_code(code: u32) -> Option<Self> {
        match (code, code & 0xff) {
            (1032, _) => Some(Self::Moved),
            (5, _) => Some(Self::Held),
            (_, 8) => Some(Self::ReadOnly),
            (_, 13) => Some(Self::Full),
            (_, 10 | 14) => Some(Self::Disk),
            _ => None,
        }
    }

    fn from_mysql_error(number: u16, message: &str) -> Option<Self> {
        match number {
            // A write, a commit or the engine failed. Error 28 of the operating system is "no space left on device".
            3 | 20 | 1026 | 1030 | 1180 if system_error(message) == Some(28) => Some(Self::Full),
            3 | 20 | 1026 => Some(Self::Disk),
            1021 | 1114 => Some(Self::Full),
            1036 | 1290 | 1792 | 1836 => Some(Self::ReadOnly),
            1205 => Some(Self::Held),
            1969 | 3024 => Some(Self::Slow),
            1037 | 1038 | 1041 => Some(Self::Away),
            _ => None,
        }
    }

    /// PostgreSQL's codes, and those that MySQL shares.
    fn from_sqlstate(code: &str) -> Option<Self> {
        match code {
            "53100" => Some(Self::Full),
            "25006" => Some(Self::ReadOnly),
            "58030" => Some(Self::Disk),
            "55P03" => Some(Self::Held),
            "57014" => Some(Self::Slow),
            "08P01" => None,
            // MySQL ended the connection, or PostgreSQL ended an idle transaction.
            "70100" | "25P03" => Some(Self::Away),
            // Connections were lost, or PostgreSQL shuts down, starts up, or has too many clients or no memory.
            _ if code.starts_with("08") || code.starts_with("57P0") || code.starts_with("53") => Some(Self::Away),
            _ => None,
        }
    }
}

/// The operating system's error number in a message of MySQL or MariaDB: "(Errcode: 28 …", "Got error 28 …". Other
/// digits in the message are names of files.
fn system_error(message: &str) -> Option<u32> {
    let (_, after) = message.split_once("Errcode: ").or_else(|| message.split_once("Got error "))?;
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::DatabaseFailure;

    #[test]
    fn each_database_says_in_its_own_codes_what_ails_it() {
        for (code, ailment) in [
            (5, Some(DatabaseFailure::Held)),
            (8, Some(DatabaseFailure::ReadOnly)),
            (13, Some(DatabaseFailure::Full)),
            (778, Some(DatabaseFailure::Disk)),
            (1032, Some(DatabaseFailure::Moved)),
            (1034, Some(DatabaseFailure::Disk)),
            (1, None),
            (19, None),
            (517, None),
            (2067, None),
        ] {
            assert_eq!(DatabaseFailure::from_sqlite_code(code), ailment, "{code}");
        }
        for (code, ailment) in [
            ("53100", Some(DatabaseFailure::Full)),
            ("53200", Some(DatabaseFailure::Away)),
            ("53300", Some(DatabaseFailure::Away)),
            ("25006", Some(DatabaseFailure::ReadOnly)),
            ("55P03", Some(DatabaseFailure::Held)),
            ("57014", Some(DatabaseFailure::Slow)),
            ("57P01", Some(DatabaseFailure::Away)),
            ("40001", None),
            ("23505", None),
            ("HY000", None),
        ] {
            assert_eq!(DatabaseFailure::from_sqlstate(code), ailment, "{code}");
        }
        for (number, message, ailment) in [
            (1114, "The table 'notification' is full", Some(DatabaseFailure::Full)),
            (3, "Error writing file './x' (Errcode: 28 \"No space left on device\")", Some(DatabaseFailure::Full)),
            (1030, "Got error 28 \"No space left on device\" from storage engine", Some(DatabaseFailure::Full)),
            (1030, "Got error 128 from storage engine", None),
            (3, "Error writing file './t28/x' (Errcode: 5 \"Input/output error\")", Some(DatabaseFailure::Disk)),
            (1290, "running with the --read-only option", Some(DatabaseFailure::ReadOnly)),
            (1205, "Lock wait timeout exceeded; try restarting transaction", Some(DatabaseFailure::Held)),
            (1213, "Deadlock found when trying to get lock; try restarting transaction", None),
            (1062, "Duplicate entry", None),
        ] {
            assert_eq!(DatabaseFailure::from_mysql_error(number, message), ailment, "{number}");
        }
    }

    #[test]
    fn what_we_find_out_ourselves_says_the_same() {
        for of in [
            DatabaseFailure::Away,
            DatabaseFailure::Full,
            DatabaseFailure::ReadOnly,
            DatabaseFailure::Waiting,
            DatabaseFailure::Elsewhere,
            DatabaseFailure::Disk,
        ] {
            assert_eq!(DatabaseFailure::from_db_error(&of.to_error()), Some(of));
        }
        for of in [DatabaseFailure::Moved, DatabaseFailure::Slow] {
            assert_eq!(DatabaseFailure::from_db_error(&of.to_error()), Some(of));
        }
    }
}
