//! The content of webhook requests, and their signatures.

use std::collections::{BTreeMap, HashSet};

use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use domain::notification::publish_due;
use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{act, create, deliveries, look_at, settle, with_endpoint};
use crate::after::{announce, retract, update};
use crate::support::{everyone, on_every_database};

const ALL: [&str; 5] = [
    "NOTIFICATION_PUBLISHED",
    "NOTIFICATION_RETRACTED",
    "NOTIFICATION_AMENDED",
    "NOTIFICATION_EXPIRED",
    "ENDPOINT_DISABLED",
];

on_every_database! {
    async fn each_event_comes_once_under_its_id_and_signed(app) {
        let template = json!({ "title": "{{ params.n }} of {{ sender.name }}" });
        app.admin().define(json!({ "code": "news", "title": "News", "template": template, "usersMaySend": true })).await;
        let (thin, full) = (Receiver::start().await, Receiver::start().await);
        app.service().message("news", "ada", "before there was an endpoint").await;
        let of_thin = create(app, &thin.url, json!({ "events": ALL })).await;
        let of_full = create(app, &full.url, json!({ "events": ["NOTIFICATION_PUBLISHED"], "full": true })).await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!((thin.many(), full.many()), (0, 0), "it hears of what happens from now on");

        let by = app.admin();
        let said = r#"{"z":18446744073709551616,"a":[1.50]}"#;
        let data: Value = serde_json::from_str(said).unwrap();
        let input = json!({ "type": "news", "receiver": "ada", "content": { "params": { "n": 7 }, "data": data, "body": "text" } });
        let query = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } } }";
        by.ask("mutation { saveUserProfiles(inputs: [{ id: \"ben\", name: \"Ben\" }]) { id } }", json!({})).await;
        let message = app.user("ben").ask(query, json!({ "input": input })).await["sendMessage"]["notification"]["id"].clone();
        let expires_at = json!((app.now() + TimeDelta::minutes(30)).to_rfc3339());
        let told = announce(&by, json!({ "expiresAt": expires_at })).await;
        let later = announce(&by, json!({ "publishAt": (app.now() + TimeDelta::minutes(1)).to_rfc3339() })).await;
        let never = announce(&by, json!({ "publishAt": (app.now() + TimeDelta::minutes(1)).to_rfc3339() })).await;
        retract(&by, &never["id"]).await;
        app.service().remind("news", "7", "comment", Some("ben"), "x").await;
        settle(app, &workers).await;
        let got = thin.take();
        assert_eq!(got.iter().map(|got| got.event().to_owned()).collect::<Vec<_>>(), ["notification.published"; 3]);
        let of = |id: &Value| got.iter().find(|got| got.body["data"]["id"] == *id).unwrap();
        let first = of(&message);
        let published_at = json!(app.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true));
        assert_eq!(first.body, json!({
            "type": "notification.published", "timestamp": published_at, "data": {
                "id": message, "kind": "MESSAGE", "type": "news", "target": null, "action": null, "sender": "ben", "receiver": "ada",
                "audience": { "everyone": false, "groups": [], "userCount": 1 }, "rule": null, "rowKey": null, "createdAt": published_at,
                "publishedAt": published_at, "updatedAt": null, "expiresAt": null, "retractedAt": null,
            },
        }));
        let reminder = got.iter().find(|got| got.body["data"]["kind"] == "REMINDER").unwrap();
        assert_eq!(reminder.body["data"]["target"], json!({ "type": "doc", "externalId": "7" }));
        let got_full = full.take();
        assert_eq!(got_full.len(), 3);
        let with_text = got_full.iter().find(|got| got.body["data"]["id"] == message).unwrap();
        assert_eq!(with_text.body["data"]["content"], json!({ "title": "7 of Ben", "body": "text", "link": null, "data": data }));
        assert!(String::from_utf8_lossy(&with_text.raw).contains(&format!("\"data\":{said}")), "it is as it was sent");
        assert!(got.iter().all(|got| got.is_signed_by(&of_thin.secret) && !got.is_signed_by(&of_full.secret)));
        assert!(got_full.iter().all(|got| got.is_signed_by(&of_full.secret)));
        assert_eq!(first.timestamp, app.now().timestamp().to_string());

        // Amend the text and the expiry of one, and retract another. Then a scheduled one falls due, and the first
        // expires at its new time.
        update(&by, &told["id"], json!({ "title": "other" })).await;
        update(&by, &told["id"], json!({ "expiresAt": (app.now() + TimeDelta::hours(1)).to_rfc3339() })).await;
        retract(&by, &message).await;
        app.advance(TimeDelta::minutes(31));
        publish_due(&app.app).await.unwrap();
        settle(app, &workers).await;
        let mut seen: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let more = thin.take();
        for got in &more {
            seen.entry(got.event().to_owned()).or_default().push(got.body["data"]["id"].clone());
        }
        let expected = [
            ("notification.amended", vec![told["id"].clone(), told["id"].clone()]),
            ("notification.published", vec![later["id"].clone()]),
            ("notification.retracted", vec![message.clone()]),
        ];
        assert_eq!(seen, expected.map(|(event, ids)| (event.to_owned(), ids)).into());
        app.advance(TimeDelta::minutes(30));
        settle(app, &workers).await;
        let expired = thin.take();
        assert_eq!((expired.len(), expired[0].event(), &expired[0].body["data"]["id"]), (1, "notification.expired", &told["id"]));
        let ids: HashSet<&String> = got.iter().chain(&more).chain(&expired).map(|got| &got.id).collect();
        assert_eq!(ids.len(), got.len() + more.len() + expired.len());
        let listed = deliveries(app, json!({ "endpoint": of_thin.id }), "id state attemptCount lastStatus").await;
        assert_eq!(listed.len(), ids.len());
        for of in listed {
            assert!(ids.contains(&of["id"].as_str().unwrap().to_owned()));
            assert_eq!((&of["state"], &of["attemptCount"], &of["lastStatus"]), (&json!("DELIVERED"), &json!(1), &json!(204)));
        }
    }

    async fn what_was_retracted_before_it_expired_does_not_expire(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        let change = "mutation($id: ID!) { updateWebhookEndpoint(id: $id, input: { events: [NOTIFICATION_EXPIRED] }) { events } }";
        app.admin().ask(change, json!({ "id": endpoint.id })).await;
        let workers = DeliveryWorkers::default();
        let soon = json!((app.now() + TimeDelta::minutes(5)).to_rfc3339());
        let [gone, put_off, kept] = [0, 1, 2].map(|_| json!({ "expiresAt": soon }));
        let gone = announce(&app.admin(), gone).await;
        let put_off = announce(&app.admin(), put_off).await;
        let kept = announce(&app.admin(), kept).await;
        settle(app, &workers).await;
        assert_eq!(look_at(app, &endpoint, "pendingCount").await["pendingCount"], 0, "what waits is not pending");
        retract(&app.admin(), &gone["id"]).await;
        update(&app.admin(), &put_off["id"], json!({ "clear": ["EXPIRES_AT"] })).await;
        app.advance(TimeDelta::minutes(6));
        settle(app, &workers).await;
        let ids: Vec<Value> = receiver.take().iter().map(|got| got.body["data"]["id"].clone()).collect();
        assert_eq!(ids, [kept["id"].clone()]);
        assert_eq!(deliveries(app, json!({}), "id").await.len(), 1, "what does not happen leaves nothing");
    }

    async fn both_secrets_sign_for_a_day(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        let workers = DeliveryWorkers::default();
        let query = "mutation($id: ID!) { rotateWebhookSecret(id: $id) { secret endpoint { previousSecretUntil } } }";
        let rotated = app.admin().ask(query, json!({ "id": endpoint.id })).await["rotateWebhookSecret"].take();
        let secret = rotated["secret"].as_str().unwrap().to_owned();
        assert_ne!(secret, endpoint.secret);
        let until = (app.now() + TimeDelta::days(1)).to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        assert_eq!(rotated["endpoint"]["previousSecretUntil"], json!(until));
        for (hours, is_both) in [(23, true), (1, false)] {
            app.advance(TimeDelta::hours(hours));
            app.service().announce("news", everyone(), "x").await;
            settle(app, &workers).await;
            let got = receiver.take().remove(0);
            assert_eq!(got.signatures.len(), if is_both { 2 } else { 1 });
            assert!(got.is_signed_by(&secret));
            assert_eq!(got.is_signed_by(&endpoint.secret), is_both);
        }
    }

    async fn what_happens_while_it_is_paused_comes_when_it_is_resumed(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        let workers = DeliveryWorkers::default();
        act(app, "pauseWebhookEndpoint", &endpoint).await;
        let id = app.service().announce("news", everyone(), "x").await;
        update(&app.admin(), &json!(id), json!({ "title": "y" })).await;
        settle(app, &workers).await;
        assert_eq!((receiver.many(), look_at(app, &endpoint, "state").await["state"].clone()), (0, json!("PAUSED")));
        act(app, "resumeWebhookEndpoint", &endpoint).await;
        settle(app, &workers).await;
        let mut events: Vec<String> = receiver.take().iter().map(|got| got.event().to_owned()).collect();
        events.sort();
        assert_eq!(events, ["notification.amended", "notification.published"]);
    }

    async fn a_long_log_is_told_whole_and_nothing_of_other_tenants(app) {
        let (receiver, _) = with_endpoint(app).await;
        let stranger = app.stranger("shop", auth::CallerRole::Admin);
        stranger.define_type("news").await;
        stranger.announce("news", everyone(), "theirs").await;
        let inputs: Vec<Value> = (0..1000).map(|n| json!({ "message": {
            "type": "news", "receiver": format!("u{}", n % 7), "content": { "title": format!("{n}") } } })).collect();
        let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { id } } }";
        let sent = app.service().ask(query, json!({ "inputs": inputs })).await["sendNotifications"].take();
        let sent: HashSet<String> =
            sent.as_array().unwrap().iter().map(|of| of["notification"]["id"].as_str().unwrap().to_owned()).collect();
        settle(app, &DeliveryWorkers::default()).await;
        let got = receiver.take();
        assert_eq!(got.len(), 1000);
        let got: HashSet<String> = got.iter().map(|got| got.body["data"]["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(got, sent);
    }
}
