//! The daily limit on persistent data that a user may create.

use base::config::ServerConfig;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::code;
use crate::support::{Actor, Kind, with_settings};

fn ten_a_day(settings: &mut ServerConfig) {
    settings.limits.user_makes = 10;
}

/// The calls, and the amount of the daily limit that each takes.
fn calls() -> [(&'static str, Value, usize); 5] {
    let subscribe = "mutation($input: SubscribeTopicInput!) { subscribeTopic(input: $input) { createdCount } }";
    let prefer = "mutation($actions: [NotificationPreferenceInput!], $resetActions: [String!]) { \
        updatePreferences(actions: $actions, resetActions: $resetActions) { preferences { actions { code } } } }";
    let topic =
        json!({ "target": { "type": "doc", "externalId": "1" }, "what": { "actions": ["edit", "share", "comment"] } });
    let switches = json!({ "actions": [{ "code": "edit", "enabled": false }], "resetActions": ["move"] });
    [
        (subscribe, json!({ "input": topic }), 3),
        (prefer, switches, 1),
        ("mutation { followUser(user: \"ben\") { user { id } } }", json!({}), 1),
        ("mutation { joinView(key: { code: \"chat\", externalId: \"1\" }) { __typename } }", json!({}), 1),
        ("mutation { visitView(key: { code: \"chat\", externalId: \"1\" }) { __typename } }", json!({}), 1),
    ]
}

async fn refused(user: &Actor<'_>, (query, variables): (&str, Value)) {
    let (_, answer) = user.send(query, variables).await;
    assert_eq!(code(&answer), "RATE_LIMITED", "{query} {answer}");
}

#[tokio::test]
async fn a_user_makes_so_much_a_day_and_the_backend_what_it_likes() {
    with_settings(Kind::Sqlite, ten_a_day, async |app| {
        app.admin().ask("mutation { saveViewCode(code: \"chat\", open: true) { code } }", json!({})).await;
        for (query, variables, taken) in calls() {
            let user = app.user(&format!("user-{}", query.len()));
            // A failed call creates nothing.
            for _ in 0..15 {
                let closed = "mutation { joinView(key: { code: \"closed\", externalId: \"1\" }) { __typename } }";
                assert_eq!(code(&user.send(closed, json!({})).await.1), "FORBIDDEN");
            }
            for _ in 0..10 / taken {
                user.ask(query, variables.clone()).await;
            }
            refused(&user, (query, variables.clone())).await;
            // The limit refills over the day: a tenth of it in two hours and twenty-four minutes.
            app.advance(TimeDelta::minutes(144) * i32::try_from(taken).unwrap());
            user.ask(query, variables.clone()).await;
            refused(&user, (query, variables)).await;
        }
        let [(subscribe, topic, _), ..] = calls();
        let mut topic = topic;
        topic["input"]["who"] = json!({ "user": "ada" });
        for _ in 0..10 {
            app.service().ask(subscribe, topic.clone()).await;
        }
        // Calls of the backend for a user do not count for the user.
        topic["input"]["who"] = Value::Null;
        app.user("ada").ask(subscribe, topic).await;
    })
    .await;
}
