//! Databases that rules may read.

use async_graphql::{Context, Enum, Object};

use crate::graphql::context::CallContext;

/// Kinds of databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
#[graphql(remote = "sources::SourceKind")]
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
pub struct RuleSource(pub String, pub sources::SourceKind);

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
        let call = CallContext::from_context(ctx);
        let source = call.app.rules.sources.find_for_tenant(&call.tenant.code, &self.0)?;
        source.check_for_tenant(&call.tenant.code).await.err().map(|failure| failure.without_address().to_string())
    }
}
