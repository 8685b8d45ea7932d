//! What is asked of each kind of source, and a connection while somebody uses it.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use sqlx::Connection;
use tokio::runtime::Handle as Runtime;
use tokio::time::timeout;

use super::failure::Failure;
use super::found::Unfit;
use super::statement::Statement;
use crate::fair_semaphore::FairPermit;

/// How long the end of what was given up is waited for.
const GIVEN_UP_WITHIN: Duration = Duration::from_secs(2);

/// What a source is, and what it lets us do that no scan needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    pub version: String,
    /// In the source's own words: rights that should be taken away from whoever scans.
    pub may: Vec<String>,
}

/// What is said of a source that can read what a Tidings server keeps of all its tenants.
pub fn reads_tidings(place: &str) -> String {
    format!("read the tables of a Tidings server in {place}")
}

/// Opens connections, and speaks by them.
pub trait Server: Send + Sync + 'static {
    type Connection: Connection + Send;
    /// By which what a connection does is ended from elsewhere.
    type Handle: Clone + Send + Sync;
    type Row: Send;
    /// What before a statement makes it tell its plan, and not run.
    const EXPLAIN: &'static str;

    /// One that nobody has used, as far as a statement can tell.
    fn open(&self) -> impl Future<Output = sqlx::Result<Self::Connection>> + Send;

    /// Begins a transaction that is read-only, and in which no statement takes longer than is allowed.
    fn begin(
        connection: &mut Self::Connection,
        allowed: Duration,
    ) -> impl Future<Output = sqlx::Result<Self::Handle>> + Send;

    /// Takes back a connection that is at rest, to be closed or for the next one who opens.
    fn take_back(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send {
        // Nobody has any more use for it, however that ends.
        async { connection.close().await.unwrap_or_default() }
    }

    /// Ends what a connection does.
    fn cancel(&self, handle: Self::Handle) -> impl Future<Output = sqlx::Result<()>> + Send;

    /// Prepares a statement: the names of what it finds.
    fn columns<'a>(
        connection: &'a mut Self::Connection,
        statement: &'a Statement,
    ) -> BoxFuture<'a, sqlx::Result<Vec<String>>>;

    /// The statement as a subquery, which only a SELECT can be, in a SELECT of its rows with one column before theirs. The source
    /// fails rather than send a row of more than [`super::failure::ROW_BYTES`] as text. The first of these that the source can read
    /// is run.
    ///
    /// This holds for a statement that the source has prepared by itself before: its parentheses are balanced and its texts and
    /// comments end, so that nothing in it closes the subquery.
    fn bounded(statement: &Statement, columns: &[String], limit: usize) -> Vec<Statement>;

    /// Whether a bounded statement failed for the size of a row.
    fn is_row_too_large(cause: &sqlx::Error) -> bool;

    /// Runs it, as it was prepared.
    fn rows<'a>(
        connection: &'a mut Self::Connection,
        statement: &'a Statement,
        instants: &[DateTime<Utc>],
    ) -> BoxStream<'a, sqlx::Result<Self::Row>>;

    fn value(row: &Self::Row, index: usize) -> Result<Value, Unfit>;

    fn check(connection: &mut Self::Connection) -> BoxFuture<'_, sqlx::Result<Checked>>;
}

/// A connection for one statement. Whatever a statement leaves behind goes with it, be it a lock, a variable or a setting. One that is dropped before its answer was read to the end is ended on the server, too, and counts until it is.
pub struct Lent<S: Server> {
    server: Arc<S>,
    opened: Option<Opened<S>>,
    permit: Option<FairPermit>,
}

struct Opened<S: Server> {
    connection: S::Connection,
    handle: S::Handle,
    is_busy: bool,
}

impl<S: Server> Lent<S> {
    pub fn new(server: Arc<S>, connection: S::Connection, handle: S::Handle, permit: FairPermit) -> Self {
        Self { server, opened: Some(Opened { connection, handle, is_busy: false }), permit: Some(permit) }
    }

    /// The connection, to be asked something; see [`Self::answered`].
    pub fn ask(&mut self) -> &mut S::Connection {
        let opened = self.opened.as_mut().expect("it is only taken when it is dropped");
        opened.is_busy = true;
        &mut opened.connection
    }

    /// All of what it was asked has been read, or it failed.
    pub fn answered(&mut self) {
        if let Some(opened) = &mut self.opened {
            opened.is_busy = false;
        }
    }
}

impl<S: Server> Drop for Lent<S> {
    fn drop(&mut self) {
        let (Some(opened), Ok(runtime)) = (self.opened.take(), Runtime::try_current()) else { return };
        let (server, permit) = (self.server.clone(), self.permit.take());
        runtime.spawn(async move {
            let Opened { connection, handle, is_busy } = opened;
            let ended = async {
                if !is_busy {
                    return server.take_back(connection).await;
                }
                if let Err(cause) = server.cancel(handle).await {
                    tracing::warn!("a statement that was given up ends by its time-out: {}", Failure::from(&cause));
                }
                let _ = connection.close().await;
            };
            let _ = timeout(GIVEN_UP_WITHIN, ended).await;
            drop(permit);
        });
    }
}
