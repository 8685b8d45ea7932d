//! The maximum size of a response, and the database work to create one.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{Request, StatusCode};
use base::config::ServerConfig;
use futures_util::Stream;
use serde_json::{Value, json};

use super::{code, raw};
use crate::support::{Kind, Socket, TestApp, everyone, with, with_settings};

/// This many fields of the same text under different names.
fn aliases(many: usize, field: &str) -> String {
    (0..many).map(|number| format!("a{number}: {field} ")).collect::<Vec<_>>().concat()
}

async fn announce_at_length(app: &TestApp, many: usize) {
    app.admin().define_type("news").await;
    let content = json!({ "title": "long", "body": "x".repeat(16 * 1024) });
    let input = json!({ "announcement": { "type": "news", "audience": everyone(), "content": content } });
    let send = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
    app.service().ask(send, json!({ "inputs": vec![input; many] })).await;
}

fn limit(answer: &Value) -> [&Value; 2] {
    [code(answer), &answer["errors"][0]["extensions"]["limit"]]
}

#[tokio::test]
async fn an_answer_of_more_than_a_megabyte_is_not_made() {
    with(Kind::Sqlite, async |app| {
        announce_at_length(app, 20).await;
        let ada = app.user("ada");
        let query = format!("{{ viewer {{ inbox(first: 20) {{ nodes {{ {} }} }} }} }}", aliases(3, "body"));
        let (status, answer) = ada.send(&query, json!({})).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(answer["data"]["viewer"]["inbox"]["nodes"][19]["a2"].as_str().unwrap().len(), 16 * 1024);
        for many in [4, 99] {
            let query = format!("{{ viewer {{ inbox(first: 20) {{ nodes {{ {} }} }} }} }}", aliases(many, "body"));
            let (_, answer) = ada.send(&query, json!({})).await;
            assert_eq!(limit(&answer), [&json!("BAD_USER_INPUT"), &json!("answer_bytes")]);
            assert_eq!((&answer["data"], answer["errors"].as_array().unwrap().len()), (&Value::Null, 1));
        }
        // Long field names count towards the size.
        let name = "a".repeat(30_000);
        let query = format!("{{ viewer {{ inbox(first: 40) {{ nodes {{ {name}a: id {name}b: id }} }} }} }}");
        assert_eq!(limit(&ada.send(&query, json!({})).await.1)[1], "answer_bytes");
        let query =
            format!("{{ inboxUser(id: \"ada\") {{ inbox(first: 20) {{ nodes {{ {} }} }} }} }}", aliases(40, "body"));
        let (_, answer) = app.service().send(&query, json!({})).await;
        assert!(answer["errors"].is_null(), "services and operators have sixteen");
    })
    .await;
}

#[tokio::test]
async fn escaped_text_is_counted_as_it_is_sent() {
    let narrow = |settings: &mut ServerConfig| settings.limits.answer_bytes = 20 * 1024;
    with_settings(Kind::Sqlite, narrow, async |app| {
        app.admin().define_type("news").await;
        let content = json!({ "title": "quotes", "body": "\"".repeat(12 * 1024) });
        let send = "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed } }";
        let input = json!({ "type": "news", "audience": everyone(), "content": content });
        app.service().ask(send, json!({ "input": input })).await;
        let (_, answer) = app.user("ada").send("{ viewer { inbox { nodes { body } } } }", json!({})).await;
        assert_eq!(limit(&answer)[1], "answer_bytes");
        let (_, answer) = app.user("ada").send("{ viewer { inbox { nodes { title } } } }", json!({})).await;
        assert_eq!(answer["data"]["viewer"]["inbox"]["nodes"][0]["title"], "quotes");
    })
    .await;
}

#[tokio::test]
async fn an_event_has_no_more_room_than_an_answer() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("news").await;
        let node = app.listen().await;
        let query = format!("subscription {{ itemReceived {{ node {{ {} }} }} }}", aliases(90, "body"));
        let mut socket = Socket::subscribed(&node.address, &app.user("ada").token, &query, json!({})).await;
        while app.app.metrics.subscriptions.get() == 0 {
            assert!(socket.is_silent(10).await);
        }
        announce_at_length(app, 1).await;
        let heard = socket.hear().await;
        assert_eq!(heard["type"], "error", "{}", heard["type"]);
        assert_eq!(heard["payload"][0]["extensions"]["limit"], "answer_bytes");
        drop(socket);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn the_schema_is_described_once_and_not_over_and_over() {
    with(Kind::Sqlite, async |app| {
        let ada = app.user("ada");
        let deep =
            "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }";
        let wide =
            format!("{{ __schema {{ types {{ {} }} }} }}", aliases(90, "fields { name description args { name } }"));
        let twice = "{ one: __schema { queryType { name } } two: __schema { queryType { name } } }";
        let often = format!("{{ {} }}", aliases(11, "__type(name: \"User\") { name }"));
        for (query, limit) in
            [(deep, "complexity"), (&wide, "complexity"), (twice, "introspection"), (&often, "introspection")]
        {
            let (_, answer) = ada.send(query, json!({})).await;
            assert_eq!(answer["errors"][0]["extensions"]["limit"], limit, "{query}");
        }
        let few =
            format!("{{ __schema {{ queryType {{ name }} }} {} }}", aliases(10, "__type(name: \"User\") { name }"));
        assert!(ada.send(&few, json!({})).await.1["errors"].is_null());
    })
    .await;
}

#[tokio::test]
async fn a_few_filtered_lists_fit_into_a_request_and_many_do_not() {
    with(Kind::Sqlite, async |app| {
        announce_at_length(app, 1).await;
        let ask = async |many, filter: &str| {
            let lists = aliases(many, &format!("inbox(first: 1, filter: {filter}) {{ nodes {{ id }} }}"));
            app.user("ada").send(&format!("{{ viewer {{ {lists} }} }}"), json!({})).await.1
        };
        assert!(ask(9, "{ sender: \"ben\" }").await["errors"].is_null());
        assert!(ask(90, "{ read: false }").await["errors"].is_null());
        for filter in ["{ sender: \"ben\" }", "{ kinds: [MESSAGE] }", "{ action: \"like\" }"] {
            assert_eq!(ask(10, filter).await["errors"][0]["extensions"]["limit"], "complexity", "{filter}");
        }
    })
    .await;
}

/// A body that must not be read.
struct Unread;

impl Stream for Unread {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        panic!("the body is read");
    }
}

#[tokio::test]
async fn whoever_has_used_up_their_rate_is_told_before_their_body_is_read() {
    let one = |settings: &mut ServerConfig| settings.limits.rate = 1;
    with_settings(Kind::Sqlite, one, async |app| {
        let ada = app.user("ada");
        let (status, _) = ada.send("this is no query", json!({})).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "what is refused counts");
        let request = Request::post("/graphql")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", ada.token))
            .body(Body::from_stream(Unread))
            .unwrap();
        let (status, headers, _) = raw(app, request).await;
        assert_eq!((status, headers["retry-after"].to_str().unwrap()), (StatusCode::TOO_MANY_REQUESTS, "60"));
    })
    .await;
}
