//! The bell, the inbox and the preferences as custom elements, and what shows Web Push, for pages of any origin. `ui/elements` has their sources.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::asset::Assets;

/// All that there is. A name changes with the content, but for those that pages use.
static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets::of(&include!("../../ui/elements/dist/assets.rs"), &LASTING));

/// What pages and their service workers name. Within a version of the address nothing that they use breaks.
const LASTING: [&str; 3] = ["push-subscribe.js", "push.js", "tidings.js"];

/// Files are for everybody; what they ask the API for is for those that `TIDINGS_ORIGINS` lets in.
const EVERYBODY: [(HeaderName, &str); 2] = [
    (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
];

/// Where they are served.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/ui/1/{asset}", get(file))
}

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, StatusCode> {
    Ok((EVERYBODY, ASSETS.send(&name, &headers)?).into_response())
}
