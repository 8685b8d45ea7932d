//! Wraps every HTTP request: its id, log line, span and count.
//!
//! None of them shows the caller, the token or the content: of a URL only the route, of a query only its kind and its
//! top-level field in our schema.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::cors;
use super::credentials::client_address;
use super::response::{OutcomeCode, REQUEST_ID};
use super::serve::ConnectionState;
use super::server::Server;
use crate::graphql::OperationName;
use base::telemetry;
use base::telemetry::metrics::HttpLabels;
use model::network::CallerNetwork;

/// The most characters of an id given by a proxy.
const ID: usize = 64;

/// Wraps every route.
pub async fn observe_request(State(server): State<Server>, mut request: Request, next: Next) -> Response {
    let began_at = Instant::now();
    let network = client_network(&server, &request);
    // Handlers count callers without a token by network.
    request.extensions_mut().insert(network);
    let id = given_request_id(request.headers()).unwrap_or_else(new_request_id);
    // Handlers find the id there in any case.
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let method = method_name(request.method());
    let path = request.extensions().get::<MatchedPath>().cloned();
    let path = path.as_ref().map_or("other", MatchedPath::as_str);
    let span = request_span(request.headers());
    // The outer span exists only in the log. For a trace collector this span is the whole request.
    let trace = span.in_scope(|| {
        tracing::debug_span!(
            target: "tidings::trace", "http", otel.name = format_args!("{method} {path}"), otel.kind = "server",
            http.request.method = method, http.route = path, http.response.status_code = Empty, request.id = header_text(&id),
            graphql.operation.type = Empty, graphql.operation = Empty, code = Empty
        )
    });
    telemetry::continue_trace(&trace, request.headers());
    cors::log_refused_origin(&server.app.config, request.headers());
    let answer = next.run(request).instrument(trace.clone()).instrument(span.clone()).await;
    let mut answer = server.unread.count_for_network(network, answer).await;

    let status = answer.status().as_u16();
    let operation = answer.extensions().get::<OperationName>();
    let (kind, name) = operation.map_or(("none", "none"), |operation| (operation.kind_name(), operation.name.as_str()));
    let code = answer.extensions().get::<OutcomeCode>().map_or("none", |OutcomeCode(code)| code);
    trace.record("http.response.status_code", status).record("graphql.operation.type", kind);
    trace.record("graphql.operation", name).record("code", code);
    let micros = u64::try_from(began_at.elapsed().as_micros()).unwrap_or(u64::MAX);
    span.in_scope(|| {
        // Overload is counted instead: a log line for each refused request would add to it.
        if code == "INTERNAL" || (status >= 500 && code != "UNAVAILABLE") {
            tracing::warn!(target: "tidings::request", method, path, status, micros, kind, operation = name, code, "failed");
        } else {
            tracing::debug!(target: "tidings::request", method, path, status, micros, kind, operation = name, code, "answered");
        }
    });
    server.app.metrics.http_answers.get_or_create(&HttpLabels { status }).inc();
    answer.headers_mut().insert(REQUEST_ID, id);
    answer
}

/// The network that a request comes from.
fn client_network(server: &Server, request: &Request) -> CallerNetwork {
    let connection = request.extensions().get::<Arc<ConnectionState>>().map(|state| &**state);
    client_address(server, connection, request.headers()).map_or(CallerNetwork::unknown(), CallerNetwork::from_address)
}

/// The span of all log lines of a request. A session uses the span of the request that began it.
pub fn request_span(headers: &HeaderMap) -> Span {
    tracing::error_span!("request", id = headers.get(REQUEST_ID).map(header_text))
}

/// The id from a proxy: up to 64 visible ASCII characters.
fn given_request_id(headers: &HeaderMap) -> Option<HeaderValue> {
    let id = headers.get(REQUEST_ID)?;
    let is_sane = (1..=ID).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic);
    is_sane.then(|| id.clone())
}

/// 16 random bytes in hexadecimal.
fn new_request_id() -> HeaderValue {
    let mut random = [0_u8; 16];
    // Without randomness there are no keys either, so the server will soon fail anyway.
    let _ = getrandom::fill(&mut random);
    let mut id = String::with_capacity(32);
    for byte in random {
        let _ = write!(id, "{byte:02x}");
    }
    HeaderValue::from_str(&id).unwrap_or_else(|_| HeaderValue::from_static("none"))
}

fn header_text(id: &HeaderValue) -> &str {
    id.to_str().unwrap_or_default()
}

/// A method's name, if known.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
