//! Invalid bodies and messages: the error names the place, and nothing else ends.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::{Value, json};

use super::{code, post, raw};
use crate::support::{ITEMS, Kind, Socket, everyone, with};

const HALF: &str = r#""hi \ud83d""#;

#[tokio::test]
async fn what_is_no_json_is_named_by_its_field_and_place() {
    with(Kind::Sqlite, async |app| {
        let token = app.service().token;
        for (body, field, words) in [
            (
                format!(r#"{{"query":"x","variables":{{"input":{{"title":{HALF}}}}}}}"#),
                "variables.input.title",
                "half a surrogate pair",
            ),
            (
                format!(r#"{{"query":"x","variables":{{"inputs":[{{}},{{"a":{HALF}}}]}}}}"#),
                "variables.inputs[1].a",
                "half a surrogate pair",
            ),
            (format!(r#"{{"query":{HALF}}}"#), "query", "half a surrogate pair"),
            (r#"{"query":"x","variables":{"n":1.}}"#.into(), "variables.n", "line 1, column "),
            ("{\"query\":\n tru}".into(), "query", "line 2, column "),
        ] {
            let (status, _, answer) = raw(app, post(&token, body.clone())).await;
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!((status, code(&answer)), (StatusCode::BAD_REQUEST, &json!("BAD_USER_INPUT")), "{body}");
            assert_eq!(answer["errors"][0]["extensions"]["field"], field, "{body}");
            let message = answer["errors"][0]["message"].as_str().unwrap();
            assert!(message.contains(words) && message.contains("line "), "{message}");
        }
        for body in ["", "{", "{} {}", "[1]", "\u{feff}", "null"] {
            let (status, _, answer) = raw(app, post(&token, body.into())).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {answer}");
        }
        let half = "/graphql?query=x&variables=%7B%22input%22%3A%7B%22title%22%3A%22%5Cud83d%22%7D%7D";
        let get = Request::get(half).header("authorization", format!("Bearer {token}")).body(Body::empty()).unwrap();
        let (status, _, answer) = raw(app, get).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert_eq!(answer["errors"][0]["extensions"]["field"], "variables.input.title", "{answer}");
    })
    .await;
}

/// The JSON library parses the text behind such a key as JSON again, so a few kilobytes could overflow the stack.
#[tokio::test]
async fn json_that_would_be_read_within_itself_is_refused() {
    with(Kind::Sqlite, async |app| {
        let (open, close) = ("[".repeat(120), "]".repeat(120));
        let mut within = "1".to_owned();
        for _ in 0..12 {
            within = format!(r#"{open}{{"$serde_json::private::RawValue":{}}}{close}"#, json!(within));
        }
        let ada = app.user("ada").token;
        for key in ["$serde_json", "\\u0024serde_json"] {
            let text = within.replace("{\"$serde_json", &format!("{{\"{key}"));
            let body = format!(r#"{{"query":"{{ __typename }}","variables":{{"d":{text}}}}}"#);
            let (status, _, answer) = raw(app, post(&ada, body)).await;
            assert!(status == StatusCode::BAD_REQUEST && answer.contains("reserved"), "{answer}");
        }
        let body = json!({ "query": "{ __typename }", "variables": { "b": "\"$serde_json::private::RawValue" } });
        assert_eq!(raw(app, post(&ada, body.to_string())).await.0, StatusCode::OK);
    })
    .await;
}

#[tokio::test]
async fn a_body_may_begin_with_a_mark_of_its_order_of_bytes() {
    with(Kind::Sqlite, async |app| {
        let ada = app.user("ada").token;
        let body = format!("\u{feff}{}", json!({ "query": "\u{feff}{ viewer { user { id } } }" }));
        let (status, _, answer) = raw(app, post(&ada, body)).await;
        assert_eq!((status, answer.as_str()), (StatusCode::OK, r#"{"data":{"viewer":{"user":{"id":"ada"}}}}"#));
    })
    .await;
}

#[tokio::test]
async fn a_body_that_is_compressed_is_refused_with_words() {
    with(Kind::Sqlite, async |app| {
        let ada = app.user("ada").token;
        let body = || json!({ "query": "{ viewer { user { id } } }" }).to_string();
        for coding in ["gzip", "br", "deflate", "identity, gzip", "GZIP", "aes128gcm"] {
            let mut request = post(&ada, body());
            request.headers_mut().insert("content-encoding", coding.parse().unwrap());
            let (status, headers, answer) = raw(app, request).await;
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!((status, code(&answer)), (StatusCode::UNSUPPORTED_MEDIA_TYPE, &json!("BAD_USER_INPUT")));
            assert_eq!(answer["errors"][0]["extensions"]["field"], "content-encoding", "{answer}");
            assert_eq!(headers["accept-encoding"], "identity");
        }
        for coding in ["identity", "", "Identity, "] {
            let mut request = post(&ada, body());
            request.headers_mut().insert("content-encoding", coding.parse().unwrap());
            assert_eq!(raw(app, request).await.0, StatusCode::OK, "{coding:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_message_with_a_wrong_payload_ends_its_own_operation_alone() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
        socket.subscribe("items", ITEMS, json!({})).await;
        let deep = format!(r#"{{"id":"w","type":"subscribe","payload":{{"query":"x","variables":{{"a":{}1{}}}}}}}"#, "[".repeat(500), "]".repeat(500));
        for (message, field) in [
            (format!(r#"{{"id":"w","type":"subscribe","payload":{{"query":"{{ a }}","variables":{{"input":{{"title":{HALF}}}}}}}}}"#), "variables.input.title"),
            (format!(r#"{{"type":"subscribe","payload":{{"query":{HALF}}},"id":"w"}}"#), "query"),
            (r#"{"id":"w","type":"subscribe","payload":{"query":7}}"#.into(), "query"),
            (r#"{"id":"w","type":"subscribe","payload":{"variables":{}}}"#.into(), "query"),
            (r#"{"id":"w","type":"subscribe","payload":{"query":"{ a }","variables":[]}}"#.into(), "variables"),
            (r#"{"id":"w","type":"subscribe","payload":{"query":"{ a }","operationName":7}}"#.into(), "operationName"),
            (deep, "variables.a"),
        ] {
            socket.say_text(&message).await;
            let error = socket.hear().await;
            assert_eq!((&error["type"], &error["id"]), (&json!("error"), &json!("w")), "{message}: {error}");
            let told = &error["payload"][0];
            assert_eq!(told["extensions"]["code"], "BAD_USER_INPUT", "{told}");
            assert!(told["extensions"]["field"].as_str().unwrap().starts_with(field), "{told}");
        }
        // The id is free, and the other subscription continues.
        socket.say_text("\u{feff}{\"id\":\"w\",\"type\":\"subscribe\",\"payload\":{\"query\":\"{ viewer { user { id } } }\"}}").await;
        assert_eq!(socket.data().await["viewer"]["user"]["id"], "ada");
        assert_eq!(socket.hear().await["type"], "complete");
        app.service().announce("news", everyone(), "still here").await;
        assert_eq!(socket.title().await, "still here");
        // A duplicate id still closes the socket, since an error would end the operation that uses the id.
        let used = format!(r#"{{"id":"items","type":"subscribe","payload":{{"query":{HALF}}}}}"#);
        socket.say_text(&used).await;
        assert_eq!(socket.close_code().await, 4409);
        for (message, code) in [
            (format!(r#"{{"id":"w","type":"subscribe","payload":{{"query":{HALF}}}}}"#), 4401),
            (format!(r#"{{"id":"w","type":"ping","payload":{{"x":{HALF}}}}}"#), 4400),
            (format!(r#"{{"id":{HALF},"type":"subscribe","payload":{{"query":"x"}}}}"#), 4400),
            (r#"{"id":"w","type":"subscribe","payload":{"query":"x"}"#.into(), 4400),
        ] {
            let mut socket = Socket::connect(&node.address).await;
            socket.say_text(&message).await;
            assert_eq!(socket.close_code().await, code, "{message}");
        }
        node.stop().await;
    })
    .await;
}
