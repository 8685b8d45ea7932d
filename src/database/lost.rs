//! What loses to another transaction, or to a change of the tables, and is tried again.

use std::error::Error;

use sea_orm::{DbErr, RuntimeErr};

/// How often it is tried again before the caller is told.
pub const TRIES: u32 = 8;

/// Deadlocks and serialisation failures: the database rolled back, and asks to try again.
pub fn lost_to_another(cause: &(dyn Error + 'static)) -> bool {
    let Some(DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause))) =
        cause.downcast_ref::<DbErr>()
    else {
        return false;
    };
    let sqlx::Error::Database(cause) = &**cause else { return false };
    // PostgreSQL and MySQL: SQLSTATE class 40. SQLite: what it does not wait for.
    match cause.code().as_deref() {
        Some(code) if code.starts_with("40") && code.len() == 5 => true,
        Some("517" | "261") => true,
        _ => false,
    }
}
