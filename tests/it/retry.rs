//! A retry is the same send again, in any order of its fields, and at any later time.

use chrono::{SecondsFormat, TimeDelta};
use domain::notification::publish_due;
use serde_json::{Value, json};

use crate::support::{Actor, TestApp, everyone, on_every_database};

const ANNOUNCE: &str =
    "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed notification { id } } }";
const MANY: &str = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed notification { id } } }";

#[expect(clippy::needless_pass_by_value, reason = "the callers build it in place")]
fn input(key: &str, audience: Value, publish_at: Option<String>) -> Value {
    json!({ "type": "news", "audience": audience, "content": { "title": "x" }, "publishAt": publish_at, "idempotencyKey": key })
}

#[expect(clippy::unnecessary_wraps, reason = "the callers pass it as an optional time")]
fn in_minutes(app: &TestApp, minutes: i64) -> Option<String> {
    Some((app.now() + TimeDelta::minutes(minutes)).to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Returns whether a send is a replay, and the notification's id; or the error code.
async fn sent(by: &Actor<'_>, input: Value) -> Result<(bool, String), String> {
    let (_, answer) = by.send(ANNOUNCE, json!({ "input": input })).await;
    let of = &answer["data"]["sendAnnouncement"];
    match of["replayed"].as_bool() {
        Some(is_replayed) => Ok((is_replayed, of["notification"]["id"].as_str().unwrap().to_owned())),
        None => Err(answer["errors"][0]["extensions"]["code"].as_str().unwrap().to_owned()),
    }
}

on_every_database! {
    async fn an_audience_is_a_set_to_a_retry(app) {
        let admin = app.admin();
        admin.define_type("news").await;
        for code in ["design", "sales"] {
            admin.ask("mutation($code: String!) { saveUserGroup(code: $code) { code } }", json!({ "code": code })).await;
        }
        for (key, first, again, other) in [
            ("users", json!({ "users": ["b", "a"] }), json!({ "users": ["a", "b", "a"] }), json!({ "users": ["a", "b", "c"] })),
            ("sorted", json!({ "users": ["a", "b"] }), json!({ "users": ["b", "a"] }), json!({ "users": ["a"] })),
            ("groups", json!({ "groups": ["sales", "design", "sales"] }), json!({ "groups": ["design", "sales"] }), json!({ "groups": ["design"] })),
        ] {
            let (is_replayed, id) = sent(&admin, input(key, first.clone(), None)).await.unwrap();
            assert!(!is_replayed, "{key}");
            for audience in [first, again] {
                assert_eq!(sent(&admin, input(key, audience, None)).await, Ok((true, id.clone())), "{key}");
            }
            for audience in [other, everyone()] {
                assert_eq!(sent(&admin, input(key, audience, None)).await, Err("CONFLICT".into()), "{key}");
            }
        }
        // The same applies within one call, and on another node.
        let both = [json!(["x", "y"]), json!(["y", "x", "x"])].map(|users| json!({ "announcement": input("batch", json!({ "users": users }), None) }));
        let answer = admin.ask(MANY, json!({ "inputs": both })).await["sendNotifications"].take();
        assert_eq!((&answer[0]["replayed"], &answer[1]["replayed"]), (&json!(false), &json!(true)));
        let other = app.beside().await;
        let (is_replayed, id) = sent(&other.admin(), input("batch", json!({ "users": ["y", "x", "y"] }), None)).await.unwrap();
        assert_eq!((is_replayed, json!(id)), (true, answer[0]["notification"]["id"].clone()));
    }

    async fn an_instant_that_has_passed_means_at_once_to_a_retry(app) {
        let admin = app.admin();
        admin.define_type("news").await;
        let (_, id) = sent(&admin, input("past", everyone(), in_minutes(app, -5))).await.unwrap();
        for publish_at in [in_minutes(app, -4), in_minutes(app, 0), None] {
            assert_eq!(sent(&admin, input("past", everyone(), publish_at)).await, Ok((true, id.clone())));
        }
        assert_eq!(sent(&admin, input("past", everyone(), in_minutes(app, 1))).await, Err("CONFLICT".into()));
        let due = in_minutes(app, 10);
        let (_, id) = sent(&admin, input("due", everyone(), due.clone())).await.unwrap();
        assert_eq!(sent(&admin, input("due", everyone(), in_minutes(app, 9))).await, Err("CONFLICT".into()));
        assert_eq!(sent(&admin, input("due", everyone(), None)).await, Err("CONFLICT".into()));
        app.advance(TimeDelta::minutes(11));
        publish_due(&app.app).await.unwrap();
        for publish_at in [due, in_minutes(app, -3), None] {
            assert_eq!(sent(&admin, input("due", everyone(), publish_at)).await, Ok((true, id.clone())));
        }
        assert_eq!(sent(&admin, input("due", everyone(), in_minutes(app, 1))).await, Err("CONFLICT".into()));
    }

    async fn what_the_release_before_has_sent_is_known_again(app) {
        let admin = app.admin();
        admin.define_type("news").await;
        let audience = json!({ "users": ["b", "a"] });
        let (_, id) = sent(&admin, input("old", audience.clone(), in_minutes(app, -5))).await.unwrap();
        // An older server stored the list as it was sent, and the time.
        let at = (app.now() - TimeDelta::minutes(5)).timestamp_millis();
        let said = format!(r#"[["news",{{"Users":["b","a"]}},{{"title":"x","body":null,"link":null,"params":null,"data":null}},null,null],{at}]"#);
        let kept = model::fingerprint::fingerprint(said.as_bytes());
        app.by_hand(&format!("UPDATE notification SET fingerprint = {kept}")).await;
        assert_eq!(sent(&admin, input("old", audience, in_minutes(app, -5))).await, Ok((true, id)));
        assert_eq!(sent(&admin, input("old", json!({ "users": ["c"] }), in_minutes(app, -5))).await, Err("CONFLICT".into()));
    }
}
