//! Explanations of why a user has an item in their inbox or not.

use serde_json::{Value, json};

use crate::support::{Actor, TestApp, everyone, on_every_database};

const EXPLAIN: &str = "query($notification: ID!, $user: ID!) { explainDelivery(notification: $notification, user: $user) { \
    present decision at steps { rule passed at detail } } }";

async fn explain(app: &TestApp, notification: &str, user: &str) -> Value {
    let variables = json!({ "notification": notification, "user": user });
    app.service().ask(EXPLAIN, variables).await["explainDelivery"].take()
}

/// Returns the decision, and checks that it agrees with `present`.
async fn decision(app: &TestApp, notification: &str, user: &str) -> String {
    let explained = explain(app, notification, user).await;
    let decision = explained["decision"].as_str().unwrap().to_owned();
    assert_eq!(explained["present"], json!(decision.starts_with("IN_")), "{explained:#}");
    decision
}

/// Sends a reminder about a comment by `ben` on the document 7; returns the notification's id.
async fn comment(app: &TestApp) -> String {
    let query = "mutation { sendReminder(input: { type: \"comment\", target: { type: \"doc\", externalId: \"7\" }, action: \"comment\", \
        sender: \"ben\", content: { title: \"x\" } }) { notification { id } } }";
    let data = app.service().ask(query, json!({})).await;
    data["sendReminder"]["notification"]["id"].as_str().unwrap().to_owned()
}

async fn switch(actor: &Actor<'_>, switches: &str) {
    actor.ask(&format!("mutation {{ updatePreferences({switches}) {{ viewer {{ id }} }} }}"), json!({})).await;
}

on_every_database! {
    async fn it_is_told_why_somebody_has_something(app) {
        app.admin().define_type("news").await;
        let id = app.service().announce("news", everyone(), "x").await;
        app.user("ada").titles(json!({})).await;
        app.advance(chrono::TimeDelta::hours(1));
        app.user("ada").mark("archiveItems", json!({ "matching": {} })).await;
        assert_eq!(explain(app, &id, "ada").await, json!({
            "present": true, "decision": "IN_ARCHIVE", "at": "2026-11-21T09:00:00.000Z", "steps": [
                { "rule": "NOT_RETRACTED", "passed": true, "at": null, "detail": null },
                { "rule": "PUBLISHED", "passed": true, "at": "2026-11-21T08:00:00.000Z", "detail": null },
                { "rule": "NOT_EXPIRED", "passed": true, "at": null, "detail": null },
                { "rule": "IN_INBOX", "passed": true, "at": "2026-11-21T09:00:00.000Z", "detail": null },
            ],
        }));
        app.user("ada").mark("unarchiveItems", json!({ "matching": {} })).await;
        assert_eq!(decision(app, &id, "ada").await, "IN_INBOX");
        app.user("ada").mark("deleteItems", json!({ "matching": {} })).await;
        assert_eq!(decision(app, &id, "ada").await, "GONE");
    }

    async fn it_is_told_who_came_too_late_and_since_when_they_listen(app) {
        app.admin().define_type("comment").await;
        app.user("ada").subscribe("8", &["comment"]).await;
        let id = comment(app).await;
        assert_eq!(decision(app, &id, "ada").await, "NOT_SUBSCRIBED");
        app.advance(chrono::TimeDelta::hours(1));
        app.user("ada").subscribe("7", &["comment"]).await;
        let late = explain(app, &id, "ada").await;
        assert_eq!(late["decision"], "NOT_SUBSCRIBED", "nobody listened, so it was published to nobody");
        let id = comment(app).await;
        assert_eq!(decision(app, &id, "ada").await, "IN_INBOX");
        app.user("ben").subscribe("7", &["comment"]).await;
        assert_eq!(decision(app, &id, "ben").await, "SUBSCRIBED_LATER");
        let id = comment(app).await;
        assert_eq!(decision(app, &id, "ben").await, "OWN_ACTION");

        app.service().ask("mutation { saveUserGroup(code: \"crew\") { code } }", json!({})).await;
        let id = app.service().announce("comment", json!({ "groups": ["crew"] }), "x").await;
        assert_eq!(decision(app, &id, "ada").await, "NOT_MEMBER");
        app.advance(chrono::TimeDelta::hours(1));
        app.service().ask("mutation { addUserGroupMembers(code: \"crew\", users: [\"ada\"]) { code } }", json!({})).await;
        let late = explain(app, &id, "ada").await;
        assert_eq!((&late["decision"], &late["at"]), (&json!("JOINED_LATER"), &json!("2026-11-21T10:00:00.000Z")));
        assert_eq!(late["steps"][4]["detail"], "group crew");
        app.service().ask("mutation { deleteUserGroup(code: \"crew\") { deletedId } }", json!({})).await;
        assert_eq!(decision(app, &id, "ada").await, "JOINED_LATER");
    }

    async fn it_is_told_whose_switch_was_off(app) {
        app.admin().define_type("comment").await;
        app.user("ada").subscribe("7", &["comment"]).await;
        switch(&app.user("ada"), "actions: [{ code: \"comment\", enabled: false }]").await;
        let id = comment(app).await;
        let off = explain(app, &id, "ada").await;
        assert_eq!(off["decision"], "ACTION_OFF");
        assert_eq!(off["steps"].as_array().unwrap().last().unwrap()["detail"], "own");
        app.admin().ask("mutation { saveDefaultPreferences(types: [{ code: \"comment\", enabled: false }]) { types { code } } }", json!({})).await;
        let off = explain(app, &id, "ada").await;
        assert_eq!(off["decision"], "TYPE_OFF");
        assert_eq!(off["steps"].as_array().unwrap().last().unwrap()["detail"], "default");
    }

    async fn it_is_told_what_became_of_the_notification(app) {
        app.admin().define(json!({ "code": "news", "title": "News", "ttlSeconds": 3600 })).await;
        app.user("ada").titles(json!({})).await;
        let announce = "mutation($at: DateTime) { sendAnnouncement(input: { type: \"news\", audience: { everyone: true }, publishAt: $at, \
            content: { title: \"x\" } }) { notification { id } } }";
        let sent = app.service().ask(announce, json!({ "at": "2026-11-22T08:00:00Z" })).await;
        let later = sent["sendAnnouncement"]["notification"]["id"].as_str().unwrap();
        let waits = explain(app, later, "ada").await;
        assert_eq!((&waits["decision"], &waits["at"]), (&json!("NOT_PUBLISHED"), &json!("2026-11-22T08:00:00.000Z")));
        app.service().ask("mutation($id: ID!) { retractSentNotification(id: $id) { id } }", json!({ "id": later })).await;
        assert_eq!(decision(app, later, "ada").await, "RETRACTED");
        let id = app.service().announce("news", everyone(), "x").await;
        app.advance(chrono::TimeDelta::hours(1));
        let expired = explain(app, &id, "ada").await;
        assert_eq!((&expired["decision"], &expired["at"]), (&json!("EXPIRED"), &json!("2026-11-21T09:00:00.000Z")));
    }

    async fn what_cannot_be_explained_is_refused_by_name(app) {
        app.admin().define_type("news").await;
        let id = app.service().announce("news", everyone(), "x").await;
        app.user("ada").titles(json!({})).await;
        let of = |notification: &str, user: &str| json!({ "notification": notification, "user": user });
        let service = app.service();
        assert_eq!(service.refused(EXPLAIN, of("x", "ada")).await, "NOT_FOUND notification: no notification \"x\"");
        assert_eq!(service.refused(EXPLAIN, of(&id, "eve")).await, "NOT_FOUND user: no user \"eve\"");
        assert!(service.refused(EXPLAIN, of(&id, "")).await.starts_with("BAD_USER_INPUT user"));
        let stranger = app.stranger("shop", auth::CallerRole::Service);
        assert!(stranger.refused(EXPLAIN, of(&id, "ada")).await.starts_with("NOT_FOUND notification"));
    }
}
