//! CORS: the API is closed to pages of other sites, except those of `TIDINGS_ORIGINS`.

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, Method, header};
use parking_lot::Mutex;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::response::REQUEST_ID;
use base::config::{ServerConfig, WireConfig};

/// How long a browser may cache a preflight. Chrome's maximum.
const MAX_AGE: Duration = Duration::from_hours(2);

/// The least time between two log lines about refused pages.
const LINES: Duration = Duration::from_mins(1);

/// Lets pages of the listed origins use the API. `None` if none is listed, so that preflights fail.
pub fn layer(config: &ServerConfig) -> Option<CorsLayer> {
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
