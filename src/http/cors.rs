//! Pages of other sites: closed to all but those of `TIDINGS_ORIGINS`.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, Method, header};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::config::Config;
use crate::http::observe::REQUEST_ID;

/// How long a browser may remember what it was allowed; Chrome takes no more.
const MAX_AGE: Duration = Duration::from_hours(2);

/// Lets pages of the listed origins use the API; nothing where none is listed, so that a preflight fails.
pub fn layer(config: &Config) -> Option<CorsLayer> {
    let origins = &config.wire.origins;
    if origins.is_empty() {
        return None;
    }
    let origin = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()))
    };
    let layer = CorsLayer::new()
        .allow_origin(origin)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([header::RETRY_AFTER, REQUEST_ID])
        .max_age(MAX_AGE);
    Some(layer)
}

/// Whether a page of the request's `Origin` may open a socket here, which no preflight asks before.
///
/// It may when it comes from the `Host` that was asked (whatever the scheme, for a proxy may end TLS), when it is listed,
/// and when there is no `Origin`, because then it is no browser.
pub fn origin_allowed(config: &Config, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let is_listed = config.wire.origins.iter().any(|listed| listed == "*" || listed.eq_ignore_ascii_case(origin));
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let of_host = origin.split_once("://").map(|(_, host)| host);
    is_listed || host.zip(of_host).is_some_and(|(host, origin)| host.eq_ignore_ascii_case(origin))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use clap::Parser;

    use super::origin_allowed;
    use crate::config::Config;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        config: Config,
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
            assert_eq!(origin_allowed(&arguments.config, &headers), is_allowed, "{origin:?}");
        }
    }
}
