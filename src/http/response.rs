//! Responses, their statuses, and the validators (`ETag`) with which clients revalidate cached ones (RFC 9110, section
//! 8.8.3).

use std::convert::Infallible;
use std::time::Duration;

use async_graphql::{Response as GraphqlResponse, Value};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, StreamExt, iter, poll_fn};
use serde_json::json;

use crate::graphql::{ResponseBudget, error_code, outcome};
use base::error::Error;

/// Identifies a request, to its sender and in the log.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// After this long without an event a comment is sent, so that no proxy takes the stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The outcome of a request for metrics and logs. It travels with the response as far as the log.
#[derive(Clone, Debug)]
pub struct OutcomeCode(pub String);

const GRAPHQL_JSON: &str = "application/graphql-response+json";
/// The media type of requests, and the older one of responses.
pub const JSON: &str = "application/json";
/// The media type of event streams.
pub const EVENTS: &str = "text/event-stream";

/// The media type to answer in. `None` if the client accepts none of the three.
pub fn accepted_media(headers: &HeaderMap) -> Option<&'static str> {
    let Some(accept) = headers.get(header::ACCEPT) else { return Some(JSON) };
    let accept = accept.to_str().unwrap_or_default();
    let ranges = accept.split(',').map(|range| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    ranges
        .filter_map(|range| match range.as_str() {
            EVENTS => Some(EVENTS),
            GRAPHQL_JSON => Some(GRAPHQL_JSON),
            JSON | "application/*" | "*/*" => Some(JSON),
            _ => None,
        })
        .max_by_key(|media| (*media == EVENTS, *media == GRAPHQL_JSON))
}

/// For a client that accepts none of these media types.
pub fn not_acceptable() -> Response {
    let error = Error::bad_input("accept", format!("must include {GRAPHQL_JSON}, {JSON} or {EVENTS}"));
    error_response(JSON, StatusCode::NOT_ACCEPTABLE, &error)
}

/// The response of an executed request. An error if it exceeds `budget`, or if `keep` has no room left for the caller.
pub fn graphql_response(
    media: &'static str,
    response: &GraphqlResponse,
    budget: &ResponseBudget,
    keep: impl FnOnce(String) -> Option<Bytes>,
) -> Response {
    if is_refused(response) {
        return refused_response(media, response);
    }
    match budget.to_json(response) {
        Ok(body) => {
            let Some(body) = keep(body) else {
                let why = "too many earlier responses are unread: read them first, or request less at once";
                return error_response(media, StatusCode::SERVICE_UNAVAILABLE, &Error::Unavailable(why.into()));
            };
            let mut answer = json_response(media, StatusCode::OK, body);
            answer.extensions_mut().insert(OutcomeCode(outcome(response)));
            answer
        }
        Err(refusal) => refused_response(media, &refusal),
    }
}

/// A cached response, which has no errors.
pub fn cached_response(media: &'static str, text: String) -> Response {
    let mut answer = json_response(media, StatusCode::OK, text);
    answer.extensions_mut().insert(OutcomeCode("OK".into()));
    answer
}

/// The response of a request that was not executed, or has no result.
pub fn refused_response(media: &'static str, response: &GraphqlResponse) -> Response {
    let code = outcome(response);
    let extension = |name: &str| response.errors.first()?.extensions.as_ref()?.get(name).cloned();
    let status = error_status(&code, media);
    if media == EVENTS && status == StatusCode::OK {
        let mut answer = refused_stream(response);
        answer.extensions_mut().insert(OutcomeCode(code));
        return answer;
    }
    let mut answer = match serde_json::to_string(&json!({ "errors": response.errors })) {
        Ok(body) => json_response(media, status, body),
        Err(error) => error_response(media, StatusCode::INTERNAL_SERVER_ERROR, &Error::internal(error)),
    };
    if let Some(Value::Number(seconds)) = extension("retryAfter")
        && let Ok(seconds) = HeaderValue::from_str(&seconds.to_string())
    {
        answer.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    answer.extensions_mut().insert(OutcomeCode(code));
    add_hint_headers(&mut answer);
    answer
}

/// Refuses with a stream, because an event stream's client cannot read any other body.
fn refused_stream(response: &GraphqlResponse) -> Response {
    let errors = next_event(json!({ "errors": response.errors }).to_string());
    event_stream(iter([errors, complete_event()]))
}

/// A response that streams events.
pub fn event_stream(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let mut events = events.map(Ok::<_, Infallible>).boxed();
    // Log lines of the stream carry the id of the request that began it.
    let span = tracing::Span::current();
    let events = poll_fn(move |context| span.in_scope(|| events.poll_next_unpin(context)));
    let mut answer = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // Tells proxies that buffer responses (nginx) not to.
    answer.headers_mut().insert("x-accel-buffering", header::HeaderValue::from_static("no"));
    answer
}

/// One result.
pub fn next_event(data: String) -> Event {
    Event::default().event("next").data(data)
}

/// The last event.
pub fn complete_event() -> Event {
    Event::default().event("complete").data("")
}

/// Whether a request was not executed. Then there is no data at all.
pub fn is_refused(response: &GraphqlResponse) -> bool {
    response.data == Value::Null && response.errors.iter().any(|error| error.path.is_empty())
}

/// The status of a request that was not executed. Errors that concern proxies and retries have it under both media
/// types. Errors in the query have it under the newer one only; the older one says 200.
fn error_status(code: &str, media: &str) -> StatusCode {
    match code {
        "UNAUTHENTICATED" => StatusCode::UNAUTHORIZED,
        "RATE_LIMITED" => StatusCode::TOO_MANY_REQUESTS,
        "UNAVAILABLE" => StatusCode::SERVICE_UNAVAILABLE,
        "INTERNAL" => StatusCode::INTERNAL_SERVER_ERROR,
        // As Apollo Server does: the client sends the request again, with the query.
        "PERSISTED_QUERY_NOT_FOUND" | "PERSISTED_QUERY_NOT_SUPPORTED" => StatusCode::OK,
        _ if media != GRAPHQL_JSON => StatusCode::OK,
        "FORBIDDEN" => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// Refuses a request before the schema sees it.
pub fn error_response(media: &'static str, status: StatusCode, error: &Error) -> Response {
    if let Error::Internal(_) = error {
        tracing::error!(cause = error.log_message(), "a request failed");
    }
    let mut answer = json_response(media, status, json!({ "errors": [error_json(error)] }).to_string());
    answer.extensions_mut().insert(OutcomeCode(error_code(error).into()));
    add_hint_headers(&mut answer);
    answer
}

/// An error as clients see it.
pub fn error_json(error: &Error) -> serde_json::Value {
    let mut extensions = json!({ "code": error_code(error) });
    if let Error::BadInput { field, .. } = error
        && !field.is_empty()
    {
        extensions["field"] = json!(field);
    }
    json!({ "message": error.to_string(), "extensions": extensions })
}

/// Says how to authenticate (RFC 9110, section 15.5.2), and when to retry if the server is busy.
fn add_hint_headers(answer: &mut Response) {
    let (name, value) = match answer.status() {
        StatusCode::UNAUTHORIZED => (header::WWW_AUTHENTICATE, "Bearer"),
        StatusCode::SERVICE_UNAVAILABLE => (header::RETRY_AFTER, "1"),
        _ => return,
    };
    answer.headers_mut().insert(name, HeaderValue::from_static(value));
}

fn json_response(media: &'static str, status: StatusCode, body: impl Into<Bytes>) -> Response {
    let kind = if media == GRAPHQL_JSON {
        "application/graphql-response+json; charset=utf-8"
    } else {
        "application/json; charset=utf-8"
    };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (status, headers, body.into()).into_response()
}

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
