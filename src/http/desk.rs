//! The desk: the page for operators and support, in the binary. It loads nothing from other servers. Sources: `desk/`.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::asset::{ALWAYS, AssetBundle};
use super::console::OPENERS;
use super::response_memory::shared_response;

/// The built page.
const PAGE: &str = include_str!("../../desk/dist/index.html");

/// The files that the page loads. Their names change with their content.
static ASSETS: LazyLock<AssetBundle> =
    LazyLock::new(|| AssetBundle::from_files(&include!("../../desk/dist/assets.rs"), &[]));

/// The first segments of the page's own paths. The page interprets the rest (`desk/src/route.js`).
const PLACES: [&str; 8] = ["compose", "sent", "users", "catalogue", "deliveries", "rules", "audit", "now"];

/// The page runs, loads and requests only from this server, and only its own templates make markup or script from text.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
    require-trusted-types-for 'script'; trusted-types lit-html; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const ASSET_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// The routes of the desk.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/desk", get(async || desk_page()))
        .route("/desk/", get(async || desk_page()))
        .route("/desk/assets/{asset}", get(serve_asset))
        .route("/desk/{place}", get(serve_section))
        .route("/desk/{place}/{*rest}", get(serve_subpage))
}

async fn serve_section(Path(place): Path<String>) -> Result<Response, StatusCode> {
    if PLACES.contains(&place.as_str()) { Ok(desk_page()) } else { Err(StatusCode::NOT_FOUND) }
}

async fn serve_subpage(Path((name, _)): Path<(String, String)>) -> Result<Response, StatusCode> {
    serve_section(Path(name)).await
}

fn desk_page() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        // The names of its files change with each version.
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, OPENERS, ALWAYS, shared_response(PAGE)).into_response()
}

/// A file that the page loads. Browsers keep it.
async fn serve_asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, StatusCode> {
    let policy = [(header::CONTENT_SECURITY_POLICY, ASSET_POLICY)];
    Ok((policy, OPENERS, ASSETS.respond_with(&name, &headers)?).into_response())
}
