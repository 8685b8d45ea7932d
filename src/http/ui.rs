//! Custom elements (bell, inbox, preferences) and Web Push scripts for pages of any origin. Sources: `ui/elements`.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::asset::AssetBundle;

/// The files. Their names change with their content, except for those that pages use.
static ASSETS: LazyLock<AssetBundle> =
    LazyLock::new(|| AssetBundle::from_files(&include!("../../ui/elements/dist/assets.rs"), &LASTING));

/// The names that pages and their service workers use. Within one version of the URL they stay compatible.
const LASTING: [&str; 3] = ["push-subscribe.js", "push.js", "tidings.js"];

/// Any origin may load the files. The API itself accepts only the origins of `TIDINGS_ORIGINS`.
const EVERYBODY: [(HeaderName, &str); 2] = [
    (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
];

/// The routes of the files.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/ui/1/{asset}", get(serve_file))
}

async fn serve_file(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, StatusCode> {
    Ok((EVERYBODY, ASSETS.respond_with(&name, &headers)?).into_response())
}
