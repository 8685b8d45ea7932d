//! Poolers that hand the connections of PostgreSQL out by transaction, such as `PgBouncer`.
//!
//! There a session is nobody's: what one is told, others have. So nothing is told to sessions where `TIDINGS_POOLER` is set, and
//! what needs one goes by the direct URL: `LISTEN`, and counting who else is connected. Prepared statements are the pooler's to
//! keep. Locks of migrations last for a transaction, and need neither.

use sea_orm::{DbBackend, DbErr, RuntimeErr, Statement};

use super::any::AnyLent;
use crate::config::DatabaseConfig;
use crate::error::{Error, Result};

/// In which order two connections ask: in one (of Thue and Morse) in which each gets what the other had, whether the pooler hands
/// out what was given back last or what has rested longest.
const TURNS: [usize; 16] = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0];

/// What `connect_query` of the pooler has left out.
const UNSET: &str = "SELECT string_agg(name, ', ' ORDER BY name) FROM pg_settings \
    WHERE (name = 'plan_cache_mode' AND setting <> 'force_generic_plan') OR (setting = '0' \
    AND name IN ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'))";

/// What stands between us and PostgreSQL.
enum Between {
    /// Nothing, or what gives each connection one of PostgreSQL's for itself.
    Nothing,
    /// A pooler that keeps the statements that we prepare.
    Pooler,
    /// One that does not, and runs others in their place.
    Forgetful,
}

/// Fails with `Config` where what stands between us and PostgreSQL is not what the settings say, or is not set up for us.
pub async fn check(config: &DatabaseConfig, mut ends: [AnyLent; 2]) -> Result<()> {
    let wrong = |why: String| Err(Error::Config(why));
    match (config.pooler, between(&mut ends).await?) {
        (None, Between::Nothing) => Ok(()),
        (None, _) => wrong(format!(
            "{} leads to a pooler that hands connections out by transaction: {}",
            config.setting(),
            if config.is_direct() {
                "it has to lead to PostgreSQL itself"
            } else {
                "set TIDINGS_POOLER=transaction, and TIDINGS_DIRECT_URL or REDIS_URL"
            }
        )),
        (Some(_), Between::Forgetful) => wrong(
            "the pooler does not keep prepared statements: let it be PgBouncer 1.21 or newer, with max_prepared_statements \
             above 0"
                .into(),
        ),
        (Some(_), _) => match unset(&mut ends[0]).await? {
            None => Ok(()),
            Some(names) => wrong(format!(
                "connections of the pooler come without {names}: set them by connect_query, as in docs/operate/pgbouncer.md"
            )),
        },
    }
}

/// Asks two connections whom they speak with, each by a statement of its own, which have the same name for their drivers.
async fn between(ends: &mut [AnyLent; 2]) -> Result<Between> {
    let mut servers = [None; 2];
    let mut found = Between::Nothing;
    for turn in TURNS {
        let words = format!("SELECT pg_backend_pid(), {turn}");
        let row = match ends[turn].one(&Statement::from_string(DbBackend::Postgres, words)).await {
            Err(cause) if is_about_names(&cause) => return Ok(Between::Forgetful),
            row => row?.ok_or_else(|| Error::internal("the database does not say who it is"))?,
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

/// Whether there is no statement of a name, or is one already.
fn is_about_names(error: &DbErr) -> bool {
    let DbErr::Query(RuntimeErr::SqlxError(cause)) = error else { return false };
    let code = cause.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| matches!(&*code, "26000" | "42P05"))
}

async fn unset(end: &mut AnyLent) -> Result<Option<String>> {
    let row = end.one(&Statement::from_string(DbBackend::Postgres, UNSET)).await?;
    Ok(row.map(|row| row.try_get_by_index::<Option<String>>(0)).transpose()?.flatten())
}
