//! Traces as a collector receives them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use auth::{CallerRole, TokenClaims, sign_claims};
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use base::clock::{Clock, to_date_time};
use chrono::TimeDelta;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{Kind, PATIENCE, Process, SECRET};

/// Everything the collector received, in order.
type Received = Arc<Mutex<Vec<u8>>>;

/// Accepts everything exported to `/v1/traces`.
async fn collector() -> (String, Received) {
    let received = Received::default();
    let into = received.clone();
    let take = async move |headers: HeaderMap, body: Bytes| {
        assert_eq!(headers["content-type"], "application/x-protobuf");
        into.lock().unwrap().extend_from_slice(&body);
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let routes = axum::Router::new().route("/v1/traces", post(take));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (address, received)
}

fn has(received: &Received, part: &[u8]) -> bool {
    received.lock().unwrap().windows(part.len()).any(|window| window == part)
}

async fn until(received: &Received, part: &[u8]) {
    let until = Instant::now() + PATIENCE;
    while !has(received, part) {
        assert!(Instant::now() < until, "{} is exported", String::from_utf8_lossy(part));
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn spans_go_to_the_collector_in_the_trace_that_the_request_belongs_to() {
    let (endpoint, received) = collector().await;
    let database = Kind::Sqlite.make().await.unwrap();
    let settings = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_BSP_SCHEDULE_DELAY", "100")];
    let mut server = Process::start_with(&database.url, &settings, None).await;
    let token = |role, sub: &str| {
        let claims = TokenClaims { tenant: "acme".into(), sub: sub.into(), role, exp: 4_000_000_000, scope: None };
        sign_claims(SECRET, &claims).unwrap()
    };
    let admin = token(CallerRole::Admin, "operator");
    let define = "mutation { saveMessageType(input: { code: \"release\", title: \"Releases\" }) { code } }";
    server.ask(&admin, define, json!({})).await.unwrap();
    let later = "mutation($at: DateTime) { sendAnnouncement(input: { type: \"release\", audience: { everyone: true }, \
        content: { title: \"A secret title\" }, publishAt: $at }) { notification { id } } }";
    let soon = to_date_time(Clock::System.now()) + TimeDelta::seconds(1);
    server.ask(&admin, later, json!({ "at": soon.to_rfc3339() })).await.unwrap();

    let trace: Vec<u8> = (0x10..0x20).collect();
    let parent = "00-101112131415161718191a1b1c1d1e1f-0102030405060708-01";
    let request = reqwest::Client::new().post(format!("http://{}/graphql", server.address));
    let request = request.bearer_auth(token(CallerRole::User, "ada.lovelace")).header("traceparent", parent);
    let body = json!({ "query": "query Named { viewer { overview { unread { count } } } }" });
    let answer = request.header("x-request-id", "traced-1").json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 200);

    until(&received, &trace).await;
    until(&received, &[1, 2, 3, 4, 5, 6, 7, 8]).await;
    until(&received, b"publish_due").await;
    server.stop();
    for part in
        ["POST /graphql", "traced-1", "viewer", "query", "mutation", "sendAnnouncement", "transaction", "OK", "tidings"]
    {
        assert!(has(&received, part.as_bytes()), "{part} is exported");
    }
    for part in ["lovelace", "secret title", "Named", "eyJ"] {
        assert!(!has(&received, part.as_bytes()), "{part} is exported");
    }
}

#[tokio::test]
async fn a_collector_that_is_away_harms_nobody() {
    let database = Kind::Sqlite.make().await.unwrap();
    let settings = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"), ("OTEL_BSP_SCHEDULE_DELAY", "100")];
    let mut server = Process::start_with(&database.url, &settings, None).await;
    let claims = TokenClaims {
        tenant: "acme".into(),
        sub: "ada".into(),
        role: CallerRole::User,
        exp: 4_000_000_000,
        scope: None,
    };
    let token = sign_claims(SECRET, &claims).unwrap();
    for _ in 0..20 {
        server.ask(&token, "{ viewer { id } }", json!({})).await.unwrap();
    }
    server.stop();
}
