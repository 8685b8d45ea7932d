//! What a user may make in a day that stays.

use chrono::TimeDelta;
use serde_json::{Value, json};
use tidings::config::Config;

use super::code;
use crate::support::{Actor, Kind, with_settings};

fn ten_a_day(settings: &mut Config) {
    settings.limits.user_makes = 10;
}

/// What is asked, and how much of the day's share it takes.
fn calls() -> [(&'static str, Value, usize); 5] {
    let subscribe = "mutation($input: SubscribeInput!) { subscribe(input: $input) { createdCount } }";
    let prefer = "mutation($actions: [PreferenceInput!]) { updatePreferences(actions: $actions) { actions { code } } }";
    let topic = json!({ "target": { "type": "doc", "id": "1" }, "actions": ["edit", "share", "comment"] });
    let switches = json!([{ "code": "edit", "enabled": false }, { "code": "move", "enabled": null }]);
    [
        (subscribe, json!({ "input": topic }), 3),
        (prefer, json!({ "actions": switches }), 1),
        ("mutation { follow(user: \"ben\") { id } }", json!({}), 1),
        ("mutation { joinView(key: { code: \"chat\", id: \"1\" }) { __typename } }", json!({}), 1),
        ("mutation { visitView(key: { code: \"chat\", id: \"1\" }) { __typename } }", json!({}), 1),
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
            // What fails makes nothing.
            for _ in 0..15 {
                let closed = "mutation { joinView(key: { code: \"closed\", id: \"1\" }) { __typename } }";
                assert_eq!(code(&user.send(closed, json!({})).await.1), "FORBIDDEN");
            }
            for _ in 0..10 / taken {
                user.ask(query, variables.clone()).await;
            }
            refused(&user, (query, variables.clone())).await;
            // It comes back over the day: a tenth of it in two hours and twenty-four minutes.
            app.advance(TimeDelta::minutes(144) * i32::try_from(taken).unwrap());
            user.ask(query, variables.clone()).await;
            refused(&user, (query, variables)).await;
        }
        let [(subscribe, topic, _), ..] = calls();
        let mut topic = topic;
        topic["input"]["user"] = json!("ada");
        for _ in 0..10 {
            app.service().ask(subscribe, topic.clone()).await;
        }
        // What the backend does for a user is not the user's.
        topic["input"]["user"] = Value::Null;
        app.user("ada").ask(subscribe, topic).await;
    })
    .await;
}
