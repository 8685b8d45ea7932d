//! Live subscriptions over server-sent events.

use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::support::{Kind, everyone, with};

/// Reads one event and returns its name and data.
async fn event(
    stream: &mut (impl StreamExt<Item = reqwest::Result<axum::body::Bytes>> + Unpin),
    text: &mut String,
) -> Option<(String, Value)> {
    loop {
        if let Some((event, rest)) = text.split_once("\n\n") {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
            let parsed = (field("event:").to_owned(), serde_json::from_str(field("data:")).unwrap_or_default());
            *text = String::from(rest);
            if !parsed.0.is_empty() {
                return Some(parsed);
            }
            continue;
        }
        text.push_str(&String::from_utf8_lossy(&stream.next().await?.expect("the stream is whole")));
    }
}

#[tokio::test]
async fn subscriptions_and_queries_are_answered_as_events() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("release").await;
        let node = app.listen().await;
        let ask = async |token: &str, query: &str, variables: Value| {
            let request = reqwest::Client::new().post(format!("http://{}/graphql", node.address));
            let request = request.header("accept", "text/event-stream").bearer_auth(token);
            request.json(&json!({ "query": query, "variables": variables })).send().await.expect("it answers")
        };
        let token = app.user("ada").token;
        let answer = ask(&token, "{ viewer { overview { cursor } } }", json!({})).await;
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        let (mut stream, mut text) = (answer.bytes_stream(), String::new());
        let (name, data) = event(&mut stream, &mut text).await.unwrap();
        assert_eq!(name, "next");
        assert_eq!(event(&mut stream, &mut text).await.unwrap().0, "complete");
        assert!(event(&mut stream, &mut text).await.is_none());

        let after = &data["data"]["viewer"]["overview"]["cursor"];
        app.service().announce("release", everyone(), "before").await;
        let query = "subscription($after: String) { itemReceived(after: $after) { node { title } } }";
        let answer = ask(&token, query, json!({ "after": after })).await;
        let (mut stream, mut text) = (answer.bytes_stream(), String::new());
        let title = |(_, data): (String, Value)| data["data"]["itemReceived"]["node"]["title"].clone();
        assert_eq!(title(event(&mut stream, &mut text).await.unwrap()), "before");
        app.service().announce("release", everyone(), "live").await;
        assert_eq!(title(event(&mut stream, &mut text).await.unwrap()), "live");

        assert_eq!(ask("forged", query, json!({})).await.status(), 401);
        for (refused, variables, code) in [
            ("subscription { nonsense }", json!({}), "GRAPHQL_VALIDATION_FAILED"),
            ("subscription {", json!({}), "GRAPHQL_PARSE_FAILED"),
            (query, json!({ "after": 7 }), "BAD_USER_INPUT"),
            (query, json!({ "after": "made up" }), "BAD_USER_INPUT"),
        ] {
            let answer = ask(&token, refused, variables).await;
            assert_eq!(
                (answer.status().as_u16(), &answer.headers()["content-type"]),
                (200, &"text/event-stream".parse().unwrap())
            );
            let (mut stream, mut text) = (answer.bytes_stream(), String::new());
            let (name, data) = event(&mut stream, &mut text).await.unwrap();
            assert_eq!((name.as_str(), &data["errors"][0]["extensions"]["code"]), ("next", &json!(code)), "{data:#}");
            assert_eq!(event(&mut stream, &mut text).await.unwrap().0, "complete");
        }
        // A stream that is cut off has no `complete` event, so its client reconnects.
        node.stop().await;
        assert!(event(&mut stream, &mut text).await.is_none());
    })
    .await;
}
