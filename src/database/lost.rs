//! What loses to another transaction, or to a change of the tables, and is tried again.

use std::error::Error;
use std::time::Duration;

use sea_orm::{DbErr, RuntimeErr};

/// How often it is tried again before the caller is told.
pub const TRIES: u32 = 8;

/// How long to leave the others alone before a try: twice as long each time, and a part of it that is another for each, so that those
/// who lost to each other do not meet again. All eight together take about a second.
pub fn pause(tries: u32) -> Duration {
    let most = 4_u32 << tries.min(TRIES);
    let mut random = [0; 4];
    // Without randomness it is the longest.
    let share =
        getrandom::fill(&mut random).map_or(1.0, |()| f64::from(u32::from_ne_bytes(random)) / f64::from(u32::MAX));
    Duration::from_millis(most.into()).mul_f64(f64::midpoint(share, 1.0))
}

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
