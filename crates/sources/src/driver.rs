//! The interface of each kind of source, and a connection in use.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use sqlx::Connection;
use tokio::runtime::Handle as Runtime;
use tokio::time::timeout;

use super::failure::QueryFailure;
use super::query_rows::UnsupportedValue;
use super::scan_statement::ScanStatement;
use base::fair_semaphore::FairPermit;

/// How long to wait for interrupted work to end.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(2);

/// The version of a source, and privileges that scans do not need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceCheck {
    pub version: String,
    /// Privileges that should be revoked from the scanning role, in the source's own terms.
    pub may: Vec<String>,
}

/// A warning that the source can read the data of all tenants of a Tidings server.
pub fn tidings_warning(place: &str) -> String {
    format!("read the tables of a Tidings server in {place}")
}

/// A kind of database server.
pub trait SourceServer: Send + Sync + 'static {
    type Connection: Connection + Send;
    /// Identifies a connection, to cancel its work from another one.
    type Handle: Clone + Send + Sync;
    type Row: Send;
    /// The prefix that turns a statement into a query for its plan.
    const EXPLAIN: &'static str;

    /// Opens a connection that behaves like a new one.
    fn open(&self) -> impl Future<Output = sqlx::Result<Self::Connection>> + Send;

    /// Begins a read-only transaction with a statement timeout.
    fn begin(
        connection: &mut Self::Connection,
        allowed: Duration,
    ) -> impl Future<Output = sqlx::Result<Self::Handle>> + Send;

    /// Releases an idle connection: closes it, or keeps it for the next `open`.
    fn release(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send {
        // Best effort: the connection is not needed any more.
        async { connection.close().await.unwrap_or_default() }
    }

    /// Cancels the work of a connection.
    fn cancel(&self, handle: Self::Handle) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Prepares a statement and returns its column names.
    fn prepare_columns<'a>(
        connection: &'a mut Self::Connection,
        statement: &'a ScanStatement,
    ) -> BoxFuture<'a, sqlx::Result<Vec<String>>>;

    /// Wraps the statement as a subquery, which must be a SELECT, in a SELECT with one extra column in front. The
    /// source fails instead of sending a row with more than [`super::failure::ROW_BYTES`] as text. The caller runs the
    /// first variant that the source can prepare.
    ///
    /// The statement must have been prepared on its own before. Then its parentheses are balanced and its texts and
    /// comments are terminated, so nothing in it can close the subquery.
    fn wrap_bounded(statement: &ScanStatement, columns: &[String], limit: usize) -> Vec<ScanStatement>;

    /// Whether a bounded statement failed because of the size of a row.
    fn is_row_too_large(cause: &sqlx::Error) -> bool;

    /// Runs a prepared statement.
    fn stream_rows<'a>(
        connection: &'a mut Self::Connection,
        statement: &'a ScanStatement,
        instants: &[DateTime<Utc>],
    ) -> BoxStream<'a, sqlx::Result<Self::Row>>;

    fn column_value(row: &Self::Row, index: usize) -> Result<Value, UnsupportedValue>;

    fn check_server(connection: &mut Self::Connection) -> BoxFuture<'_, sqlx::Result<SourceCheck>>;
}

/// A connection for one statement. Locks, variables and settings that the statement leaves behind are dropped with it.
/// If it is dropped before the response was read completely, the statement is cancelled on the server, and keeps its
/// permit until then.
pub struct LeasedConnection<S: SourceServer> {
    server: Arc<S>,
    opened: Option<OpenConnection<S>>,
    permit: Option<FairPermit>,
}

struct OpenConnection<S: SourceServer> {
    connection: S::Connection,
    handle: S::Handle,
    is_busy: bool,
}

impl<S: SourceServer> LeasedConnection<S> {
    pub fn new(server: Arc<S>, connection: S::Connection, handle: S::Handle, permit: FairPermit) -> Self {
        Self { server, opened: Some(OpenConnection { connection, handle, is_busy: false }), permit: Some(permit) }
    }

    /// The connection, for a request. Call [`Self::finish_request`] after the response.
    pub fn start_request(&mut self) -> &mut S::Connection {
        let opened = self.opened.as_mut().expect("a connection is taken only on drop");
        opened.is_busy = true;
        &mut opened.connection
    }

    /// Notes that the response has been read completely, or that the request failed.
    pub fn finish_request(&mut self) {
        if let Some(opened) = &mut self.opened {
            opened.is_busy = false;
        }
    }
}

impl<S: SourceServer> Drop for LeasedConnection<S> {
    fn drop(&mut self) {
        let (Some(opened), Ok(runtime)) = (self.opened.take(), Runtime::try_current()) else { return };
        let (server, permit) = (self.server.clone(), self.permit.take());
        runtime.spawn(async move {
            let OpenConnection { connection, handle, is_busy } = opened;
            let ended = async {
                if !is_busy {
                    return server.release(connection).await;
                }
                if let Err(cause) = server.cancel(handle).await {
                    tracing::warn!(
                        "could not cancel a statement, which runs until its time-out: {}",
                        QueryFailure::from(&cause)
                    );
                }
                let _ = connection.close().await;
            };
            let _ = timeout(GIVEN_UP_WITHIN, ended).await;
            drop(permit);
        });
    }
}
