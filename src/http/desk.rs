//! The desk: the page of operators and support, which is part of the binary and needs nothing from elsewhere. `desk/` has its sources.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::asset::{ALWAYS, Assets};
use super::console::OPENERS;
use super::unread::shared;

/// The page as it was built.
const PAGE: &str = include_str!("../../desk/dist/index.html");

/// All that the page loads. A name changes with the content.
static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets::of(&include!("../../desk/dist/assets.rs"), &[]));

/// The first part of each path of the page itself, which reads the rest (`desk/src/route.js`).
const PLACES: [&str; 8] = ["compose", "sent", "users", "catalogue", "deliveries", "rules", "audit", "now"];

/// Nothing runs, loads or is asked but what this server serves; and no text becomes markup or script but the page's own templates.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    require-trusted-types-for 'script'; trusted-types lit-html; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const ASSET_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Where they are served.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/desk", get(async || page()))
        .route("/desk/", get(async || page()))
        .route("/desk/assets/{asset}", get(file))
        .route("/desk/{place}", get(place))
        .route("/desk/{place}/{*rest}", get(within))
}

async fn place(Path(place): Path<String>) -> Result<Response, StatusCode> {
    if PLACES.contains(&place.as_str()) { Ok(page()) } else { Err(StatusCode::NOT_FOUND) }
}

async fn within(Path((name, _)): Path<(String, String)>) -> Result<Response, StatusCode> {
    place(Path(name)).await
}

fn page() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        // What it loads changes its names with each version.
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, OPENERS, ALWAYS, shared(PAGE)).into_response()
}

/// What the page loads; browsers keep it for good.
async fn file(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, StatusCode> {
    let policy = [(header::CONTENT_SECURITY_POLICY, ASSET_POLICY)];
    Ok((policy, OPENERS, ASSETS.send(&name, &headers)?).into_response())
}
