//! Cache validators (`ETag`), with which clients revalidate cached responses (RFC 9110, section 8.8.3).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::response::OutcomeCode;

/// The header's value. Weak, because a proxy may compress the response.
fn header_value(tag: i64) -> String {
    format!("W/\"{tag:016x}\"")
}

/// Whether the tag is in an `If-None-Match`.
pub fn is_listed(tag: i64, known: &str) -> bool {
    let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let tag = strong(&header_value(tag));
    known.trim() == "*" || known.split(',').any(|one| strong(one) == tag)
}

/// A response that the client may cache, but must revalidate each time.
pub fn with_etag(mut answer: Response, tag: i64) -> Response {
    let headers = answer.headers_mut();
    if let Ok(tag) = HeaderValue::try_from(header_value(tag)) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.append(header::VARY, HeaderValue::from_static("authorization, cookie, accept"));
    answer
}

/// 304: the client holds the response.
pub fn not_modified(tag: i64) -> Response {
    let mut answer = with_etag(StatusCode::NOT_MODIFIED.into_response(), tag);
    answer.extensions_mut().insert(OutcomeCode("OK".into()));
    answer
}
