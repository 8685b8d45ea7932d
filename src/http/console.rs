//! The console: a page that is part of the binary, and needs nothing from elsewhere. `console/` has its sources.

use std::convert::Infallible;
use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::stream::iter;

use super::asset::{ALWAYS, Assets};
use super::unread::shared;

/// The page as it was built, with `{nonce}` where the nonce belongs.
const PAGE: &str = include_str!("../../console/dist/index.html");

/// All that the page loads. A name changes with the content.
static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets::of(&include!("../../console/dist/assets.rs"), &[]));

/// Nothing runs or loads but what this server serves. The editor, Monaco, makes `<style>` elements, which need the nonce, and
/// places its lines by `style` attributes, which can have none: they run nothing, and what they load is held to `img-src`.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; \
    style-src 'self' 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; img-src 'self' data:; font-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// For workers, which load their parts.
const ASSET_POLICY: &str = "default-src 'none'; script-src 'self'; frame-ancestors 'none'";

/// The page.
pub async fn page() -> Result<Response, StatusCode> {
    let nonce = nonce().map_err(failed)?;
    let policy = HeaderValue::from_str(&PAGE_POLICY.replace("{nonce}", &nonce)).map_err(failed)?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
        // A nonce is for once.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let (before, after) = PAGE.split_once("{nonce}").unwrap_or((PAGE, ""));
    let length = [(header::CONTENT_LENGTH, before.len() + nonce.len() + after.len())];
    // In parts: all answers share the text around the nonce.
    let parts = [Bytes::from_static(before.as_bytes()), nonce.into(), Bytes::from_static(after.as_bytes())];
    let page = shared(Body::from_stream(iter(parts.map(Ok::<_, Infallible>))));
    Ok((headers, length.map(|(name, length)| (name, HeaderValue::from(length))), OPENERS, ALWAYS, page).into_response())
}

/// What the page loads; browsers keep it for good.
pub async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, StatusCode> {
    let policy = [(header::CONTENT_SECURITY_POLICY, ASSET_POLICY)];
    Ok((policy, OPENERS, ASSETS.send(&name, &headers)?).into_response())
}

/// Nobody who opens the page, or whom it opens, has a hold on it.
pub(super) const OPENERS: [(HeaderName, &str); 1] =
    [(HeaderName::from_static("cross-origin-opener-policy"), "same-origin")];

/// What nobody can guess: 16 bytes, as a policy has them.
pub(super) fn nonce() -> Result<String, getrandom::Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random)?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

fn failed(error: impl std::error::Error) -> StatusCode {
    tracing::error!(%error, "the console cannot be served");
    StatusCode::INTERNAL_SERVER_ERROR
}
