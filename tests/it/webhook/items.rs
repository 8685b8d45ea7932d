//! Webhooks in batches about the items that users have read.

use std::collections::HashSet;

use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use domain::counters::update_counters;
use maintenance::scheduled::sweep::sweep_all;
use serde_json::{Value, json};

use super::receiver::{Answer, Got, Receiver};
use super::{create, number, settle};
use crate::support::{TestApp, everyone, on_every_database};

/// Creates an endpoint for read events only.
async fn reader(app: &TestApp) -> Receiver {
    let receiver = Receiver::start().await;
    create(app, &receiver.url, json!({ "events": ["ITEM_READ"] })).await;
    receiver
}

/// Counts, and delivers the events.
async fn tell(app: &TestApp, workers: &DeliveryWorkers) {
    update_counters(&app.app).await.unwrap();
    settle(app, workers).await;
}

fn items(got: &Got) -> &Vec<Value> {
    assert_eq!(got.event(), "item.read");
    got.body["data"]["items"].as_array().unwrap()
}

/// Returns which user has read which title, in order.
async fn told(app: &TestApp, all: &[Got]) -> Vec<String> {
    let mut told = Vec::new();
    for item in all.iter().flat_map(items) {
        let query = "query($id: ID!) { sentNotification(id: $id) { title } }";
        let title =
            app.admin().ask(query, json!({ "id": item["notification"] })).await["sentNotification"]["title"].take();
        told.push(format!("{}: {}", item["user"].as_str().unwrap(), title.as_str().unwrap()));
    }
    told.sort();
    told
}

async fn erase(app: &TestApp, user: &str) {
    app.service().ask("mutation($id: ID!) { eraseUser(id: $id) { erasedId } }", json!({ "id": user })).await;
}

on_every_database! {
    async fn each_reading_is_told_once_to_whoever_wants_to_hear_of_it(app) {
        app.admin().define_type("news").await;
        let (first, second, other) = (reader(app).await, reader(app).await, Receiver::start().await);
        create(app, &other.url, json!({})).await;
        let workers = DeliveryWorkers::default();
        let id = app.service().announce("news", everyone(), "x").await;
        let item = app.user("ada").items(json!({})).await[0]["id"].take();
        let read_at = app.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        app.user("ada").mark("markRead", json!({ "ids": [item] })).await;
        app.advance(TimeDelta::seconds(8));
        tell(app, &workers).await;
        let counted_at = app.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        for receiver in [&first, &second] {
            let got = receiver.take();
            assert_eq!(got.len(), 1);
            assert_eq!(got[0].body, json!({ "type": "item.read", "timestamp": counted_at, "data": {
                "items": [{ "notification": id, "user": "ada", "at": read_at }] } }));
        }
        assert_eq!(other.take().iter().map(Got::event).collect::<Vec<_>>(), ["notification.published"]);
        app.user("ada").mark("markRead", json!({ "ids": [item] })).await;
        app.user("ada").mark("markUnread", json!({ "ids": [item] })).await;
        app.user("ben").overview().await;
        for _ in 0..2 {
            tell(app, &workers).await;
        }
        assert_eq!((first.many(), second.many()), (0, 0), "nothing was read");
        app.user("ada").mark("markRead", json!({ "ids": [item] })).await;
        tell(app, &workers).await;
        assert_eq!(told(app, &first.take()).await, ["ada: x"], "it was unread in between");
    }

    async fn every_way_of_reading_is_told(app) {
        app.admin().define_type("news").await;
        app.admin().define(json!({ "code": "auto", "title": "Auto", "readPolicy": "AUTO" })).await;
        let receiver = reader(app).await;
        for title in ["one", "archived", "kept", "all"] {
            app.service().message("news", "ada", title).await;
        }
        app.service().remind("news", "7", "comment", None, "heard by nobody").await;
        app.service().message("auto", "ada", "seen").await;
        app.service().message("news", "ben", "deleted").await;
        app.service().message("news", "cleo", "left unread").await;
        app.user("cleo").titles(json!({})).await;
        let ada = app.user("ada");
        let all = ada.items(json!({})).await;
        let of = |title: &str| json!({ "ids": [all.iter().find(|of| of["title"] == title).unwrap()["id"]] });
        ada.mark("markRead", of("one")).await;
        ada.mark("archiveItems", of("archived")).await;
        ada.mark("markRead", of("archived")).await;
        ada.mark("markRead", of("kept")).await;
        ada.mark("markUnread", of("kept")).await;
        ada.ask("mutation { markSeen { viewer { overview { unread { count } } } } }", json!({})).await;
        ada.mark("markRead", json!({ "matching": {} })).await;
        // Items read by a mark of all are reported, even if they change before they are counted.
        let ben = app.user("ben");
        ben.mark("markRead", json!({ "matching": {} })).await;
        ben.mark("deleteItems", json!({ "matching": {} })).await;
        tell(app, &DeliveryWorkers::default()).await;
        let expected = ["ada: all", "ada: archived", "ada: kept", "ada: kept", "ada: one", "ada: seen", "ben: deleted"];
        assert_eq!(told(app, &receiver.take()).await, expected);
    }

    async fn a_batch_has_a_thousand(app) {
        app.admin().define_type("news").await;
        let receiver = reader(app).await;
        let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { id } } }";
        let mut sent = HashSet::new();
        for many in [1000, 1000, 500] {
            let inputs: Vec<Value> = (0..many).map(|n| json!({ "message": {
                "type": "news", "receiver": format!("u{}", n % 5), "content": { "title": "x" } } })).collect();
            let made = app.service().ask(query, json!({ "inputs": inputs })).await["sendNotifications"].take();
            for (n, of) in made.as_array().unwrap().iter().enumerate() {
                sent.insert((of["notification"]["id"].as_str().unwrap().to_owned(), format!("u{}", n % 5)));
            }
        }
        for user in 0..5 {
            assert_eq!(app.user(&format!("u{user}")).mark("markRead", json!({ "matching": {} })).await, 500);
        }
        let other = app.beside().await;
        // The loser of the race returns an error and retries later.
        let _ = tokio::join!(update_counters(&app.app), update_counters(&other.app), update_counters(&app.app));
        tell(app, &DeliveryWorkers::default()).await;
        let got = receiver.take();
        let mut sizes: Vec<usize> = got.iter().map(|got| items(got).len()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [500, 1000, 1000]);
        let text = |of: &Value| of.as_str().unwrap().to_owned();
        let told: HashSet<_> = got.iter().flat_map(items).map(|of| (text(&of["notification"]), text(&of["user"]))).collect();
        assert_eq!(told, sent);
        other.app.db.close().await;
    }

    async fn a_node_that_dies_while_it_counts_tells_nothing_twice(app) {
        app.admin().define_type("news").await;
        let receiver = reader(app).await;
        app.service().announce("news", everyone(), "x").await;
        app.user("ada").overview().await;
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        app.panic_at("DELETE FROM tally WHERE");
        let node = app.app.clone();
        assert!(tokio::spawn(async move { update_counters(&node).await }).await.is_err());
        let written = "SELECT (SELECT COUNT(*) FROM webhook_batch) + (SELECT COUNT(*) FROM delivery) AS many";
        assert_eq!(number(app, written).await, 0, "nothing was written without what was counted");
        tell(app, &DeliveryWorkers::default()).await;
        assert_eq!(told(app, &receiver.take()).await, ["ada: x"]);
    }

    async fn who_was_erased_is_left_out_of_what_is_tried_again(app) {
        app.admin().define_type("news").await;
        let receiver = reader(app).await;
        let workers = DeliveryWorkers::default();
        app.service().announce("news", everyone(), "x").await;
        for user in ["ada", "ben"] {
            app.user(user).overview().await;
            app.user(user).mark("markRead", json!({ "matching": {} })).await;
        }
        receiver.answers_next([Answer::Status(500)]);
        tell(app, &workers).await;
        let first = receiver.take().remove(0);
        assert_eq!(told(app, std::slice::from_ref(&first)).await, ["ada: x", "ben: x"]);
        erase(app, "ben").await;
        receiver.answers_next([Answer::Status(500)]);
        app.advance(TimeDelta::seconds(10));
        settle(app, &workers).await;
        let again = receiver.take().remove(0);
        assert_eq!((&again.id, told(app, std::slice::from_ref(&again)).await), (&first.id, vec!["ada: x".to_owned()]));
        erase(app, "ada").await;
        app.advance(TimeDelta::minutes(2));
        settle(app, &workers).await;
        assert_eq!((receiver.many(), number(app, "SELECT COUNT(*) AS many FROM delivery").await), (0, 0));
        // The same applies to a user erased before the count.
        app.user("eve").overview().await;
        app.service().message("news", "eve", "y").await;
        app.user("eve").mark("markRead", json!({ "matching": {} })).await;
        erase(app, "eve").await;
        tell(app, &workers).await;
        assert_eq!(receiver.many(), 0);
    }

    async fn nothing_is_told_of_other_tenants_and_nothing_is_kept_for_ever(app) {
        app.admin().define_type("news").await;
        let receiver = reader(app).await;
        let workers = DeliveryWorkers::default();
        let (operator, reader) = (app.stranger("shop", auth::CallerRole::Admin), app.stranger("ada", auth::CallerRole::User));
        operator.define_type("news").await;
        operator.announce("news", everyone(), "theirs").await;
        reader.mark("markRead", json!({ "matching": {} })).await;
        tell(app, &workers).await;
        let batches = "SELECT COUNT(*) AS many FROM webhook_batch";
        assert_eq!((receiver.many(), number(app, batches).await), (0, 0), "nobody there listens");
        app.service().announce("news", everyone(), "ours").await;
        app.user("ada").overview().await;
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        tell(app, &workers).await;
        assert_eq!((told(app, &receiver.take()).await, number(app, batches).await), (vec!["ada: ours".to_owned()], 1));
        app.advance(TimeDelta::days(31));
        sweep_all(&app.app.delivery).await.unwrap();
        assert_eq!(number(app, batches).await, 0);
    }

    async fn a_mark_costs_the_same_whether_or_not_anybody_listens(app) {
        app.admin().define_type("news").await;
        let mut costs = Vec::new();
        for round in 0..3 {
            if round == 2 {
                reader(app).await;
            }
            let ada = app.user("ada");
            for title in ["one", "two"] {
                app.service().message("news", "ada", title).await;
            }
            let item = ada.items(json!({})).await[0]["id"].take();
            let (all, _) = app.statements_of(ada.mark("markRead", json!({ "matching": {} }))).await;
            let (unread, _) = app.statements_of(ada.mark("markUnread", json!({ "ids": [item] }))).await;
            let (one, _) = app.statements_of(ada.mark("markRead", json!({ "ids": [item] }))).await;
            costs.push((all, unread, one));
            update_counters(&app.app).await.unwrap();
        }
        assert_eq!(costs[1], costs[2]);
    }
}
