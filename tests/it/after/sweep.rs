//! Data past the retention window is deleted, and no count is wrong in the meantime.

use chrono::TimeDelta;
use domain::counters::update_counters;
use futures_util::future::{join, join_all};
use maintenance::scheduled::sweep::{SweepCounts, sweep_all};
use sea_orm::{EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use super::{announce, look_at, retract, update};
use crate::concurrency::rounds;
use crate::support::{TestApp, everyone, on_every_database};

async fn rows<E>(app: &TestApp) -> u64
where
    E: EntityTrait,
    E::Model: Send + Sync,
{
    E::find().count(&app.app.db.read).await.unwrap()
}

on_every_database! {
    async fn what_is_old_goes_and_what_is_new_stays_as_it_was(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        for place in 0..30 {
            operator.announce("news", everyone(), &format!("old {place}")).await;
        }
        let retracted = announce(&operator, json!({})).await;
        operator.message("news", "ada", "old message").await;
        for user in ["ada", "ben"] {
            app.user(user).overview().await;
        }
        retract(&operator, &retracted["id"]).await;
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        let cancelled = announce(&operator, json!({ "publishAt": (app.now() + TimeDelta::days(1)).to_rfc3339() })).await;
        retract(&operator, &cancelled["id"]).await;
        app.advance(TimeDelta::days(29));
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap(), SweepCounts::default(), "nothing is old yet");
        operator.announce("news", everyone(), "new").await;
        let titles = app.user("ben").titles(json!({})).await;
        assert_eq!(titles.len(), 31, "what was not swept is still shown");
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        operator.announce("news", everyone(), "newer").await;

        app.advance(TimeDelta::days(2));
        let swept = sweep_all(&app.app.delivery).await.unwrap();
        // Publications: 30, and the retracted one on a channel. Items: 31 of ada's and 30 of ben's. Notifications: 32,
        // and the cancelled one.
        assert_eq!((swept.publications, swept.items, swept.notifications), (31, 61, 33));
        assert_eq!(app.user("ada").titles(json!({})).await, ["newer", "new"]);
        assert_eq!(app.user("ada").overview().await.last().unwrap(), "= 1");
        assert_eq!(app.user("ben").overview().await.last().unwrap(), "= 2");
        assert_eq!(app.user("newcomer").titles(json!({})).await, ["newer", "new"]);
        assert_eq!(look_at(&operator, &retracted["id"]).await, Value::Null);
        assert_eq!(rows::<entity::amendment::Entity>(app).await, 0);
        assert_eq!(rows::<entity::notification::Entity>(app).await, 2);
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap(), SweepCounts::default(), "a second time finds nothing");
    }

    async fn an_action_goes_when_nothing_names_it_any_more(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let off = |code: &str| json!({ "actions": [{ "code": code, "enabled": false }] });
        let own = "mutation($actions: [NotificationPreferenceInput!], $resetActions: [String!]) { \
            updatePreferences(actions: $actions, resetActions: $resetActions) { preferences { actions { code } } } }";
        let default = "mutation($actions: [NotificationPreferenceInput!], $resetActions: [String!]) { \
            saveDefaultPreferences(actions: $actions, resetActions: $resetActions) { actions { code } } }";
        operator.remind("news", "7", "sent", None, "once").await;
        app.user("ada").ask(own, off("preferred")).await;
        operator.ask(default, off("by default")).await;
        let send = "mutation($at: DateTime!) { sendReminder(input: { type: \"news\", target: { type: \"doc\", externalId: \"7\" }, \
            action: \"scheduled\", content: { title: \"later\" }, publishAt: $at }) { notification { id } } }";
        operator.ask(send, json!({ "at": (app.now() + TimeDelta::days(50)).to_rfc3339() })).await;
        app.advance(TimeDelta::days(29));
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap().actions, 0, "nothing is old yet");
        app.advance(TimeDelta::days(2));
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap().actions, 1, "what was sent has gone, and its action with it");
        assert_eq!(rows::<entity::action::Entity>(app).await, 3);

        operator.remind("news", "7", "sent", None, "again").await;
        operator.remind("news", "7", "preferred", None, "as well").await;
        let query = "{ sentNotifications(filter: { statuses: [PUBLISHED] }) { nodes { action } } }";
        let actions = json!([{ "action": "preferred" }, { "action": "sent" }]);
        assert_eq!(operator.ask(query, json!({})).await["sentNotifications"]["nodes"], actions);
        app.user("ada").ask(own, json!({ "resetActions": ["preferred"] })).await;
        operator.ask(default, json!({ "resetActions": ["by default"] })).await;
        app.advance(TimeDelta::days(31));
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap().actions, 3);
        let scheduled = "{ sentNotifications(filter: { statuses: [SCHEDULED] }) { nodes { action } } }";
        let actions = json!([{ "action": "scheduled" }]);
        assert_eq!(operator.ask(scheduled, json!({})).await["sentNotifications"]["nodes"], actions);
    }

    async fn what_is_sent_while_actions_are_swept_keeps_its_own(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let other = app.beside().await;
        let nodes = [app, &other];
        for round in 0..rounds(app) {
            app.advance(TimeDelta::days(31));
            let sending = join_all((0..6).map(|place| async move {
                nodes[place % 2].admin().remind("news", "7", &format!("action {}", place / 2), None, "meanwhile").await;
            }));
            let (_, swept) = join(sending, sweep_all(&app.app.delivery)).await;
            swept.unwrap();
            let query = "{ sentNotifications(filter: { statuses: [PUBLISHED] }, first: 6) { nodes { action } } }";
            let data = operator.ask(query, json!({})).await;
            let sent = data["sentNotifications"]["nodes"].as_array().unwrap();
            assert!(sent.len() == 6 && sent.iter().all(|of| of["action"].is_string()), "round {round}: {data}");
        }
        other.app.db.close().await;
    }

    async fn what_expired_goes_without_waiting_for_the_window(app) {
        let operator = app.admin();
        operator.define(json!({ "code": "news", "title": "News", "ttlSeconds": 3600 })).await;
        operator.announce("news", everyone(), "short").await;
        app.user("ada").overview().await;
        app.advance(TimeDelta::hours(2));
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap().items, 1);
        assert_eq!(rows::<entity::inbox_item::Entity>(app).await, 0);
    }

    async fn what_was_to_expire_and_no_longer_is_stays_where_nobody_has_looked_since(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let in_hours = |hours: i64| json!((app.now() + TimeDelta::hours(hours)).to_rfc3339());
        announce(&operator, json!({ "expiresAt": in_hours(1), "content": { "title": "over" } })).await;
        let longer = announce(&operator, json!({ "expiresAt": in_hours(1), "content": { "title": "longer" } })).await;
        let for_good = announce(&operator, json!({ "expiresAt": in_hours(1), "content": { "title": "for good" } })).await;
        app.user("ada").overview().await;
        update(&operator, &longer["id"], json!({ "expiresAt": in_hours(9) })).await;
        update(&operator, &for_good["id"], json!({ "clear": ["EXPIRES_AT"] })).await;
        app.advance(TimeDelta::hours(2));
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap().items, 1);
        assert_eq!(app.user("ada").titles(json!({})).await, ["for good", "longer"]);
    }

    async fn what_expired_is_counted_before_it_goes(app) {
        let operator = app.admin();
        operator.define(json!({ "code": "news", "title": "News", "ttlSeconds": 3600 })).await;
        let short = announce(&operator, json!({})).await;
        for user in ["ada", "ben"] {
            app.user(user).overview().await;
        }
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        app.advance(TimeDelta::hours(2));
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap().items, 2);
        update_counters(&app.app).await.unwrap();
        let stats = look_at(&operator, &short["id"]).await["stats"].take();
        assert_eq!(stats, json!({ "audienceSize": 2, "deliveredCount": 2, "readCount": 1 }));
    }

    async fn an_inbox_of_many_batches_is_right_all_along(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        let send = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
        for _ in 0..5 {
            let input = json!({ "announcement": { "type": "news", "audience": everyone(), "content": { "title": "old" } } });
            operator.ask(send, json!({ "inputs": vec![input; 1000] })).await;
        }
        let ada = app.user("ada");
        ada.mark("markRead", json!({ "matching": {} })).await;
        app.advance(TimeDelta::days(29));
        operator.announce("news", everyone(), "new").await;
        app.advance(TimeDelta::days(2));
        let reader = async {
            let query = "{ viewer { overview { unread { count } } unread: inbox(first: 50, filter: { read: false }) { nodes { title } } } }";
            for _ in 0..10 {
                let data = ada.ask(query, json!({})).await;
                assert_eq!(data["viewer"], json!({ "overview": { "unread": { "count": 1 } }, "unread": { "nodes": [{ "title": "new" }] } }));
            }
        };
        let (swept, ()) = tokio::join!(sweep_all(&app.app.delivery), reader);
        assert_eq!(swept.unwrap().items, 5000);
        assert_eq!(ada.titles(json!({})).await, ["new"]);
    }

    async fn channels_that_nobody_uses_go(app) {
        app.admin().define_type("comment").await;
        let ada = app.user("ada");
        let leave = |target: &'static str| format!("mutation {{ unsubscribeTopic(input: {{ target: {{ type: \"doc\", externalId: \"{target}\" }}, what: {{ everything: true }} }}) {{ removedCount }} }}");
        for target in ["heard", "silent", "left"] {
            ada.subscribe(target, &["comment"]).await;
        }
        for followed in ["ben", "cleo"] {
            ada.ask(&format!("mutation {{ followUser(user: \"{followed}\") {{ user {{ id }} }} }}"), json!({})).await;
        }
        app.service().ask("mutation { saveUserGroup(code: \"team\") { code } }", json!({})).await;
        let group = "mutation { subscribeTopic(input: { target: { type: \"doc\", externalId: \"grouped\" }, what: { actions: [\"comment\"] }, who: { group: \"team\" } }) { createdCount } }";
        app.service().ask(group, json!({})).await;
        app.service().remind("comment", "left", "comment", None, "a comment").await;
        for target in ["silent", "left"] {
            ada.ask(&leave(target), json!({})).await;
        }
        ada.ask("mutation { unfollowUser(user: \"ben\") { user { id } } }", json!({})).await;
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap().channels, 2, "the silent one, and Ben's");
        app.advance(TimeDelta::days(31));
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap().channels, 1, "the one she left, with the last that was said there");
        assert_eq!(sweep_all(&app.app.delivery).await.unwrap().channels, 0);
        for target in ["silent", "heard"] {
            ada.subscribe(target, &["comment"]).await;
            app.service().remind("comment", target, "comment", None, target).await;
        }
        assert_eq!(ada.titles(json!({})).await, ["heard", "silent"]);
    }

    async fn a_channel_that_is_listened_to_while_it_is_swept_is_heard(app) {
        app.admin().define_type("comment").await;
        let ada = app.user("ada");
        let leave = "mutation { unsubscribeTopic(input: { target: { type: \"doc\", externalId: \"7\" }, what: { everything: true } }) { removedCount } }";
        for round in 0..20 {
            let (created, swept) = tokio::join!(ada.subscribe("7", &["comment"]), sweep_all(&app.app.delivery));
            swept.unwrap();
            assert_eq!(created, 1);
            if round % 3 == 0 {
                let title = format!("round {round}");
                app.service().remind("comment", "7", "comment", None, &title).await;
                assert_eq!(ada.titles(json!({})).await.first(), Some(&title));
            }
            // In every third round, the message passes the retention window, so the sweep may delete it and its
            // channel.
            app.advance(TimeDelta::days(if round % 3 == 1 { 31 } else { 0 }));
            ada.ask(leave, json!({})).await;
        }
    }

    async fn a_tenant_that_fails_does_not_keep_others_from_being_swept(app) {
        for operator in [app.stranger("operator", auth::CallerRole::Admin), app.admin()] {
            operator.define_type("news").await;
            operator.announce("news", everyone(), "old").await;
        }
        app.advance(TimeDelta::days(31));
        let key = if app.app.db.backend() == sea_orm::DbBackend::Postgres { "'\\x00'" } else { "x'00'" };
        app.by_hand(&format!("UPDATE tenant SET id_key = {key} WHERE code = 'globex'")).await;
        let node = app.beside().await;
        assert!(sweep_all(&node.app.delivery).await.is_err());
        assert!(update_counters(&node.app).await.is_err());
        assert_eq!(rows::<entity::notification::Entity>(app).await, 1, "of the one that fails");
        assert_eq!(node.app.metrics.tenants_passed_over.get(), 2);
    }
}
