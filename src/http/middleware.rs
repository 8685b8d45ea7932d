//! The middleware stack, in order: see [`wrap`].
//!
//! The log line, span and count of a request never show the caller, the token or the content: of a URL only the route, of a query only its kind and its
//! top-level field in our schema. By CORS, the API is closed to pages of other sites, except those of `TIDINGS_ORIGINS`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use parking_lot::Mutex;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::credentials::client_address;
use super::response::{OutcomeCode, REQUEST_ID};
use super::serve::ConnectionState;
use super::server::Server;
use crate::graphql::OperationName;
use base::config::{ServerConfig, WireConfig};
use base::telemetry;
use base::telemetry::metrics::HttpLabels;
use model::network::CallerNetwork;

/// The most characters of an id given by a proxy.
const ID: usize = 64;

/// Wraps all routes. A request passes, in this order: its id, log line, span and count ([`observe_request`]), then its
/// route. On `/graphql`, [`cors_layer`] answers CORS preflights before the handler, which checks the token.
pub fn wrap(server: &Server, routes: Router<Server>) -> Router {
    routes.layer(from_fn_with_state(server.clone(), observe_request)).with_state(server.clone())
}

async fn observe_request(State(server): State<Server>, mut request: Request, next: Next) -> Response {
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
    log_refused_origin(&server.app.config, request.headers());
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

/// How long a browser may cache a preflight. Chrome's maximum.
const MAX_AGE: Duration = Duration::from_hours(2);

/// The least time between two log lines about refused pages.
const LINES: Duration = Duration::from_mins(1);

/// Lets pages of the listed origins use the API. `None` if none is listed, so that preflights fail.
pub fn cors_layer(config: &ServerConfig) -> Option<CorsLayer> {
    let WireConfig { origins, local_origins, .. } = &config.wire;
    if origins.is_empty() && !local_origins {
        return None;
    }
    let wire = config.wire.clone();
    let origin = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::predicate(move |origin, _| origin.to_str().is_ok_and(|origin| is_listed(&wire, origin)))
    };
    let layer = CorsLayer::new()
        .allow_origin(origin)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([header::ETAG, header::RETRY_AFTER, REQUEST_ID])
        .max_age(MAX_AGE);
    Some(layer)
}

/// Whether a page of the request's `Origin` may open a WebSocket here. Browsers send no preflight for WebSockets.
///
/// It may if its origin has the request's `Host` (with any scheme, because a proxy may end TLS), if its origin is
/// listed, or if there is no `Origin`, because then the client is no browser.
pub fn is_origin_allowed(config: &ServerConfig, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let of_host = origin.split_once("://").map(|(_, host)| host);
    let is_own = host.zip(of_host).is_some_and(|(host, origin)| host.eq_ignore_ascii_case(origin));
    is_own || is_listed(&config.wire, origin)
}

/// Whether pages of an origin may use the API.
fn is_listed(config: &WireConfig, origin: &str) -> bool {
    config.origins.iter().any(|listed| listed == "*" || listed.eq_ignore_ascii_case(origin))
        || config.local_origins && is_local(origin)
}

/// Whether an origin is on this machine, on any port.
fn is_local(origin: &str) -> bool {
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, port)| if port.contains(']') { host } else { name });
    matches!(name, "localhost" | "127.0.0.1" | "[::1]") || name.ends_with(".localhost")
}

/// Logs, at most once a minute, that a page was refused. Its developer sees only that nothing works.
pub fn log_refused_origin(config: &ServerConfig, headers: &HeaderMap) {
    static NOTED_AT: Mutex<Option<Instant>> = Mutex::new(None);
    if is_origin_allowed(config, headers) {
        return;
    }
    let mut noted_at = NOTED_AT.lock();
    if noted_at.is_none_or(|at| at.elapsed() > LINES) {
        *noted_at = Some(Instant::now());
        let origin = headers.get(header::ORIGIN);
        tracing::warn!(
            ?origin,
            "a page of this origin may not use the API: list the origin in TIDINGS_ORIGINS to allow it"
        );
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use clap::Parser;

    use super::is_origin_allowed;
    use base::config::ServerConfig;

    #[test]
    fn in_the_demo_pages_of_this_machine_may_use_it_too() {
        for (origin, is_local) in [
            ("http://localhost:3000", true),
            ("http://127.0.0.1", true),
            ("https://[::1]:5173", true),
            ("http://[::1]", true),
            ("http://app.localhost:80", true),
            ("http://localhost.evil.example", false),
            ("http://evil.example:80", false),
            ("http://127.0.0.1.evil.example", false),
            ("file://localhost", false),
            ("null", false),
        ] {
            assert_eq!(super::is_local(origin), is_local, "{origin}");
        }
    }

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        config: ServerConfig,
    }

    #[test]
    fn a_socket_is_opened_by_our_own_pages_by_listed_ones_and_by_programs() {
        let arguments = Arguments::parse_from(["tidings", "--origins", "https://app.example,http://localhost:3000"]);
        for (origin, is_allowed) in [
            (None, true),
            (Some("https://tidings.example"), true),
            (Some("http://TIDINGS.example"), true),
            (Some("https://app.example"), true),
            (Some("http://localhost:3000"), true),
            (Some("http://localhost:3001"), false),
            (Some("http://app.example"), false),
            (Some("https://tidings.example.evil.example"), false),
            (Some("null"), false),
            (Some(""), false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("host", "tidings.example".parse().unwrap());
            if let Some(origin) = origin {
                headers.insert("origin", origin.parse().unwrap());
            }
            assert_eq!(is_origin_allowed(&arguments.config, &headers), is_allowed, "{origin:?}");
        }
    }
}
