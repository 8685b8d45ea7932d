//! Scheduled publication.

use std::time::Duration;

use chrono::TimeDelta;
use domain::notification::publish_due;
use serde_json::{Value, json};

use super::{announce, look_at, retract, sent, update};
use crate::support::{Kind, PATIENCE, Process, TestApp, on_every_database};

/// The time this many minutes from now on the test clock.
fn in_minutes(app: &TestApp, minutes: i64) -> Value {
    json!((app.now() + TimeDelta::minutes(minutes)).to_rfc3339())
}

on_every_database! {
    async fn it_goes_out_when_it_is_due_to_whoever_listens_then(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        operator.ask("mutation { saveUserGroup(code: \"team\") { code } }", json!({})).await;
        let later = in_minutes(app, 10);
        let scheduled = announce(&operator, json!({ "publishAt": later, "content": { "title": "to all" } })).await;
        assert_eq!(scheduled["status"], "SCHEDULED");
        assert_eq!(scheduled["publishedAt"], Value::Null);
        announce(&operator, json!({ "publishAt": later, "audience": { "groups": ["team"] }, "content": { "title": "to the team" } })).await;
        announce(&operator, json!({ "publishAt": later, "audience": { "users": ["ada", "cleo"] }, "content": { "title": "by name" } })).await;
        let reminder = "mutation($input: SendReminderInput!) { sendReminder(input: $input) { notification { id } } }";
        let input = json!({ "type": "news", "target": { "type": "doc", "externalId": "7" }, "action": "comment", "sender": "ben",
                            "content": { "title": "a comment" }, "publishAt": later });
        operator.ask(reminder, json!({ "input": input })).await;
        let message = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } } }";
        let input = json!({ "type": "news", "receiver": "ada", "content": { "title": "dear Ada" }, "publishAt": later });
        operator.ask(message, json!({ "input": input })).await;

        assert_eq!(sent(&operator, json!({ "statuses": ["SCHEDULED"] })).await.len(), 5);
        assert_eq!(publish_due(&app.app).await.unwrap(), 0);
        // Subscribe and join between scheduling and publication.
        app.user("ada").subscribe("7", &["comment"]).await;
        operator.ask("mutation { addUserGroupMembers(code: \"team\", users: [\"ada\"]) { code } }", json!({})).await;
        assert!(app.user("ada").titles(json!({})).await.is_empty());

        app.advance(TimeDelta::minutes(10));
        assert_eq!(publish_due(&app.app).await.unwrap(), 5);
        assert_eq!(publish_due(&app.app).await.unwrap(), 0);
        let all = ["dear Ada", "a comment", "by name", "to the team", "to all"];
        assert_eq!(app.user("ada").titles(json!({})).await, all);
        assert_eq!(app.user("cleo").titles(json!({})).await, ["by name", "to all"]);
        assert_eq!(app.user("ben").titles(json!({})).await, ["to all"], "what ben did is not for ben");
        let published = look_at(&operator, &scheduled["id"]).await;
        assert_eq!(published["status"], "PUBLISHED");
        assert_eq!(published["publishedAt"], json!(app.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)));
    }

    async fn it_can_be_moved_edited_and_cancelled(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let first = announce(&operator, json!({ "publishAt": in_minutes(app, 10), "content": { "title": "draft", "body": "stays" } })).await;
        let second = announce(&operator, json!({ "publishAt": in_minutes(app, 10), "content": { "title": "never" } })).await;
        let moved = update(&operator, &first["id"], json!({ "publishAt": in_minutes(app, 30), "title": "final" })).await;
        assert_eq!((moved["title"].as_str(), moved["body"].as_str()), (Some("final"), Some("stays")));
        assert_eq!(retract(&operator, &second["id"]).await["status"], "RETRACTED");
        app.advance(TimeDelta::minutes(20));
        assert_eq!(publish_due(&app.app).await.unwrap(), 0);
        app.advance(TimeDelta::minutes(20));
        assert_eq!(publish_due(&app.app).await.unwrap(), 1);
        assert_eq!(app.user("ada").titles(json!({})).await, ["final"]);
        // Rescheduled into the past: published at once.
        let third = announce(&operator, json!({ "publishAt": in_minutes(app, 60), "content": { "title": "now" } })).await;
        update(&operator, &third["id"], json!({ "publishAt": in_minutes(app, -60) })).await;
        assert_eq!(publish_due(&app.app).await.unwrap(), 1);
        assert_eq!(app.user("ada").titles(json!({})).await, ["now", "final"]);
        assert_eq!(sent(&operator, json!({ "statuses": ["RETRACTED"] })).await, ["never"]);
        assert!(sent(&operator, json!({ "statuses": ["SCHEDULED"] })).await.is_empty());
    }

    async fn what_cannot_be_is_refused_and_a_key_sends_once(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let send = "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed notification { id status } } }";
        let input = |publish: i64, expire: i64| {
            json!({ "input": { "type": "news", "audience": { "everyone": true }, "content": { "title": "x" },
                    "publishAt": in_minutes(app, publish), "expiresAt": in_minutes(app, expire), "idempotencyKey": "k" } })
        };
        let (_, answer) = operator.send(send, input(10, 5)).await;
        assert_eq!(answer["errors"][0]["extensions"]["field"], "input.expiresAt");
        assert!(operator.refused(send, input(60 * 24 * 366 * 11, 60 * 24 * 366 * 12)).await.starts_with("BAD_USER_INPUT"));
        let first = operator.ask(send, input(10, 20)).await;
        app.advance(TimeDelta::zero());
        let again = operator.ask(send, input(10, 20)).await;
        assert_eq!(again["sendAnnouncement"]["replayed"], true);
        assert_eq!(again["sendAnnouncement"]["notification"], first["sendAnnouncement"]["notification"]);
        let patch = "mutation($id: ID!, $input: NotificationPatch!) { updateSentNotification(id: $id, input: $input) { id } }";
        let id = first["sendAnnouncement"]["notification"]["id"].clone();
        let too_late = json!({ "id": id, "input": { "publishAt": in_minutes(app, 30) } });
        assert!(operator.refused(patch, too_late.clone()).await.starts_with("BAD_USER_INPUT"), "it would expire before");
        app.advance(TimeDelta::minutes(15));
        publish_due(&app.app).await.unwrap();
        assert!(operator.refused(patch, too_late).await.starts_with("CONFLICT"));
        app.advance(TimeDelta::minutes(15));
        let text = json!({ "id": id, "input": { "title": "y" } });
        assert!(operator.refused(patch, text.clone()).await.starts_with("CONFLICT"), "it has expired");
        assert!(app.user("ada").refused(patch, text.clone()).await.starts_with("FORBIDDEN"));
        assert!(app.stranger("operator", auth::CallerRole::Admin).refused(patch, text).await.starts_with("NOT_FOUND"));
    }

    async fn what_expires_before_it_can_be_published_arrives_nowhere(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let (later, end) = (in_minutes(app, 10), in_minutes(app, 20));
        let all = announce(&operator, json!({ "publishAt": later, "expiresAt": end })).await;
        let by_name = json!({ "publishAt": later, "expiresAt": end, "audience": { "users": ["ada", "ben"] } });
        let named = announce(&operator, by_name).await;
        let message = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } } }";
        let input = json!({ "type": "news", "receiver": "ada", "content": { "title": "dear Ada" },
                            "publishAt": later, "expiresAt": end });
        let message = operator.ask(message, json!({ "input": input })).await;
        // No node was running in between.
        app.advance(TimeDelta::minutes(30));
        assert_eq!(publish_due(&app.app).await.unwrap(), 3);
        assert_eq!(app.user("ada").overview().await, ["news: 0 (-)", "= 0"]);
        domain::counters::update_counters(&app.app).await.unwrap();
        for id in [&all["id"], &named["id"], &message["sendMessage"]["notification"]["id"]] {
            let sent = look_at(&operator, id).await;
            assert_eq!((sent["status"].as_str(), &sent["stats"]["deliveredCount"]), (Some("EXPIRED"), &json!(0)));
        }
    }

    async fn nodes_that_race_for_what_is_due_publish_it_once(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        for place in 0..40 {
            announce(&operator, json!({ "publishAt": in_minutes(app, 1), "content": { "title": format!("n{place}") } })).await;
        }
        let other = TestApp::configured(app.app.config.clone()).await;
        app.advance(TimeDelta::minutes(2));
        other.advance(TimeDelta::minutes(2));
        let (here, there, once_more) = tokio::join!(publish_due(&app.app), publish_due(&other.app), publish_due(&app.app));
        assert_eq!(here.unwrap() + there.unwrap() + once_more.unwrap(), 40);
        let mut titles = app.user("ada").titles(json!({})).await;
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), 40);
        other.app.db.close().await;
    }

    async fn a_tenant_that_fails_does_not_keep_others_from_publishing(app) {
        let (bad, good) = (app.stranger("operator", auth::CallerRole::Admin), app.admin());
        for operator in [&bad, &good] {
            operator.define_type("news").await;
        }
        announce(&bad, json!({ "publishAt": in_minutes(app, 1) })).await;
        for _ in 0..3 {
            announce(&good, json!({ "publishAt": in_minutes(app, 2) })).await;
        }
        app.advance(TimeDelta::minutes(3));
        app.by_hand("UPDATE notification SET type_id = 0 WHERE tenant_id = (SELECT t.id FROM tenant t WHERE t.code = 'globex')").await;
        assert!(publish_due(&app.app).await.is_err());
        assert_eq!(app.user("ada").titles(json!({})).await.len(), 3);
        assert_eq!(app.app.metrics.tenants_passed_over.get(), 1);
        // The server retries, and the notification is valid now.
        app.by_hand("UPDATE notification SET type_id = (SELECT MIN(m.id) FROM message_type m WHERE \
            m.tenant_id = notification.tenant_id) WHERE type_id = 0").await;
        assert_eq!(publish_due(&app.app).await.unwrap(), 1);
    }
}

/// A real server is killed repeatedly while notifications fall due. Each is published once, including those overdue at
/// start-up.
async fn survives_kill(kind: Kind) {
    let Some(database) = kind.migrated().await else { return };
    let app = TestApp::start(&database.url).await;
    app.admin().define_type("news").await;
    let (service, reader) = (app.service().token.clone(), app.user("ada").token.clone());
    let mut server = Process::start(&database.url).await;
    let send =
        "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { id } } }";
    for round in 0..4 {
        let now = base::clock::to_date_time(base::clock::Clock::System.now());
        let due = (now + TimeDelta::milliseconds(600)).to_rfc3339();
        let inputs: Vec<Value> = (0..200)
            .map(|place| {
                let title = format!("r{round}-{place}");
                json!({ "announcement": { "type": "news", "audience": { "everyone": true },
                        "content": { "title": title }, "publishAt": due } })
            })
            .collect();
        server.ask(&service, send, json!({ "inputs": inputs })).await.expect("it is scheduled");
        // Kill it during a publication, or close to one. The moment must not matter.
        tokio::time::sleep(Duration::from_millis(500 + 60 * round)).await;
        server.kill_and_start().await;
    }
    let count = "{ viewer { overview { unread { count } } } }";
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let data = server.ask(&reader, count, json!({})).await.expect("it answers");
        if data["viewer"]["overview"]["unread"]["count"] == 800 || tokio::time::Instant::now() > until {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut titles = Vec::new();
    let page = "query($after: String) { viewer { inbox(first: 200, after: $after) { nodes { title } pageInfo { endCursor hasNextPage } } } }";
    let mut after = Value::Null;
    loop {
        let data = server.ask(&reader, page, json!({ "after": after })).await.expect("it answers");
        let inbox = &data["viewer"]["inbox"];
        titles.extend(inbox["nodes"].as_array().unwrap().iter().map(|node| node["title"].as_str().unwrap().to_owned()));
        if inbox["pageInfo"]["hasNextPage"] != true {
            break;
        }
        after = inbox["pageInfo"]["endCursor"].clone();
    }
    let all = titles.len();
    titles.sort();
    titles.dedup();
    assert_eq!((all, titles.len()), (800, 800));
    drop(server);
    app.app.db.close().await;
    database.remove().await;
}

#[tokio::test]
async fn a_server_killed_while_it_publishes_loses_nothing_and_repeats_nothing_sqlite() {
    survives_kill(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_server_killed_while_it_publishes_loses_nothing_and_repeats_nothing_postgres() {
    survives_kill(Kind::Postgres).await;
}

#[tokio::test]
async fn a_server_killed_while_it_publishes_loses_nothing_and_repeats_nothing_mysql() {
    survives_kill(Kind::Mysql).await;
}
