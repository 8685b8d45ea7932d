//! Detects conflicts with other transactions or changes of the tables, and computes the pause before a retry.

use std::error::Error;
use std::time::Duration;

use sea_orm::{DbErr, RuntimeErr};

/// The maximum number of retries.
pub const TRIES: u32 = 8;

/// The pause before a retry: it doubles each time, and between a half and the whole of it is used at random, so that
/// the transactions that conflicted do not conflict again. All eight pauses together take between one and two seconds.
pub fn backoff(tries: u32) -> Duration {
    let most = 4_u32 << tries.min(TRIES);
    let mut random = [0; 4];
    // Without randomness, use the whole pause.
    let share =
        getrandom::fill(&mut random).map_or(1.0, |()| f64::from(u32::from_ne_bytes(random)) / f64::from(u32::MAX));
    Duration::from_millis(most.into()).mul_f64(f64::midpoint(share, 1.0))
}

/// Deadlocks and serialization failures: the database has rolled back, and the client should retry.
pub fn is_retryable(cause: &(dyn Error + 'static)) -> bool {
    let Some(DbErr::Exec(RuntimeErr::SqlxError(cause)) | DbErr::Query(RuntimeErr::SqlxError(cause))) =
        cause.downcast_ref::<DbErr>()
    else {
        return false;
    };
    let sqlx::Error::Database(cause) = &**cause else { return false };
    // PostgreSQL and MySQL: SQLSTATE class 40. SQLite: the busy errors for which its busy timeout does not wait.
    match cause.code().as_deref() {
        Some(code) if code.starts_with("40") && code.len() == 5 => true,
        Some("517" | "261") => true,
        _ => false,
    }
}
