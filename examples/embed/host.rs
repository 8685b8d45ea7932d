//! The host application.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::Data;
use async_graphql_axum::{GraphQLProtocol, GraphQLRequest, GraphQLResponse, GraphQLWebSocket};
use auth::CallerRole;
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use live::LiveRooms;
use parking_lot::Mutex;
use tidings::app::App;
use tidings::demo;
use tidings::graphql::{Schema, Viewer};
use tidings::http::Server;

#[derive(Clone)]
pub struct Host {
    app: Arc<App>,
    tidings: Server,
    /// Session cookie → signed-in user.
    sessions: Arc<Mutex<HashMap<String, String>>>,
}

impl Host {
    pub fn new(app: Arc<App>, live: Arc<LiveRooms>) -> Self {
        Self { tidings: Server::new(app.clone(), live), app, sessions: Arc::default() }
    }

    pub fn routes(self) -> Router {
        Router::new()
            .route("/", get(page))
            .route("/sign-in", post(sign_in))
            .route("/inbox", post(inbox))
            .route("/inbox/live", get(live))
            .with_state(self.clone())
            // The console and the API for services; their callers have tokens.
            .merge(self.tidings.routes())
    }

    fn schema(&self) -> Schema {
        self.tidings.schema().clone()
    }
}

/// The signed-in user as a Tidings viewer.
struct SignedIn(Viewer);

impl FromRequestParts<Host> for SignedIn {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, host: &Host) -> Result<Self, StatusCode> {
        let cookies = parts.headers.get(header::COOKIE).and_then(|cookies| cookies.to_str().ok()).unwrap_or_default();
        let session = cookies.split("; ").find_map(|cookie| cookie.strip_prefix("session="));
        let user = {
            let sessions = host.sessions.lock();
            session.and_then(|session| sessions.get(session).cloned())
        };
        let user = user.ok_or(StatusCode::UNAUTHORIZED)?;
        let viewer = Viewer::with_names(&host.app, demo::TENANT, CallerRole::User, &user).await;
        viewer.map(Self).map_err(|_| StatusCode::UNAUTHORIZED)
    }
}

async fn page() -> Html<&'static str> {
    Html(include_str!("page.html"))
}

/// A real application asks for more than a name.
async fn sign_in(
    State(host): State<Host>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<impl IntoResponse, StatusCode> {
    let user = query.get("user").ok_or(StatusCode::BAD_REQUEST)?;
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    let session = URL_SAFE_NO_PAD.encode(random);
    host.sessions.lock().insert(session.clone(), user.clone());
    let cookie = format!("session={session}; Path=/; HttpOnly; SameSite=Strict");
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to("/")))
}

async fn inbox(State(host): State<Host>, SignedIn(viewer): SignedIn, request: GraphQLRequest) -> GraphQLResponse {
    async_graphql::Executor::execute(&host.schema(), request.into_inner().data(viewer)).await.into()
}

async fn live(
    State(host): State<Host>,
    SignedIn(viewer): SignedIn,
    protocol: GraphQLProtocol,
    upgrade: WebSocketUpgrade,
) -> impl IntoResponse {
    upgrade.protocols(["graphql-transport-ws"]).on_upgrade(async move |socket| {
        let mut data = Data::default();
        data.insert(viewer);
        GraphQLWebSocket::new(socket, host.schema(), protocol).with_data(data).serve().await;
    })
}
