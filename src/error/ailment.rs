//! How a database fails, where that is no fault of the statement: its words, by the codes of each.

use sea_orm::{DbErr, RuntimeErr};
use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// What ails a database. All of it may be over in a moment, or once somebody has mended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ailment {
    /// It cannot be reached, has no connection to give, or no memory.
    Away,
    /// Its disk, or its share of it, is full.
    Full,
    /// It takes no writes, as one that copies another does.
    ReadOnly,
    /// It acknowledges no write before another server has it, which does not come.
    Waiting,
    /// It is another one than before, or has another history, and is not used until what was remembered is forgotten.
    Elsewhere,
    /// Its disk fails, or is full in a way that looks like it.
    Disk,
    /// SQLite: the file that is open is not the one at its place any more.
    Moved,
    /// Others have held what the statement needs for longer than it may wait.
    Held,
    /// The statement took longer than it may.
    Slow,
}

impl Ailment {
    /// Of an error; nothing where the statement is to blame, or somebody who can only be told `INTERNAL`.
    pub fn of(error: &DbErr) -> Option<Self> {
        match error {
            DbErr::ConnectionAcquire(_) => Some(Self::Away),
            DbErr::Conn(RuntimeErr::SqlxError(cause)) => Some(Self::of_driver(cause).unwrap_or(Self::Away)),
            DbErr::Conn(RuntimeErr::Internal(words)) => Some(Self::told(words)),
            DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause)) => {
                Self::of_driver(cause)
            }
            _ => None,
        }
    }

    /// An error that says so, for what we find out ourselves.
    pub fn error(self) -> DbErr {
        DbErr::Conn(RuntimeErr::Internal(self.words().into()))
    }

    fn told(words: &str) -> Self {
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
        all.into_iter().find(|of| of.words() == words).unwrap_or(Self::Away)
    }

    /// What callers are told.
    pub fn words(self) -> &'static str {
        match self {
            Self::Away => "the database is busy or away, try again in a moment",
            Self::Full => "the database is full, and takes no writes until it has room again",
            Self::ReadOnly => "the database is read-only, and takes no writes for now",
            Self::Waiting => "writes wait for the standby: the database acknowledges none before its standby has it",
            Self::Elsewhere => "the database is another one than before: it is used once its numbers are raised",
            Self::Disk => "the database cannot use its disk, which may be full",
            Self::Moved => "the database's file is not in its place any more: the server must be started anew",
            Self::Held => "something else has held what this needs for too long, try again in a moment",
            Self::Slow => "the database took too long, try again in a moment",
        }
    }

    /// Whether no write can be expected to succeed, while reads may.
    pub fn stops_writes(self) -> bool {
        matches!(self, Self::Full | Self::ReadOnly | Self::Waiting | Self::Disk | Self::Moved)
    }

    /// Of what a driver says; nothing where another try would fail the same.
    pub fn of_driver(cause: &sqlx::Error) -> Option<Self> {
        let cause = match cause {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
                return Some(Self::Away);
            }
            sqlx::Error::Database(cause) => cause,
            _ => return None,
        };
        let number = cause.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number);
        if let Some(ailment) = number.and_then(|number| Self::of_mysql(number, cause.message())) {
            return Some(ailment);
        }
        let code = cause.code()?;
        // PgBouncer has this one code for whatever ends a connection: that none of PostgreSQL's came free in time, or can be had.
        let is_fatal = |cause: &PgDatabaseError| cause.severity() == PgSeverity::Fatal;
        if code == "08P01" && cause.try_downcast_ref().is_some_and(is_fatal) {
            return Some(Self::Away);
        }
        // A SQLSTATE has five characters, which may all be digits; SQLite's numbers have four at the most.
        match code.parse::<u32>() {
            Ok(number) if code.len() < 5 => Self::of_sqlite(number),
            _ => Self::of_sqlstate(&code),
        }
    }

    /// By the extended code, whose last byte is the class. BUSY is waited for by SQLite itself, as long as it may; what it does
    /// not wait for is tried again (`lost_to_another`).
    fn of_sqlite(code: u32) -> Option<Self> {
        match (code, code & 0xff) {
            (1032, _) => Some(Self::Moved),
            (5, _) => Some(Self::Held),
            (_, 8) => Some(Self::ReadOnly),
            (_, 13) => Some(Self::Full),
            (_, 10 | 14) => Some(Self::Disk),
            _ => None,
        }
    }

    fn of_mysql(number: u16, message: &str) -> Option<Self> {
        match number {
            // A write, a commit or the engine failed; the system's number 28 is that of a disk without room.
            3 | 20 | 1026 | 1030 | 1180 if message.contains("28") => Some(Self::Full),
            3 | 20 | 1026 => Some(Self::Disk),
            1021 | 1114 => Some(Self::Full),
            1036 | 1290 | 1792 | 1836 => Some(Self::ReadOnly),
            1205 => Some(Self::Held),
            1969 | 3024 => Some(Self::Slow),
            1037 | 1038 | 1041 => Some(Self::Away),
            _ => None,
        }
    }

    /// PostgreSQL, and what MySQL has in common with it.
    fn of_sqlstate(code: &str) -> Option<Self> {
        match code {
            "53100" => Some(Self::Full),
            "25006" => Some(Self::ReadOnly),
            "58030" => Some(Self::Disk),
            "55P03" => Some(Self::Held),
            "57014" => Some(Self::Slow),
            "08P01" => None,
            // MySQL ended the connection; PostgreSQL ended a transaction in which nothing happened.
            "70100" | "25P03" => Some(Self::Away),
            // Lost connections; PostgreSQL shuts down, starts up, has too many clients or no memory.
            _ if code.starts_with("08") || code.starts_with("57P0") || code.starts_with("53") => Some(Self::Away),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ailment;

    #[test]
    fn each_database_says_in_its_own_codes_what_ails_it() {
        for (code, ailment) in [
            (5, Some(Ailment::Held)),
            (8, Some(Ailment::ReadOnly)),
            (13, Some(Ailment::Full)),
            (778, Some(Ailment::Disk)),
            (1032, Some(Ailment::Moved)),
            (1034, Some(Ailment::Disk)),
            (1, None),
            (19, None),
            (517, None),
            (2067, None),
        ] {
            assert_eq!(Ailment::of_sqlite(code), ailment, "{code}");
        }
        for (code, ailment) in [
            ("53100", Some(Ailment::Full)),
            ("53200", Some(Ailment::Away)),
            ("53300", Some(Ailment::Away)),
            ("25006", Some(Ailment::ReadOnly)),
            ("55P03", Some(Ailment::Held)),
            ("57014", Some(Ailment::Slow)),
            ("57P01", Some(Ailment::Away)),
            ("40001", None),
            ("23505", None),
            ("HY000", None),
        ] {
            assert_eq!(Ailment::of_sqlstate(code), ailment, "{code}");
        }
        for (number, message, ailment) in [
            (1114, "The table 'notification' is full", Some(Ailment::Full)),
            (3, "Error writing file './x' (Errcode: 28 \"No space left on device\")", Some(Ailment::Full)),
            (1290, "running with the --read-only option", Some(Ailment::ReadOnly)),
            (1205, "Lock wait timeout exceeded; try restarting transaction", Some(Ailment::Held)),
            (1213, "Deadlock found when trying to get lock; try restarting transaction", None),
            (1062, "Duplicate entry", None),
        ] {
            assert_eq!(Ailment::of_mysql(number, message), ailment, "{number}");
        }
    }

    #[test]
    fn what_we_find_out_ourselves_says_the_same() {
        for of in [Ailment::Away, Ailment::Full, Ailment::ReadOnly, Ailment::Waiting, Ailment::Elsewhere, Ailment::Disk]
        {
            assert_eq!(Ailment::of(&of.error()), Some(of));
        }
        for of in [Ailment::Moved, Ailment::Slow] {
            assert_eq!(Ailment::of(&of.error()), Some(of));
        }
    }
}
