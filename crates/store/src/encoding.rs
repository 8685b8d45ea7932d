//! The text encoding of a database. It must be UTF-8: ids, titles and names are any Unicode, and are compared byte by
//! byte.

use sea_orm::{DbBackend, Statement};

use super::any_pool::AnyConnection;
use base::error::{Error, Result};

/// Fails with `Config` if the database or the connection uses another encoding.
pub async fn check_encoding(setting: &str, end: &mut AnyConnection) -> Result<()> {
    let (backend, question, wanted) = match end {
        AnyConnection::Sqlite(_) => (DbBackend::Sqlite, "PRAGMA encoding", "UTF-8"),
        AnyConnection::Postgres(_) => (DbBackend::Postgres, "SELECT current_setting('server_encoding')", "UTF8"),
        AnyConnection::MySql(_) => (DbBackend::MySql, "SELECT @@character_set_connection", "utf8mb4"),
    };
    let row = end.query_one(&Statement::from_string(backend, question)).await?;
    let found: String =
        row.ok_or_else(|| Error::internal("the database did not return its encoding"))?.try_get_by_index(0)?;
    if found == wanted {
        return Ok(());
    }
    let why = match end {
        AnyConnection::Sqlite(_) => format!("the file is encoded in {found}: create a new one in UTF-8"),
        AnyConnection::Postgres(_) => format!(
            "the database is encoded in {found}, which cannot store most texts: create one with ENCODING 'UTF8' (and TEMPLATE \
             template0 if the server's templates have another encoding), and move the data with pg_dump"
        ),
        AnyConnection::MySql(_) => {
            format!("the connection uses {found}: leave `charset` out of the URL, or set it to utf8mb4")
        }
    };
    Err(Error::Config(format!("{setting} cannot be used: {why}")))
}
