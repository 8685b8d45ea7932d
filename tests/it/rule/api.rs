//! Rules as operators define them.

use serde_json::json;

use super::{SAVE, catalogue, field, input, save};
use crate::support::on_every_database;

on_every_database! {
    async fn a_rule_is_shown_as_it_was_made(app) {
        catalogue(app).await;
        save(app, json!({ "resolveAfter": 2, "repeatAfterSeconds": 60, "alarm": { "type": "alarm" } })).await;
        let all = "code type { code } scan { sql } key audience { userColumn everyone reminder { action } } resolve resolveAfter amend \
            repeatAfterSeconds firstRun maxNew alarm { type group } state nextRunAt lastCompleteAt failureCount rowCount runs { outcome }";
        let expected = json!({
            "code": "low", "type": { "code": "stock" }, "scan": null, "key": ["id"],
            "audience": { "userColumn": "who", "everyone": false, "reminder": null }, "resolve": "RETRACT", "resolveAfter": 2,
            "amend": true, "repeatAfterSeconds": 60, "firstRun": "RAISE", "maxNew": 200,
            "alarm": { "type": "alarm", "group": "operators" }, "state": "ACTIVE", "nextRunAt": null, "lastCompleteAt": null,
            "failureCount": 0, "rowCount": 0, "runs": [],
        });
        assert_eq!(field(app, all).await, expected);
    }

    async fn what_is_no_rule_is_refused_where_it_is_wrong(app) {
        catalogue(app).await;
        let reminder = |of: &str| json!({ "audience": { "reminder": { "targetType": "doc", "targetId": of, "action": "x" } } });
        let scan = |sql: &str, schedule: &str| json!({ "scan": { "source": "wms", "sql": sql, "schedule": schedule } });
        for (changes, code, at) in [
            (json!({ "code": "" }), "BAD_USER_INPUT", "input.code"),
            (json!({ "type": "none" }), "BAD_USER_INPUT", "input.type"),
            (json!({ "type": "alarm" }), "BAD_USER_INPUT", "input.type"),
            (json!({ "key": [] }), "BAD_USER_INPUT", "input.key"),
            (json!({ "key": ["a", "b", "a"] }), "BAD_USER_INPUT", "input.key[2]"),
            (json!({ "key": ["a", "b", "c", "d", "e", "f", "g", "h", "i"] }), "BAD_USER_INPUT", "input.key"),
            (json!({ "audience": { "everyone": false } }), "BAD_USER_INPUT", "input.audience.everyone"),
            (json!({ "audience": { "userColumn": "" } }), "BAD_USER_INPUT", "input.audience.userColumn"),
            (reminder("{{ id"), "BAD_USER_INPUT", "input.audience.reminder.targetId"),
            (reminder(""), "BAD_USER_INPUT", "input.audience.reminder.targetId"),
            (json!({ "resolveAfter": 0 }), "BAD_USER_INPUT", "input.resolveAfter"),
            (json!({ "repeatAfterSeconds": 59 }), "BAD_USER_INPUT", "input.repeatAfterSeconds"),
            (json!({ "maxNew": 0 }), "BAD_USER_INPUT", "input.maxNew"),
            (json!({ "maxNew": -1 }), "BAD_USER_INPUT", "input.maxNew"),
            (json!({ "maxNew": 10_001 }), "BAD_USER_INPUT", "input.maxNew"),
            (json!({ "alarm": { "type": "none" } }), "BAD_USER_INPUT", "input.alarm.type"),
            (json!({ "alarm": { "type": "alarm", "group": "none" } }), "NOT_FOUND", "input.alarm.group"),
            (scan("", "@every 10s"), "BAD_USER_INPUT", "input.scan.sql"),
            (scan("SELECT 1", "@every 9s"), "BAD_USER_INPUT", "input.scan.schedule"),
            (scan("SELECT 1", "@every 10s"), "NOT_FOUND", "input.scan.source"),
        ] {
            let (_, answer) = app.admin().send(SAVE, json!({ "input": input(&changes) })).await;
            let error = &answer["errors"][0]["extensions"];
            assert_eq!((&error["code"], &error["field"]), (&json!(code), &json!(at)), "{changes}: {answer}");
        }
        assert_eq!(field(app, "code").await, json!(null));
    }

    async fn a_rule_is_found_by_its_id_by_operators_alone(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        let id = field(app, "id").await["id"].clone();
        let node = "query($id: ID!) { node(id: $id) { ... on NotificationRule { code } } }";
        let found = async |who: crate::support::Actor<'_>| who.ask(node, json!({ "id": id })).await["node"].clone();
        assert_eq!(found(app.admin()).await, json!({ "code": "low" }));
        let stranger = app.stranger("operator", auth::CallerRole::Admin);
        for who in [app.service(), app.user("ada"), stranger] {
            assert_eq!(found(who).await, json!(null));
        }
    }

    async fn the_key_of_a_rule_stays(app) {
        catalogue(app).await;
        save(app, json!({})).await;
        let refused = app.admin().refused(SAVE, json!({ "input": input(&json!({ "key": ["who"] })) })).await;
        assert!(refused.starts_with("CONFLICT"), "{refused}");
        save(app, json!({ "maxNew": 7 })).await;
        assert_eq!(field(app, "key maxNew").await, json!({ "key": ["id"], "maxNew": 7 }));
    }
}
