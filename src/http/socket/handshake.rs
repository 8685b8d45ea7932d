//! The upgrade of a request to a WebSocket (RFC 6455, section 4.2).

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// The supported sub-protocol.
const PROTOCOL: &str = "graphql-transport-ws";

const VERSION: HeaderValue = HeaderValue::from_static("13");

/// The upgraded connection and the response that starts it, or the response that refuses it.
pub fn accept_upgrade(request: &mut Request) -> Result<(OnUpgrade, Response), Box<Response>> {
    let refused = |status: StatusCode, message: &str| Err(Box::new((status, format!("{message}\n")).into_response()));
    let headers = request.headers();
    if request.method() != Method::GET {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "WebSockets are opened with GET");
    }
    if !list_items(headers, header::CONNECTION).any(|name| name.eq_ignore_ascii_case(b"upgrade")) {
        return refused(StatusCode::BAD_REQUEST, "the header Connection must name Upgrade");
    }
    if !list_items(headers, header::UPGRADE).any(|name| name.eq_ignore_ascii_case(b"websocket")) {
        return refused(StatusCode::BAD_REQUEST, "the header Upgrade must name websocket");
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
        let version = [(header::SEC_WEBSOCKET_VERSION, VERSION)];
        let message = "the header Sec-WebSocket-Version must be 13\n";
        return Err(Box::new((StatusCode::UPGRADE_REQUIRED, version, message).into_response()));
    }
    let Some(key) = headers.get(header::SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes())) else {
        return refused(StatusCode::BAD_REQUEST, "there must be a header Sec-WebSocket-Key");
    };
    if !list_items(headers, header::SEC_WEBSOCKET_PROTOCOL).any(|name| name == PROTOCOL.as_bytes()) {
        return refused(StatusCode::BAD_REQUEST, &format!("the sub-protocol must be {PROTOCOL}"));
    }
    let Some(upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        return refused(StatusCode::UPGRADE_REQUIRED, "this connection cannot be upgraded to a WebSocket");
    };
    let headers = [
        (header::CONNECTION, "upgrade"),
        (header::UPGRADE, "websocket"),
        (header::SEC_WEBSOCKET_ACCEPT, &key),
        (header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL),
    ];
    Ok((upgrade, (StatusCode::SWITCHING_PROTOCOLS, headers, Body::empty()).into_response()))
}

/// The items of a list header, over all its lines (RFC 9110, section 5.6.1).
fn list_items(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &[u8]> {
    let lines = headers.get_all(name).into_iter();
    lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: [(&str, &str); 5] = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        // The example of RFC 6455, section 1.3.
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-protocol", PROTOCOL),
    ];

    /// The response to a request with these headers instead of those of the same name.
    fn answered(method: Method, others: &[(&'static str, &str)]) -> Response {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        for (name, value) in HEADERS {
            request.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        for (name, _) in others {
            request.headers_mut().remove(*name);
        }
        for (name, value) in others.iter().filter(|(_, value)| !value.is_empty()) {
            request.headers_mut().append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let upgrade = hyper::upgrade::on(&mut request);
        request.extensions_mut().insert(upgrade);
        accept_upgrade(&mut request).map_or_else(|refusal| *refusal, |(_, answer)| answer)
    }

    #[test]
    fn lists_are_read_as_they_may_be_written() {
        for others in [
            &[][..],
            &[("connection", "keep-alive, UPGRADE")],
            &[("connection", "keep-alive,\tupgrade\t, x")],
            &[("connection", "keep-alive"), ("connection", "Upgrade")],
            &[("upgrade", "h2c, WebSocket")],
            &[("sec-websocket-protocol", "graphql-ws, graphql-transport-ws")],
            &[("sec-websocket-protocol", "graphql-ws"), ("sec-websocket-protocol", "graphql-transport-ws")],
            &[("sec-websocket-protocol", "é, graphql-transport-ws")],
        ] {
            let answer = answered(Method::GET, others);
            assert_eq!(answer.status(), StatusCode::SWITCHING_PROTOCOLS, "{others:?}");
            assert_eq!(answer.headers()[header::SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
            assert_eq!(answer.headers()[header::SEC_WEBSOCKET_PROTOCOL], PROTOCOL);
        }
    }

    #[test]
    fn what_is_no_request_for_a_socket_is_told_why() {
        for (name, value, status) in [
            ("connection", "", 400),
            ("connection", "keep-alive, upgraded", 400),
            ("upgrade", "", 400),
            ("upgrade", "h2c", 400),
            ("sec-websocket-version", "", 426),
            ("sec-websocket-version", "8", 426),
            ("sec-websocket-key", "", 400),
            ("sec-websocket-protocol", "", 400),
            ("sec-websocket-protocol", "Graphql-Transport-Ws", 400),
        ] {
            let answer = answered(Method::GET, &[(name, value)]);
            assert_eq!(answer.status(), status, "{name}: {value}");
            let version = answer.headers().get(header::SEC_WEBSOCKET_VERSION);
            assert_eq!(version, Some(&VERSION).filter(|_| status == 426), "{name}: {value}");
        }
        assert_eq!(answered(Method::HEAD, &[]).status(), StatusCode::METHOD_NOT_ALLOWED);
    }
}
