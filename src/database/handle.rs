//! What statements are run with.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;
use std::time::Instant;

use sea_orm::metric::Info;
use sea_orm::prelude::async_trait::async_trait;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, Statement};
use tokio::sync::Mutex;

use super::any::{Any, AnyLent};

type Observer = dyn Fn(&Info<'_>) + Send + Sync;

/// Who is told of statements.
#[derive(Clone, Default)]
pub(super) struct Observers(pub Vec<Arc<Observer>>);

impl Debug for Observers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} observers", self.0.len())
    }
}

impl Observers {
    /// Does `work`, and tells everybody of it.
    async fn watch<T>(&self, statement: &Statement, work: impl Future<Output = Result<T, DbErr>>) -> Result<T, DbErr> {
        let started = Instant::now();
        let result = work.await;
        let info = Info { elapsed: started.elapsed(), statement, failed: result.is_err() };
        self.0.iter().for_each(|observer| observer(&info));
        result
    }
}

/// Runs statements that change nothing, each on whatever connection is free.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(super) connections: Any,
    pub(super) observers: Observers,
}

#[async_trait]
impl ConnectionTrait for Reader {
    fn get_database_backend(&self) -> DbBackend {
        self.connections.backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let mut lent = self.connections.lend().await?;
        self.observers.watch(&statement, lent.run(&statement)).await
    }

    async fn execute_unprepared(&self, text: &str) -> Result<ExecResult, DbErr> {
        self.connections.lend().await?.run_text(text).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let mut lent = self.connections.lend().await?;
        self.observers.watch(&statement, lent.one(&statement)).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut lent = self.connections.lend().await?;
        self.observers.watch(&statement, lent.all(&statement)).await
    }
}

/// Statements of which all take hold or none. Dropped, it takes them back.
#[derive(Debug)]
pub struct Transaction {
    connection: Mutex<AnyLent>,
    backend: DbBackend,
    observers: Observers,
}

impl Transaction {
    pub(super) async fn begin(connections: &Any, observers: Observers) -> Result<Self, DbErr> {
        let mut lent = connections.lend().await?;
        lent.begin().await?;
        Ok(Self { connection: Mutex::new(lent), backend: connections.backend(), observers })
    }

    /// Lets all of it take hold.
    pub async fn commit(self) -> Result<(), DbErr> {
        self.connection.into_inner().end("COMMIT").await
    }

    /// Takes all of it back.
    pub async fn rollback(self) -> Result<(), DbErr> {
        self.connection.into_inner().end("ROLLBACK").await
    }
}

#[async_trait]
impl ConnectionTrait for Transaction {
    fn get_database_backend(&self) -> DbBackend {
        self.backend
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let mut lent = self.connection.lock().await;
        self.observers.watch(&statement, lent.run(&statement)).await
    }

    async fn execute_unprepared(&self, text: &str) -> Result<ExecResult, DbErr> {
        self.connection.lock().await.run_text(text).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let mut lent = self.connection.lock().await;
        self.observers.watch(&statement, lent.one(&statement)).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut lent = self.connection.lock().await;
        self.observers.watch(&statement, lent.all(&statement)).await
    }
}
