//! Data of senders comes back as it was sent: all digits, and the order of keys.

use async_graphql::Executor;
use auth::CallerRole;
use serde_json::{Value, json};
use tidings::graphql::{Schema, Viewer};

use super::{post, raw};
use crate::support::{Socket, TestApp, on_every_database};

const DATA: &str = r#"{"z":18446744073709551616,"a":0.1234567890123456789012345,"m":{"y":1.50,"b":[-0,1e+400,123456789012345678901234567890.5]},"s":"é","n":null,"t":true,"small":5}"#;

/// The same as a literal in a document.
fn literal() -> String {
    let keys = ["z", "a", "m", "y", "b", "s", "n", "t", "small"];
    keys.iter().fold(DATA.to_owned(), |text, key| text.replace(&format!("\"{key}\":"), &format!("{key}:")))
}

async fn text(app: &TestApp, token: &str, query: &str, variables: &str) -> String {
    let body = format!(r#"{{"query":{},"variables":{variables}}}"#, json!(query));
    // Without the isolation marks around inserted template values.
    raw(app, post(token, body)).await.2.replace(['\u{2068}', '\u{2069}'], "")
}

on_every_database! {
    async fn data_comes_back_as_it_was_sent(app) {
        app.admin().define(json!({ "code": "news", "title": "news", "template": { "title": "{{ data.small + 1 }} {{ data.z }} {{ data.m.y }}" } })).await;
        let (service, ada) = (app.service().token, app.user("ada").token);
        let by_variable = "mutation($data: JSON) { sendMessage(input: { type: \"news\", receiver: \"ada\", content: { data: $data } }) { notification { data } } }";
        let answer = text(app, &service, by_variable, &format!(r#"{{"data":{DATA}}}"#)).await;
        assert!(answer.contains(&format!(r#""data":{DATA}"#)), "{answer}");
        let whole = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { data } } }";
        let input = format!(r#"{{"input":{{"type":"news","receiver":"ada","content":{{"data":{DATA}}}}}}}"#);
        let answer = text(app, &service, whole, &input).await;
        assert!(answer.contains(&format!(r#""data":{DATA}"#)), "{answer}");
        let by_literal = format!("mutation {{ sendMessage(input: {{ type: \"news\", receiver: \"ada\", content: {{ data: {} }} }}) {{ notification {{ data }} }} }}", literal());
        let answer = text(app, &service, &by_literal, "{}").await;
        assert!(answer.contains(&format!(r#""data":{DATA}"#)), "{answer}");
        let answer = text(app, &ada, "{ viewer { inbox { nodes { title data } } } }", "{}").await;
        assert_eq!(answer.matches(&format!(r#""data":{DATA}"#)).count(), 3, "{answer}");
        assert_eq!(answer.matches(r#""title":"6 18446744073709551616 1.5""#).count(), 3, "{answer}");
        let export = text(app, &service, "{ exportUser(id: \"ada\") }", "{}").await;
        assert_eq!(export.matches(&format!(r#""data":{DATA}"#)).count(), 3, "{export}");
        // Another node reads it from the database.
        let other = app.beside().await;
        let answer = text(&other, &ada, "{ viewer { inbox { nodes { data } } } }", "{}").await;
        assert_eq!(answer.matches(&format!(r#""data":{DATA}"#)).count(), 3, "{answer}");
    }

    async fn the_same_data_in_other_words_is_the_same_under_a_key(app) {
        app.admin().define_type("news").await;
        let send = "mutation($data: JSON) { sendMessage(input: { type: \"news\", receiver: \"ada\", content: { title: \"x\", data: $data }, idempotencyKey: \"k\" }) { replayed } }";
        let service = app.service().token;
        for (data, is) in [
            (r#"{"b":{"y":1,"x":[1.50]},"a":18446744073709551616}"#, r#""replayed":false"#),
            (r#"{"a":18446744073709551616,"b":{"x":[1.5],"y":1}}"#, r#""replayed":true"#),
            (r#"{"a":18446744073709551617,"b":{"x":[1.5],"y":1}}"#, "CONFLICT"),
            (r#"{"a":18446744073709551616,"b":{"x":[1.51],"y":1}}"#, "CONFLICT"),
        ] {
            let answer = text(app, &service, send, &format!(r#"{{"data":{data}}}"#)).await;
            assert!(answer.contains(is), "{data}: {answer}");
        }
    }

    async fn live_items_have_their_data_as_it_was_sent(app) {
        app.admin().define_type("news").await;
        let node = app.listen().await;
        let token = app.user("ada").token;
        // A subscription starts a moment after the request. The cursor covers sends before that.
        let cursor = app.user("ada").ask("{ viewer { overview { cursor } } }", json!({})).await;
        let query = "subscription($after: String) { itemReceived(after: $after) { node { data } } }";
        let after = json!({ "after": cursor["viewer"]["overview"]["cursor"] });
        let mut socket = Socket::subscribed(&node.address, &token, query, after).await;
        let send = "mutation($data: JSON) { sendMessage(input: { type: \"news\", receiver: \"ada\", content: { title: \"x\", data: $data } }) { replayed } }";
        text(app, &app.service().token, send, &format!(r#"{{"data":{DATA}}}"#)).await;
        let event = socket.data().await;
        assert_eq!(event["itemReceived"]["node"]["data"].to_string(), DATA);
        drop(socket);
        node.stop().await;
    }

    async fn a_host_that_reads_requests_by_the_library_loses_no_number(app) {
        app.admin().define_type("news").await;
        let schema = Schema::new(app.app.clone(), app.live.clone());
        let service = || async { Viewer::with_names(&app.app, "acme", CallerRole::Service, "shop").await.unwrap() };
        let body = format!(
            r#"{{"query":"mutation($data: JSON, $ttl: Int) {{ saveMessageType(input: {{ code: \"kept\", title: \"kept\", ttlSeconds: $ttl, ui: $data }}) {{ ttlSeconds ui }} }}","variables":{{"data":{DATA},"ttl":60}}}}"#
        );
        let request: async_graphql::Request = serde_json::from_str(&body).unwrap();
        drop(service().await);
        let admin = Viewer::with_names(&app.app, "acme", CallerRole::Admin, "operator").await.unwrap();
        let answer = schema.execute(request.data(admin)).await;
        let answer: Value = serde_json::to_value(&answer).unwrap();
        assert_eq!(answer["data"]["saveMessageType"]["ttlSeconds"], 60, "{answer}");
        assert_eq!(answer["data"]["saveMessageType"]["ui"].to_string(), DATA);
    }
}
