//! The demo page: a small product with the bell. A visitor can act as any user.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::Json;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{DOCUMENTS, PEOPLE, TENANT};
use crate::app::App;
use auth::{CallerRole, TokenClaims, issue_token};

/// Only scripts and resources of this server are allowed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// Validity of the page's tokens in seconds; the page requests a new one in time.
const TTL: i64 = 600;

/// The page at `/demo` and its resources.
pub fn routes(app: Arc<App>) -> Router {
    let file = |kind: &'static str, text: &'static str| {
        get(async move || ([(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, POLICY)], text))
    };
    Router::new()
        .route("/demo", file("text/html; charset=utf-8", include_str!("../../ui/demo/index.html")))
        .route("/demo/page.css", file("text/css; charset=utf-8", include_str!("../../ui/demo/page.css")))
        .route("/demo/page.js", file("text/javascript; charset=utf-8", include_str!("../../ui/demo/page.js")))
        .route("/demo/data", get(async || Json(page_data())))
        .route("/demo/token", get(issue_demo_token))
        .with_state(app)
}

fn page_data() -> Value {
    let person = |(id, name, locale): &(&str, &str, &str)| json!({ "id": id, "name": name, "locale": locale });
    let document =
        |(id, title, writers): &(&str, &str, &[&str])| json!({ "id": id, "title": title, "writers": writers });
    json!({
        "people": PEOPLE.iter().map(person).collect::<Vec<_>>(),
        "documents": DOCUMENTS.iter().map(document).collect::<Vec<_>>(),
    })
}

/// The user or service to act as.
#[derive(Deserialize)]
struct DemoIdentity {
    user: Option<String>,
    service: Option<String>,
}

async fn issue_demo_token(State(app): State<Arc<App>>, Query(who): Query<DemoIdentity>) -> Result<String, StatusCode> {
    let (sub, role) = match (who.user, who.service) {
        (Some(sub), None) => (sub, CallerRole::User),
        (None, Some(sub)) => (sub, CallerRole::Service),
        _ => return Err(StatusCode::BAD_REQUEST),
    };
    let exp = app.now() / 1000 + TTL;
    let claims = TokenClaims { tenant: TENANT.into(), sub, role, exp, scope: None };
    issue_token(&app.config.auth, &claims).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}
