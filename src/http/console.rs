//! The console: a page in the binary that loads nothing from other servers. Its sources are in `console/`.

use std::convert::Infallible;
use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::stream::iter;

use super::asset::{ALWAYS, AssetBundle};
use super::response_memory::shared_response;

/// The built page, with `{nonce}` in the place of the nonce.
const PAGE: &str = include_str!("../../console/dist/index.html");

/// The files that the page loads. Their names change with their content.
static ASSETS: LazyLock<AssetBundle> =
    LazyLock::new(|| AssetBundle::from_files(&include!("../../console/dist/assets.rs"), &[]));

/// Only this server's files run or load. The Monaco editor makes `<style>` elements, which need the nonce, and places
/// its lines with `style` attributes, which cannot have one. Those run nothing, and `img-src` restricts their images.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; \
    style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// For workers, which load their modules.
const ASSET_POLICY: &str = "default-src 'none'; script-src 'self'; frame-ancestors 'none'";

/// The page.
pub async fn serve_page() -> Result<Response, StatusCode> {
    let nonce = new_nonce().map_err(internal_error)?;
    let policy = HeaderValue::from_str(&PAGE_POLICY.replace("{nonce}", &nonce)).map_err(internal_error)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        // A nonce is used once.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let (before, after) = PAGE.split_once("{nonce}").unwrap_or((PAGE, ""));
    let length = [(header::CONTENT_LENGTH, before.len() + nonce.len() + after.len())];
    // In parts, so that all responses share the text around the nonce.
    let parts = [Bytes::from_static(before.as_bytes()), nonce.into(), Bytes::from_static(after.as_bytes())];
    let page = shared_response(Body::from_stream(iter(parts.map(Ok::<_, Infallible>))));
    Ok((headers, length.map(|(name, length)| (name, HeaderValue::from(length))), OPENERS, ALWAYS, page).into_response())
}

/// A file that the page loads. Browsers keep it.
pub async fn serve_asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, StatusCode> {
    let policy = [(header::CONTENT_SECURITY_POLICY, ASSET_POLICY)];
    Ok((policy, OPENERS, ASSETS.respond_with(&name, &headers)?).into_response())
}

/// Other origins cannot access the page's window, whether they opened it or it opened them.
pub(super) const OPENERS: [(HeaderName, &str); 1] =
    [(HeaderName::from_static("cross-origin-opener-policy"), "same-origin")];

/// 16 random bytes, for a Content-Security-Policy.
pub(super) fn new_nonce() -> Result<String, getrandom::Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random)?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

fn internal_error(error: impl std::error::Error) -> StatusCode {
    tracing::error!(%error, "the console cannot be served");
    StatusCode::INTERNAL_SERVER_ERROR
}
