//! The console: a page to try the API with, part of the binary and in need of nothing from elsewhere.

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Nothing runs or loads but what this server serves; pictures may come from where users' avatars are.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' https: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

const ASSETS: [(&str, &str, &str); 11] = [
    ("console.css", CSS, include_str!("../console/console.css")),
    ("console.js", JS, include_str!("../console/console.js")),
    ("answer.js", JS, include_str!("../console/answer.js")),
    ("bell.js", JS, include_str!("../console/bell.js")),
    ("client.js", JS, include_str!("../console/client.js")),
    ("editor.js", JS, include_str!("../console/editor.js")),
    ("operations.js", JS, include_str!("../console/operations.js")),
    ("page.js", JS, include_str!("../console/page.js")),
    ("schema.js", JS, include_str!("../console/schema.js")),
    ("token.js", JS, include_str!("../console/token.js")),
    ("variables.js", JS, include_str!("../console/variables.js")),
];

/// The page.
pub async fn page() -> Response {
    answer(HTML, include_str!("../console/index.html"))
}

/// What the page loads.
pub async fn asset(Path(name): Path<String>) -> Response {
    match ASSETS.iter().find(|(asset, ..)| *asset == name) {
        Some((_, kind, text)) => answer(kind, text),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn answer(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, text).into_response()
}
