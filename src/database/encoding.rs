//! The text encoding of a database. It must be UTF-8: ids, titles and names are any Unicode, and are compared byte by
//! byte.

use sea_orm::{DbBackend, Statement};

use super::any::AnyLent;
use crate::error::{Error, Result};

/// Fails with `Config` if the database or the connection uses another encoding.
pub async fn check(setting: &str, end: &mut AnyLent) -> Result<()> {
    let (backend, question, wanted) = match end {
        AnyLent::Sqlite(_) => (DbBackend::Sqlite, "PRAGMA encoding", "UTF-8"),
        AnyLent::Postgres(_) => (DbBackend::Postgres, "SELECT current_setting('server_encoding')", "UTF8"),
        AnyLent::MySql(_) => (DbBackend::MySql, "SELECT @@character_set_connection", "utf8mb4"),
    };
    let row = end.one(&Statement::from_string(backend, question)).await?;
    let found: String =
        row.ok_or_else(|| Error::internal("the database did not return its encoding"))?.try_get_by_index(0)?;
    if found == wanted {
        return Ok(());
    }
    let why = match end {
        AnyLent::Sqlite(_) => format!("the file is encoded in {found}: create a new one in UTF-8"),
        AnyLent::Postgres(_) => format!(
            "the database is encoded in {found}, which cannot store most texts: create one with ENCODING 'UTF8' (and TEMPLATE \
             template0 if the server's templates have another encoding), and move the data with pg_dump"
        ),
        AnyLent::MySql(_) => {
            format!("the connection uses {found}: leave `charset` out of the URL, or set it to utf8mb4")
        }
    };
    Err(Error::Config(format!("{setting} cannot be used: {why}")))
}
