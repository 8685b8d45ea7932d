//! What goes out, and under which status.

use std::convert::Infallible;
use std::time::Duration;

use async_graphql::{Response as GraphqlResponse, Value};
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, StreamExt, iter, poll_fn};
use serde_json::json;

use crate::error::Error;
use crate::graphql::{Budget, error_code, outcome};

/// Names a request, to whoever sent it and in the log.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A comment is sent when nothing else was for this long, so that nobody in between takes the stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What came of a request, as metrics and logs call it: goes with the answer as far as the log.
#[derive(Clone, Debug)]
pub struct Code(pub String);

const GRAPHQL_JSON: &str = "application/graphql-response+json";
/// The media type of requests, and the older one of answers.
pub const JSON: &str = "application/json";
/// A stream of answers.
pub const EVENTS: &str = "text/event-stream";

/// The media type to answer in; nothing where the client takes none of the three.
pub fn media(headers: &HeaderMap) -> Option<&'static str> {
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

/// To a client that takes no media type of ours.
pub fn not_acceptable() -> Response {
    let error = Error::bad_input("accept", format!("must take {GRAPHQL_JSON}, {JSON} or {EVENTS}"));
    refusal(JSON, StatusCode::NOT_ACCEPTABLE, &error)
}

/// What came of a request that was executed, as far as there is room for it, and its caller takes what they have asked for.
pub fn answer(
    media: &'static str,
    response: &GraphqlResponse,
    budget: &Budget,
    keep: impl FnOnce(String) -> Option<Bytes>,
) -> Response {
    if is_refused(response) {
        return refused(media, response);
    }
    match budget.json(response) {
        Ok(body) => {
            let Some(body) = keep(body) else {
                let why = "answers that were asked for before are not taken: read them first, or ask for less at once";
                return refusal(media, StatusCode::SERVICE_UNAVAILABLE, &Error::Unavailable(why.into()));
            };
            let mut answer = respond(media, StatusCode::OK, body);
            answer.extensions_mut().insert(Code(outcome(response)));
            answer
        }
        Err(refusal) => refused(media, &refusal),
    }
}

/// What is known to come of a request, without an error.
pub fn known(media: &'static str, text: String) -> Response {
    let mut answer = respond(media, StatusCode::OK, text);
    answer.extensions_mut().insert(Code("OK".into()));
    answer
}

/// Why a request was not executed, or has no answer.
pub fn refused(media: &'static str, response: &GraphqlResponse) -> Response {
    let code = outcome(response);
    let extension = |name: &str| response.errors.first()?.extensions.as_ref()?.get(name).cloned();
    let status = status(&code, media);
    if media == EVENTS && status == StatusCode::OK {
        let mut answer = refused_stream(response);
        answer.extensions_mut().insert(Code(code));
        return answer;
    }
    let mut answer = match serde_json::to_string(&json!({ "errors": response.errors })) {
        Ok(body) => respond(media, status, body),
        Err(error) => refusal(media, StatusCode::INTERNAL_SERVER_ERROR, &Error::internal(error)),
    };
    if let Some(Value::Number(seconds)) = extension("retryAfter")
        && let Ok(seconds) = HeaderValue::from_str(&seconds.to_string())
    {
        answer.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    answer.extensions_mut().insert(Code(code));
    help(&mut answer);
    answer
}

/// Answers what was never executed with a stream too, for a client cannot read the body of anything else.
fn refused_stream(response: &GraphqlResponse) -> Response {
    let errors = next(json!({ "errors": response.errors }).to_string());
    streamed(iter([errors, complete()]))
}

/// Events as they come.
pub fn streamed(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let mut events = events.map(Ok::<_, Infallible>).boxed();
    // What is logged of the stream goes by the id of the request that began it.
    let span = tracing::Span::current();
    let events = poll_fn(move |context| span.in_scope(|| events.poll_next_unpin(context)));
    let mut answer = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // Proxies that gather an answer before they pass it on (nginx) are told not to.
    answer.headers_mut().insert("x-accel-buffering", header::HeaderValue::from_static("no"));
    answer
}

/// An answer.
pub fn next(data: String) -> Event {
    Event::default().event("next").data(data)
}

/// There is none after it.
pub fn complete() -> Event {
    Event::default().event("complete").data("")
}

/// Whether a request was never executed: then there is no data at all.
pub fn is_refused(response: &GraphqlResponse) -> bool {
    response.data == Value::Null && response.errors.iter().any(|error| error.path.is_empty())
}

/// The status of a request that was not executed. What concerns proxies and retries has it under both media types;
/// what is wrong with the query only under the newer one, where the older says 200.
fn status(code: &str, media: &str) -> StatusCode {
    match code {
        "UNAUTHENTICATED" => StatusCode::UNAUTHORIZED,
        "RATE_LIMITED" => StatusCode::TOO_MANY_REQUESTS,
        "UNAVAILABLE" => StatusCode::SERVICE_UNAVAILABLE,
        "INTERNAL" => StatusCode::INTERNAL_SERVER_ERROR,
        // As Apollo's server has it: the client sends the same again, with the query.
        "PERSISTED_QUERY_NOT_FOUND" | "PERSISTED_QUERY_NOT_SUPPORTED" => StatusCode::OK,
        _ if media != GRAPHQL_JSON => StatusCode::OK,
        "FORBIDDEN" => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// To a request that the schema has not seen.
pub fn refusal(media: &'static str, status: StatusCode, error: &Error) -> Response {
    if let Error::Internal(_) = error {
        tracing::error!(cause = error.told(), "a request failed");
    }
    let mut answer = respond(media, status, json!({ "errors": [described(error)] }).to_string());
    answer.extensions_mut().insert(Code(error_code(error).into()));
    help(&mut answer);
    answer
}

/// An error as clients see it.
pub fn described(error: &Error) -> serde_json::Value {
    let mut extensions = json!({ "code": error_code(error) });
    if let Error::BadInput { field, .. } = error
        && !field.is_empty()
    {
        extensions["field"] = json!(field);
    }
    json!({ "message": error.to_string(), "extensions": extensions })
}

/// Says how to authenticate to whoever has not (RFC 9110, section 15.5.2), and when to come back where we are too busy.
fn help(answer: &mut Response) {
    let (name, value) = match answer.status() {
        StatusCode::UNAUTHORIZED => (header::WWW_AUTHENTICATE, "Bearer"),
        StatusCode::SERVICE_UNAVAILABLE => (header::RETRY_AFTER, "1"),
        _ => return,
    };
    answer.headers_mut().insert(name, HeaderValue::from_static(value));
}

fn respond(media: &'static str, status: StatusCode, body: impl Into<Bytes>) -> Response {
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
