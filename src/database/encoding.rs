//! How a database keeps text. Ids, titles and names are any Unicode, and are compared byte by byte: it has to be UTF-8.

use sea_orm::{DbBackend, Statement};

use super::any::AnyLent;
use crate::error::{Error, Result};

/// Fails with `Config` where a database keeps text otherwise, or a connection speaks otherwise.
pub async fn check(setting: &str, end: &mut AnyLent) -> Result<()> {
    let (backend, question, wanted) = match end {
        AnyLent::Sqlite(_) => (DbBackend::Sqlite, "PRAGMA encoding", "UTF-8"),
        AnyLent::Postgres(_) => (DbBackend::Postgres, "SELECT current_setting('server_encoding')", "UTF8"),
        AnyLent::MySql(_) => (DbBackend::MySql, "SELECT @@character_set_connection", "utf8mb4"),
    };
    let row = end.one(&Statement::from_string(backend, question)).await?;
    let found: String =
        row.ok_or_else(|| Error::internal("a database does not say its encoding"))?.try_get_by_index(0)?;
    if found == wanted {
        return Ok(());
    }
    let why = match end {
        AnyLent::Sqlite(_) => format!("the file is encoded in {found}: make a new one, whose encoding is UTF-8"),
        AnyLent::Postgres(_) => format!(
            "the database is encoded in {found}, which has no room for most texts: make one with ENCODING 'UTF8' (and TEMPLATE \
             template0 where the server's own templates are in another), and move what is in this one by pg_dump"
        ),
        AnyLent::MySql(_) => {
            format!("the connection speaks {found}: leave `charset` out of the URL, or let it be utf8mb4")
        }
    };
    Err(Error::Config(format!("{setting} cannot be used: {why}")))
}
