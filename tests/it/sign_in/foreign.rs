//! Requests that pages of other sites can make a browser send, with its cookies: none of them has an effect.

use axum::http::{Method, StatusCode};
use base::config::ServerConfig;
use serde_json::{Value, json};

use super::{Browser, DESK, PUBLIC, Provider, SESSION, TYPES, WHO, settings, with_provider};
use crate::support::{Kind, Socket, TestApp, with_settings};

/// Headers with which the server accepts the cookie.
const OWN: [&[(&str, &str)]; 4] = [
    &DESK,
    &[("x-tidings-desk", "1"), ("sec-fetch-site", "same-origin")],
    &[("x-tidings-desk", "1"), ("origin", PUBLIC), ("sec-fetch-site", "same-origin")],
    &[("x-tidings-desk", "1"), ("origin", PUBLIC), ("content-type", "application/json; charset=utf-8")],
];

/// Headers with which it does not.
const FOREIGN: [&[(&str, &str)]; 17] = [
    &[],
    &[("x-tidings-desk", "1")],
    &[("origin", PUBLIC)],
    &[("origin", PUBLIC), ("sec-fetch-site", "same-origin")],
    &[("x-tidings-desk", "0"), ("origin", PUBLIC)],
    &[("x-tidings-desk", ""), ("origin", PUBLIC)],
    &[("x-tidings-desk", "1"), ("origin", "null")],
    &[("x-tidings-desk", "1"), ("origin", "")],
    &[("x-tidings-desk", "1"), ("origin", "https://evil.example")],
    &[("x-tidings-desk", "1"), ("origin", "http://inbox.example.com")],
    &[("x-tidings-desk", "1"), ("origin", "https://inbox.example.com:8443")],
    &[("x-tidings-desk", "1"), ("origin", "https://inbox.example.com.evil.example")],
    &[("x-tidings-desk", "1"), ("origin", "https://evil.inbox.example.com")],
    &[("x-tidings-desk", "1"), ("origin", PUBLIC), ("sec-fetch-site", "cross-site")],
    &[("x-tidings-desk", "1"), ("origin", PUBLIC), ("sec-fetch-site", "same-site")],
    &[("x-tidings-desk", "1"), ("sec-fetch-site", "none")],
    &[("x-tidings-desk", "1"), ("origin", PUBLIC), ("origin", "https://evil.example")],
];

#[tokio::test]
async fn the_cookie_counts_for_requests_of_our_own_pages() {
    with_provider(async |app, provider| {
        let mut browser = Browser::signed_in(app, provider).await;
        for headers in OWN {
            let answer = browser.ask(TYPES, headers).await;
            assert_eq!(answer.status, StatusCode::OK, "{headers:?}: {}", answer.body);
            assert!(!answer.headers.contains_key("access-control-allow-origin"));
        }
        for headers in FOREIGN {
            let (statements, answer) = app.statements_of(browser.ask(TYPES, headers)).await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"),
                "{headers:?}"
            );
            assert_eq!(statements, 0, "{headers:?}");
            assert!(answer.body.contains("x-tidings-desk"), "{headers:?}: {}", answer.body);
        }
    })
    .await;
}

#[tokio::test]
async fn only_our_own_pages_sign_somebody_out() {
    with_provider(async |app, provider| {
        for headers in FOREIGN {
            let mut browser = Browser::signed_in(app, provider).await;
            let answer = browser.send(Method::POST, "/desk/session/end", headers, None).await;
            assert_eq!((answer.status, answer.code().as_str()), (StatusCode::FORBIDDEN, "FORBIDDEN"), "{headers:?}");
            assert_ne!(browser.session().await, Value::Null);
        }
        let mut browser = Browser::signed_in(app, provider).await;
        assert_eq!(browser.get("/desk/session/end").await.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_ne!(browser.session().await, Value::Null);
        for headers in OWN {
            let mut browser = browser.clone();
            assert_eq!(browser.send(Method::POST, "/desk/session/end", headers, None).await.status, StatusCode::OK);
            assert_eq!(browser.session().await, Value::Null);
        }
    })
    .await;
}

#[tokio::test]
async fn forms_and_addresses_change_nothing() {
    with_provider(async |app, provider| {
        let mut browser = Browser::signed_in(app, provider).await;
        for kind in ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""] {
            for own in [&DESK[..], &[]] {
                let headers = [own, &[("content-type", kind)]].concat();
                let (statements, answer) = app.statements_of(browser.ask(TYPES, &headers)).await;
                assert_eq!((answer.status, statements), (StatusCode::UNSUPPORTED_MEDIA_TYPE, 0), "{kind}");
            }
        }
        let path = |query: &str| {
            let mut url = reqwest::Url::parse("http://any/graphql").unwrap();
            url.query_pairs_mut().append_pair("query", query);
            format!("/graphql?{}", url.query().unwrap())
        };
        let simple = browser.get(&path(TYPES)).await;
        assert_eq!(simple.status, StatusCode::UNAUTHORIZED, "a link has no header");
        let own = browser.send(Method::GET, &path(TYPES), &DESK, None).await;
        assert_eq!(own.status, StatusCode::METHOD_NOT_ALLOWED, "not even our own");
        assert_eq!(browser.get(&path("{ messageTypes { code } }")).await.status, StatusCode::UNAUTHORIZED);
        let read = browser.send(Method::GET, &path("{ messageTypes { code } }"), &DESK, None).await;
        assert_eq!(read.json()["data"]["messageTypes"], json!([]), "nothing was made");
    })
    .await;
}

/// A token takes precedence over the cookie, and the cookie does not replace a wrong token.
#[tokio::test]
async fn a_token_counts_before_the_cookie() {
    with_provider(async |app, provider| {
        let mut browser = Browser::signed_in(app, provider).await;
        let user = format!("Bearer {}", app.user("ada").token);
        assert_eq!(browser.ask(WHO, &DESK).await.code(), "FORBIDDEN", "operators have no inbox");
        let answer = browser.ask(WHO, &[&DESK[..], &[("authorization", &user)]].concat()).await;
        assert!(answer.json()["data"]["viewer"]["id"].is_string(), "{}", answer.body);
        for wrong in ["Bearer wrong", "Bearer ", "Basic YTpi", ""] {
            let answer = browser.ask(TYPES, &[&DESK[..], &[("authorization", wrong)]].concat()).await;
            assert_eq!(answer.code(), "UNAUTHENTICATED", "{wrong:?}");
        }
        // A request with a token needs no header of the desk.
        assert_eq!(browser.ask(WHO, &[("authorization", &user)]).await.status, StatusCode::OK);
    })
    .await;
}

/// Not even pages in `TIDINGS_ORIGINS` may use the cookie: they use the API with tokens.
#[tokio::test]
async fn listed_origins_do_not_come_in_by_the_cookie() {
    let provider = Provider::start(super::NOW).await;
    for origins in ["https://app.example", "*"] {
        let change = |config: &mut ServerConfig| {
            settings(config, &provider);
            config.wire.origins = vec![origins.to_owned()];
        };
        with_settings(Kind::Sqlite, change, async |app| {
            let mut browser = Browser::signed_in(app, &provider).await;
            let headers = [("x-tidings-desk", "1"), ("origin", "https://app.example")];
            let answer = browser.ask(TYPES, &headers).await;
            assert_eq!(answer.code(), "UNAUTHENTICATED");
            assert!(!answer.headers.contains_key("access-control-allow-credentials"));
            let preflight = [
                ("origin", "https://app.example"),
                ("access-control-request-method", "POST"),
                ("access-control-request-headers", "content-type,x-tidings-desk"),
            ];
            for path in ["/graphql", "/desk/session", "/desk/session/end"] {
                let answer = browser.send(Method::OPTIONS, path, &preflight, None).await;
                assert!(!answer.headers.contains_key("access-control-allow-credentials"), "{path}");
                let is_shared = answer.headers.contains_key("access-control-allow-origin");
                assert_eq!(is_shared, path == "/graphql", "{path}");
            }
        })
        .await;
    }
}

#[tokio::test]
async fn where_the_schema_is_public_a_cookie_that_does_not_count_is_as_none() {
    let provider = Provider::start(super::NOW).await;
    let change = |config: &mut ServerConfig| {
        settings(config, &provider);
        config.wire.public_schema = true;
    };
    with_settings(Kind::Sqlite, change, async |app| {
        let mut browser = Browser::signed_in(app, &provider).await;
        assert_eq!(browser.ask("{ __typename }", &[]).await.status, StatusCode::OK);
        assert_eq!(browser.ask("{ messageTypes { code } }", &[]).await.code(), "UNAUTHENTICATED");
        assert_eq!(browser.ask("{ messageTypes { code } }", &DESK).await.status, StatusCode::OK);
    })
    .await;
}

/// An event stream is a request like others.
#[tokio::test]
async fn event_streams_come_by_the_cookie_from_our_own_pages() {
    with_provider(async |app, provider| {
        let mut browser = Browser::signed_in(app, provider).await;
        let events = [("accept", "text/event-stream")];
        let answer = browser.ask("{ messageTypes { code } }", &[&DESK[..], &events].concat()).await;
        assert!(answer.body.contains("event: next") && answer.body.contains("\"messageTypes\":[]"), "{}", answer.body);
        let foreign = [("x-tidings-desk", "1"), ("origin", "https://evil.example")];
        let answer = browser.ask("{ messageTypes { code } }", &[&foreign[..], &events].concat()).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{}", answer.body);
    })
    .await;
}

/// Opens a socket with these headers and this payload. Returns the role that the server assumes (operators have no
/// inbox), or the code with which it closes the socket.
async fn heard(app: &TestApp, headers: &[(&'static str, &str)], payload: Value) -> Result<Value, String> {
    let listening = app.listen().await;
    let all = [&[("sec-websocket-protocol", "graphql-transport-ws")], headers].concat();
    let heard = match Socket::upgraded(&listening.address, &all).await {
        Err(error) => Err(error),
        Ok(mut socket) => {
            socket.say(json!({ "type": "connection_init", "payload": payload })).await;
            let first = socket.hear().await;
            if first["type"] == "connection_ack" {
                socket.subscribe("1", WHO, json!({})).await;
                let is_operator = socket.hear().await["payload"].to_string().contains("FORBIDDEN");
                Ok(json!(if is_operator { "ADMIN" } else { "USER" }))
            } else {
                Ok(first["close"].clone())
            }
        }
    };
    listening.stop().await;
    heard
}

#[tokio::test]
async fn sockets_come_by_the_cookie_from_our_own_pages() {
    let provider = Provider::start(super::NOW).await;
    let change = |config: &mut ServerConfig| {
        settings(config, &provider);
        config.wire.origins = vec![PUBLIC.into(), "https://app.example".into()];
    };
    with_settings(Kind::Sqlite, change, async |app| {
        let cookie = format!("{SESSION}={}", Browser::signed_in(app, &provider).await.cookies[SESSION]);
        let cookie = ("cookie", cookie.as_str());
        let own = ("origin", PUBLIC);
        let user = app.user("ada").token;
        let bearer = format!("Bearer {user}");
        let refused = Ok(json!(4403));
        assert_eq!(heard(app, &[cookie, own], json!({})).await, Ok(json!("ADMIN")));
        for foreign in [&[cookie][..], &[cookie, ("origin", "https://app.example")], &[own]] {
            assert_eq!(heard(app, foreign, json!({})).await, refused, "{foreign:?}");
        }
        for origin in ["https://evil.example", "null"] {
            let told = heard(app, &[cookie, ("origin", origin)], json!({})).await.unwrap_err();
            assert!(told.contains("403"), "{origin}: {told}");
        }

        // A token takes precedence over the cookie, even if it is wrong.
        assert_eq!(heard(app, &[cookie, own], json!({ "token": user })).await, Ok(json!("USER")));
        assert_eq!(heard(app, &[cookie, own, ("authorization", &bearer)], json!({})).await, Ok(json!("USER")));
        assert_eq!(heard(app, &[cookie, own], json!({ "token": "wrong" })).await, refused);
        assert_eq!(heard(app, &[cookie, own, ("authorization", "Bearer wrong")], json!({})).await, refused);
        assert_eq!(heard(app, &[cookie, own, ("authorization", "Basic a")], json!({})).await, refused);
    })
    .await;
}

/// A socket that was opened with a session ends soon after it.
#[tokio::test]
async fn a_socket_ends_soon_after_its_user_has_signed_out() {
    let provider = Provider::start(super::NOW).await;
    let change = |config: &mut ServerConfig| {
        settings(config, &provider);
        config.wire.origins = vec![PUBLIC.into()];
    };
    with_settings(Kind::Sqlite, change, async |app| {
        let mut browser = Browser::signed_in(app, &provider).await;
        let listening = app.listen().await;
        let cookie = format!("{SESSION}={}", browser.cookies[SESSION]);
        let headers = [("sec-websocket-protocol", "graphql-transport-ws"), ("origin", PUBLIC), ("cookie", &*cookie)];
        let mut socket = Socket::upgraded(&listening.address, &headers).await.unwrap();
        socket.say(json!({ "type": "connection_init" })).await;
        assert_eq!(socket.hear().await["type"], "connection_ack");
        assert_eq!(browser.send(Method::POST, "/desk/session/end", &DESK, None).await.status, StatusCode::OK);
        assert_eq!(socket.hear().await, json!({ "close": 4403, "reason": "the session has ended: sign in again" }));
        listening.stop().await;
    })
    .await;
}
