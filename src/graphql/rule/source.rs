//! Databases that rules may read.

use async_graphql::{Context, Enum, Object};

use crate::graphql::context::Call;
use crate::source;

/// Kinds of databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "source::Kind")]
pub enum RuleSourceKind {
    /// PostgreSQL.
    Postgres,
    /// MySQL or MariaDB.
    #[graphql(name = "MYSQL")]
    MySql,
    /// SQLite.
    Sqlite,
}

/// A database that rules may read. The server's operator configures it in `TIDINGS_SOURCES`.
pub struct RuleSource(pub String, pub source::Kind);

/// A database that rules may read. The server's operator configures it in `TIDINGS_SOURCES`.
#[Object]
impl RuleSource {
    /// Its name in rules.
    async fn name(&self) -> &str {
        &self.0
    }

    /// Kind of the database.
    async fn kind(&self) -> RuleSourceKind {
        self.1.into()
    }

    /// Null if it answers; else why not, without its address.
    async fn error(&self, ctx: &Context<'_>) -> Option<String> {
        let call = Call::of(ctx);
        let source = call.app.sources.of(&call.tenant.code, &self.0)?;
        source.check_as(&call.tenant.code).await.err().map(|failure| failure.in_short().to_string())
    }
}
