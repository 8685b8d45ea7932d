//! What rules may read.

use async_graphql::{Context, Enum, Object};

use crate::graphql::context::Call;
use crate::source;

/// Which database a source is.
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

/// A database that rules may read. It belongs to whoever runs the server, who names it in `TIDINGS_SOURCES`.
pub struct RuleSource(pub String, pub source::Kind);

/// A database that rules may read. It belongs to whoever runs the server, who names it in `TIDINGS_SOURCES`.
#[Object]
impl RuleSource {
    /// As rules call it.
    async fn name(&self) -> &str {
        &self.0
    }

    /// Which database it is.
    async fn kind(&self) -> RuleSourceKind {
        self.1.into()
    }

    /// Null where it answers; else why it does not, without saying where it is.
    async fn error(&self, ctx: &Context<'_>) -> Option<String> {
        let call = Call::of(ctx);
        let source = call.app.sources.of(&call.tenant.code, &self.0)?;
        source.check_as(&call.tenant.code).await.err().map(|failure| failure.in_short().to_string())
    }
}
