//! Transaction poolers in front of PostgreSQL, such as `PgBouncer`.
//!
//! Clients of such a pooler share sessions, so a setting made in one affects other clients. If `TIDINGS_POOLER` is set,
//! Tidings changes no session settings. `LISTEN` and counting other connections need a session of their own and use the
//! direct URL. The pooler must keep prepared statements. Migration locks last for a transaction, so they need neither.

use sea_orm::{DbBackend, DbErr, RuntimeErr, Statement};

use super::any_pool::AnyConnection;
use base::config::DatabaseConfig;
use base::error::{Error, Result};

/// The order of queries on two connections. In this sequence (of Thue and Morse), each gets the server connection that
/// the other had before, whether the pooler hands out the newest or the oldest idle one.
const TURNS: [usize; 16] = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0];

/// Finds the settings that the pooler's `connect_query` lacks.
const UNSET: &str = "SELECT string_agg(name, ', ' ORDER BY name) FROM pg_settings \
    WHERE (name = 'plan_cache_mode' AND setting <> 'force_generic_plan') OR (setting = '0' \
    AND name IN ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'))";

/// The kind of pooler between Tidings and PostgreSQL.
enum PoolerKind {
    /// None, or one that gives each client a server connection of its own.
    Nothing,
    /// A transaction pooler that keeps our prepared statements.
    Pooler,
    /// A transaction pooler that does not keep them, and may run other statements in their place.
    Forgetful,
}

/// Fails with `Config` if the pooler found is not the one in the settings, or is not set up for Tidings.
pub async fn check_pooler(config: &DatabaseConfig, mut ends: [AnyConnection; 2]) -> Result<()> {
    let wrong = |why: String| Err(Error::Config(why));
    match (config.pooler, detect_pooler(&mut ends).await?) {
        (None, PoolerKind::Nothing) => Ok(()),
        (None, _) => wrong(format!(
            "{} leads to a pooler in transaction mode: {}",
            config.setting_name(),
            if config.is_direct() {
                "it must lead to PostgreSQL itself"
            } else {
                "set TIDINGS_POOLER=transaction, and TIDINGS_DIRECT_URL or REDIS_URL"
            }
        )),
        (Some(_), PoolerKind::Forgetful) => wrong(
            "the pooler does not keep prepared statements: use PgBouncer 1.21 or newer, with max_prepared_statements \
             above 0"
                .into(),
        ),
        (Some(_), _) => match find_missing_setting(&mut ends[0]).await? {
            None => Ok(()),
            Some(names) => wrong(format!(
                "connections of the pooler lack {names}: set them in connect_query, as in docs/operate/pgbouncer.md"
            )),
        },
    }
}

/// Detects the pooler. Two connections each ask for their server process, by different statements with the same
/// driver-side name.
async fn detect_pooler(ends: &mut [AnyConnection; 2]) -> Result<PoolerKind> {
    let mut servers = [None; 2];
    let mut found = PoolerKind::Nothing;
    for turn in TURNS {
        let words = format!("SELECT pg_backend_pid(), {turn}");
        let row = match ends[turn].query_one(&Statement::from_string(DbBackend::Postgres, words)).await {
            Err(cause) if is_statement_name_error(&cause) => return Ok(PoolerKind::Forgetful),
            row => row?.ok_or_else(|| Error::internal("the database did not return its process id"))?,
        };
        let (server, of): (i32, i32) = (row.try_get_by_index(0)?, row.try_get_by_index(1)?);
        if usize::try_from(of) != Ok(turn) {
            return Ok(PoolerKind::Forgetful);
        }
        let before = servers[turn].replace(server);
        if before.is_some_and(|before| before != server) || servers[0] == servers[1] {
            found = PoolerKind::Pooler;
        }
    }
    Ok(found)
}

/// Whether a prepared statement's name is unknown (26000) or already in use (42P05).
fn is_statement_name_error(error: &DbErr) -> bool {
    let DbErr::Query(RuntimeErr::SqlxError(cause)) = error else { return false };
    let code = cause.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "26000" | "42P05"))
}

async fn find_missing_setting(end: &mut AnyConnection) -> Result<Option<String>> {
    let row = end.query_one(&Statement::from_string(DbBackend::Postgres, UNSET)).await?;
    Ok(row.map(|row| row.try_get_by_index::<Option<String>>(0)).transpose()?.flatten())
}
