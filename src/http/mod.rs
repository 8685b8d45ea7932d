//! HTTP: routes, authentication, health, the desk and the console, and the shutdown.

mod asset;
mod console;
mod credentials;
mod desk;
mod events;
mod graphql;
mod json;
mod key_counters;
mod middleware;
mod request;
mod response;
mod response_memory;
mod serve;
mod server;
mod session;
mod sign_in;
mod socket;
mod ui;
mod unsubscribe;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use futures_util::future::BoxFuture;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::timeout;

use base::error::{DatabaseFailure, Error, Result};
use serve::{ConnectionLimiter, DrainFlag};
pub use server::Server;

/// How long requests in progress may take after the shutdown has begun.
const GRACE: Duration = Duration::from_secs(20);

/// How long the database may take to report its migrations: `/readyz` answers within two seconds.
const READY: Duration = Duration::from_millis(1_500);

impl Server {
    /// All public routes, for an application that adds pages of its own.
    pub fn routes(&self) -> Router {
        middleware::wrap(self, self.all_routes())
    }

    /// The same for a server that is not part of another application: `/` leads to the desk.
    fn own_routes(&self) -> Router {
        let first = get(async || Redirect::temporary("/desk"));
        middleware::wrap(self, self.all_routes().route("/", first).merge(self.pages.clone().with_state(())))
    }

    fn all_routes(&self) -> Router<Self> {
        let mut api = Router::new().route("/graphql", get(graphql::handle_get).post(graphql::handle_post));
        if let Some(cors) = middleware::cors_layer(&self.app.config) {
            api = api.layer(cors);
        }
        let mut routes = api
            .route("/console", get(console::serve_page))
            .route("/console/", get(console::serve_page))
            .route("/console/{asset}", get(console::serve_asset))
            .merge(sign_in::routes())
            .merge(desk::routes())
            .merge(unsubscribe::routes())
            .merge(health_routes());
        if !self.app.config.wire.no_ui {
            routes = routes.merge(ui::routes());
        }
        if self.app.config.listen.admin.is_none() {
            routes = routes.route("/metrics", get(serve_metrics));
        }
        routes
    }

    /// The routes of the listener `TIDINGS_ADMIN_LISTEN`.
    fn admin_routes(&self) -> Router {
        middleware::wrap(self, health_routes().route("/metrics", get(serve_metrics)))
    }

    /// Serves until `stop` completes. Then `/readyz` fails for `TIDINGS_DRAIN_SECONDS` so that load balancers notice,
    /// while everything else goes on. After that sessions are closed over three seconds, and requests in progress have
    /// 20 seconds to end.
    pub fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> BoxFuture<'static, Result<()>> {
        self.serve_until(listener, Box::pin(stop))
    }

    /// Boxed, like [`App::start`](crate::app::App::start) and the worker's, so that it is compiled here and not again
    /// in each program that awaits it.
    fn serve_until(self, listener: TcpListener, stop: BoxFuture<'static, ()>) -> BoxFuture<'static, Result<()>> {
        Box::pin(self.serve_and_drain(listener, stop))
    }

    async fn serve_and_drain(self, listener: TcpListener, stop: BoxFuture<'static, ()>) -> Result<()> {
        let (told, stopped) = tokio::sync::oneshot::channel();
        let (sessions, draining) = (self.sessions.clone(), DrainFlag::default());
        let (begin, drain) = (draining.clone(), Duration::from_secs(self.app.config.connections.drain_seconds.into()));
        let stop = async move {
            stop.await;
            sessions.start_draining();
            begin.begin();
            tokio::time::sleep(drain).await;
            sessions.close_all();
            // The receiver is gone if the server has already failed.
            let _ = told.send(());
        };
        let admin = match self.app.config.listen.admin {
            Some(address) => Some(listen(address)?),
            None => None,
        };
        // Until the end, so that health checks meanwhile see that the server is stopping.
        let administered = async {
            match admin {
                Some(listener) => {
                    let (limiter, draining) = (ConnectionLimiter::new_admin(&self.app), DrainFlag::default());
                    serve::serve(limiter, draining, listener, self.admin_routes(), std::future::pending()).await;
                }
                None => std::future::pending().await,
            }
        };
        let served = async {
            let limiter = ConnectionLimiter::new_public(&self.app);
            serve::serve(limiter, draining, listener, self.own_routes(), stop).await;
            // WebSockets have left their connections, which therefore do not wait for them.
            self.sessions.wait_until_empty().await;
            // Mutations go on after their clients have disconnected.
            self.schema.wait_idle().await;
        };
        let grace = async {
            let _ = stopped.await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            () = served => {}
            () = grace => {}
            () = administered => {}
        }
        Ok(())
    }
}

/// Listens on an address. The backlog is as long as the system allows (`net.core.somaxconn`): when all sessions of a
/// node reconnect at once, a client that finds the backlog full retries only after a second.
///
/// Fails with `Unavailable` if the address is in use, and with `Config` if it cannot be used.
pub fn listen(address: SocketAddr) -> Result<TcpListener> {
    let listener = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(u32::from(u16::MAX))
    };
    listener().map_err(|error: std::io::Error| {
        let why = format!("cannot listen on {address}: {error}");
        if error.kind() == ErrorKind::AddrInUse { Error::Unavailable(why) } else { Error::Config(why) }
    })
}

/// Liveness and readiness.
fn health_routes() -> Router<Server> {
    Router::new().route("/healthz", get(async || "alive\n")).route("/readyz", get(serve_readiness))
}

/// Metrics for Prometheus.
async fn serve_metrics(State(server): State<Server>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    for (name, size, idle) in server.app.db.pool_counts() {
        server.app.metrics.record_pool(name, size, idle);
    }
    ([(header::CONTENT_TYPE, kind)], server.app.metrics.render())
}

/// Whether this node should get requests. Not while it is stopping, without the database or its newest migrations, or
/// with a clock that may be wrong.
async fn serve_readiness(State(server): State<Server>) -> (StatusCode, String) {
    match unready_reason(&server).await {
        None => (StatusCode::OK, "ready\n".into()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

async fn unready_reason(server: &Server) -> Option<String> {
    if server.sessions.is_draining() {
        return Some("stopping".into());
    }
    let app = &server.app;
    if let Some(ailment @ (DatabaseFailure::ReadOnly | DatabaseFailure::Elsewhere)) = app.db.current_failure() {
        return Some(ailment.message().into());
    }
    let migrations = match timeout(READY, app.db.migration_status()).await {
        _ if app.db.current_failure() == Some(DatabaseFailure::Away) => {
            return Some("the database does not answer".into());
        }
        // Other statements succeed: the database is busy, and its tables are those checked at the start.
        Err(_) if app.db.is_responding() => None,
        Err(_) => return Some("the database does not answer".into()),
        Ok(Err(_)) => return Some("the database cannot be reached".into()),
        Ok(Ok(migrations)) => Some(migrations),
    };
    if let Some(migrations) = migrations {
        if let Err(error) = migrations.check_compatible() {
            return Some(error.log_message());
        }
        if !migrations.pending.is_empty() {
            return Some("the database is not migrated".into());
        }
    }
    if app.shared_clock.is_in_doubt() {
        return Some(app.shared_clock.describe_difference());
    }
    app.db.current_failure().map(|ailment| ailment.message().into())
}
