//! The wire: routes, who is calling, health, the console, and the end of it all.

mod console;
mod graphql;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tower_http::trace::TraceLayer;

use crate::app::App;
use crate::error::{Error, Result};
use crate::graphql::Schema;

/// The most bytes of a request's body: 10,000 named users of 128 characters fit into it.
const BODY_BYTES: usize = 2 * 1024 * 1024;

/// How long requests under way may take once the server was told to stop.
const GRACE: Duration = Duration::from_secs(20);

/// What handlers work with.
#[derive(Clone, Debug)]
pub struct Server {
    app: Arc<App>,
    schema: Schema,
    is_stopping: Arc<AtomicBool>,
}

impl Server {
    /// Over a running Tidings.
    pub fn new(app: Arc<App>) -> Self {
        Self { schema: Schema::new(app.clone()), app, is_stopping: Arc::default() }
    }

    /// All that is served.
    pub fn routes(&self) -> Router {
        Router::new()
            .route("/graphql", get(graphql::get).post(graphql::post))
            .route("/console", get(console::page))
            .route("/console/", get(console::page))
            .route("/console/{asset}", get(console::asset))
            .route("/healthz", get(async || "alive\n"))
            .route("/readyz", get(ready))
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .layer(TraceLayer::new_for_http())
            .with_state(self.clone())
    }

    /// Serves until `stop` is over; then `/readyz` says no, and requests under way have 20 seconds to end.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let (told, stopped) = tokio::sync::oneshot::channel();
        let is_stopping = self.is_stopping.clone();
        let stop = async move {
            stop.await;
            is_stopping.store(true, Ordering::SeqCst);
            // Nobody waits for it where the server has failed already.
            let _ = told.send(());
        };
        let served = axum::serve(listener, self.routes()).with_graceful_shutdown(stop);
        let grace = async {
            let _ = stopped.await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            served = served => served.map_err(Error::internal),
            () = grace => Ok(()),
        }
    }
}

/// Whether requests should be sent here: not when stopping, nor without the database or its newest tables.
async fn ready(State(server): State<Server>) -> (StatusCode, &'static str) {
    if server.is_stopping.load(Ordering::SeqCst) {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    match server.app.db.pending_migrations().await {
        Ok(0) => (StatusCode::OK, "ready\n"),
        Ok(_) => (StatusCode::SERVICE_UNAVAILABLE, "the database is not migrated\n"),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the database cannot be reached\n"),
    }
}
