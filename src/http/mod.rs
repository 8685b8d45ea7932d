//! The wire: routes, who is calling, health, the console, and the end of it all.

mod answer;
mod caller;
mod console;
pub mod cors;
mod counts;
mod events;
mod graphql;
mod observe;
mod request;
mod serve;
mod server;
mod session;
mod socket;
mod unread;

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::timeout;

use crate::error::{Ailment, Error, Result};
use serve::Door;
pub use server::Server;

/// How long requests under way may take once the server was told to stop.
const GRACE: Duration = Duration::from_secs(20);

/// How long the database may take to say that it is ready: whoever asks is told within two seconds.
const READY: Duration = Duration::from_millis(1_500);

impl Server {
    /// All that is served to everybody.
    pub fn routes(&self) -> Router {
        let mut api = Router::new().route("/graphql", get(graphql::get).post(graphql::post));
        if let Some(cors) = cors::layer(&self.app.config) {
            api = api.layer(cors);
        }
        let mut routes = api
            .route("/console", get(console::page))
            .route("/console/", get(console::page))
            .route("/console/{asset}", get(console::asset))
            .merge(health());
        if self.app.config.connections.admin_listen.is_none() {
            routes = routes.route("/metrics", get(metrics));
        }
        self.observed(routes)
    }

    /// All that is served where `TIDINGS_ADMIN_LISTEN` says.
    fn admin_routes(&self) -> Router {
        self.observed(health().route("/metrics", get(metrics)))
    }

    fn observed(&self, routes: Router<Self>) -> Router {
        routes.layer(from_fn_with_state(self.clone(), observe::observe)).with_state(self.clone())
    }

    /// Serves until `stop` is over; then `/readyz` says no, sessions are asked to come back elsewhere over three seconds,
    /// and requests under way have 20 seconds to end.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let (told, stopped) = tokio::sync::oneshot::channel();
        let sessions = self.sessions.clone();
        let stop = async move {
            stop.await;
            sessions.stop();
            // Nobody waits for it where the server has failed already.
            let _ = told.send(());
        };
        let admin = match self.app.config.connections.admin_listen {
            Some(address) => Some(listen(address).map_err(|error| {
                Error::Config(format!("TIDINGS_ADMIN_LISTEN={address} cannot be listened on: {error}"))
            })?),
            None => None,
        };
        // Until the end, so that whoever asks meanwhile is told that we are stopping.
        let administered = async {
            match admin {
                Some(listener) => {
                    let door = Door::admin(&self.app);
                    serve::serve(door, listener, self.admin_routes(), std::future::pending()).await;
                }
                None => std::future::pending().await,
            }
        };
        let served = async {
            serve::serve(Door::public(&self.app), listener, self.routes(), stop).await;
            // Sockets have left their connections, so that these do not wait for them.
            self.sessions.gone().await;
            // Mutations go on although their clients have gone.
            self.schema.landed().await;
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

/// Listens on an address. Connections wait there in a line as long as the system allows (`net.core.somaxconn`): when all
/// sessions of a node come back at once, whoever finds the line full tries again only after a second.
pub fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(u32::from(u16::MAX))
}

/// How we are, for whoever watches over us.
fn health() -> Router<Server> {
    Router::new().route("/healthz", get(async || "alive\n")).route("/readyz", get(ready))
}

/// For Prometheus.
async fn metrics(State(server): State<Server>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    for (name, size, idle) in server.app.db.pools() {
        server.app.metrics.pool(name, size, idle);
    }
    ([(header::CONTENT_TYPE, kind)], server.app.metrics.render())
}

/// Whether requests should be sent here: not when stopping, nor without the database or its newest tables, nor by a clock that
/// may be wrong.
async fn ready(State(server): State<Server>) -> (StatusCode, String) {
    match unready(&server).await {
        None => (StatusCode::OK, "ready\n".into()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

async fn unready(server: &Server) -> Option<String> {
    if server.sessions.are_stopping() {
        return Some("stopping".into());
    }
    let app = &server.app;
    match timeout(READY, app.db.pending_migrations()).await {
        Err(_) => Some("the database does not answer".into()),
        _ if app.db.ailment() == Some(Ailment::Away) => Some("the database does not answer".into()),
        Ok(Err(_)) => Some("the database cannot be reached".into()),
        Ok(Ok(1..)) => Some("the database is not migrated".into()),
        Ok(Ok(0)) if app.agreed.is_in_doubt() => Some(app.agreed.told()),
        Ok(Ok(0)) => app.db.ailment().map(|ailment| ailment.words().into()),
    }
}
