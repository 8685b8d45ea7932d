//! Transaction poolers in front of PostgreSQL, such as `PgBouncer`.
//!
//! Clients of such a pooler share sessions, so a setting made in one affects other clients. If `TIDINGS_POOLER` is set,
//! Tidings changes no session settings. `LISTEN` and counting other connections need a session of their own and use the
//! direct URL. The pooler must keep prepared statements. Migration locks last for a transaction, so they need neither.

use sea_orm::{DbBackend, DbErr, RuntimeErr, Statement};

use super::any::AnyLent;
use crate::config::DatabaseConfig;
use crate::error::{Error, Result};

/// The order of queries on two connections. In this sequence (of Thue and Morse), each gets the server connection that
/// the other had before, whether the pooler hands out the newest or the oldest idle one.
const TURNS: [usize; 16] = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0];

/// Finds the settings that the pooler's `connect_query` lacks.
const UNSET: &str = "SELECT string_agg(name, ', ' ORDER BY name) FROM pg_settings \
    WHERE (name = 'plan_cache_mode' AND setting <> 'force_generic_plan') OR (setting = '0' \
    AND name IN ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'))";

/// The kind of pooler between Tidings and PostgreSQL.
enum Between {
    /// None, or one that gives each client a server connection of its own.
    Nothing,
    /// A transaction pooler that keeps our prepared statements.
    Pooler,
    /// A transaction pooler that does not keep them, and may run other statements in their place.
    Forgetful,
}

/// Fails with `Config` if the pooler found is not the one in the settings, or is not set up for Tidings.
pub async fn check(config: &DatabaseConfig, mut ends: [AnyLent; 2]) -> Result<()> {
    let wrong = |why: String| Err(Error::Config(why));
    match (config.pooler, between(&mut ends).await?) {
        (None, Between::Nothing) => Ok(()),
        (None, _) => wrong(format!(
            "{} leads to a pooler in transaction mode: {}",
            config.setting(),
            if config.is_direct() {
                "it must lead to PostgreSQL itself"
            } else {
                "set TIDINGS_POOLER=transaction, and TIDINGS_DIRECT_URL or REDIS_URL"
            }
        )),
        (Some(_), Between::Forgetful) => wrong(
            "the pooler does not keep prepared statements: use PgBouncer 1.21 or newer, with max_prepared_statements \
             above 0"
                .into(),
        ),
        (Some(_), _) => match unset(&mut ends[0]).await? {
            None => Ok(()),
            Some(names) => wrong(format!(
                "connections of the pooler lack {names}: set them in connect_query, as in docs/operate/pgbouncer.md"
            )),
        },
    }
}

/// Detects the pooler. Two connections each ask for their server process, by different statements with the same
/// driver-side name.
async fn between(ends: &mut [AnyLent; 2]) -> Result<Between> {
    let mut servers = [None; 2];
    let mut found = Between::Nothing;
    for turn in TURNS {
        let words = format!("SELECT pg_backend_pid(), {turn}");
        let row = match ends[turn].one(&Statement::from_string(DbBackend::Postgres, words)).await {
            Err(cause) if is_about_names(&cause) => return Ok(Between::Forgetful),
            row => row?.ok_or_else(|| Error::internal("the database did not return its process id"))?,
        };
        let (server, of): (i32, i32) = (row.try_get_by_index(0)?, row.try_get_by_index(1)?);
        if usize::try_from(of) != Ok(turn) {
            return Ok(Between::Forgetful);
        }
        let before = servers[turn].replace(server);
        if before.is_some_and(|before| before != server) || servers[0] == servers[1] {
            found = Between::Pooler;
        }
    }
    Ok(found)
}

/// Whether a prepared statement's name is unknown (26000) or already in use (42P05).
fn is_about_names(error: &DbErr) -> bool {
    let DbErr::Query(RuntimeErr::SqlxError(cause)) = error else { return false };
    let code = cause.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "26000" | "42P05"))
}

async fn unset(end: &mut AnyLent) -> Result<Option<String>> {
    let row = end.one(&Statement::from_string(DbBackend::Postgres, UNSET)).await?;
    Ok(row.map(|row| row.try_get_by_index::<Option<String>>(0)).transpose()?.flatten())
}
