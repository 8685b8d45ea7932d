//! Concurrent requests about views, on two nodes if the database supports that.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use super::{JOIN, LEAVE, RECORD, VISIT, activity, key, keyed, open};
use crate::concurrency::{rounds, second_node};
use crate::support::{Actor, on_every_database};

const VIEWS: [&str; 3] = ["a", "b", "c"];
const USERS: [&str; 4] = ["ada", "ben", "chen", "dara"];

async fn counts(actor: &Actor<'_>) -> Value {
    let query = "query($keys: [ViewKeyInput!]) { viewer { views(keys: $keys) { externalId unread { count } } overview { total { count } } } }";
    let keys: Vec<Value> = VIEWS.iter().map(|id| key(id)).collect();
    actor.ask(query, json!({ "keys": keys })).await["viewer"].clone()
}

on_every_database! {
    async fn concurrent_activities_take_a_position_each(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        app.service().ask(JOIN, json!({ "key": key("a"), "users": ["watcher"] })).await;
        let many = 3 * rounds(app);
        let recorder = async |place: usize| {
            for round in 0..many {
                // Each call names the views in another order. The first activities create two of the views.
                let named = |turn: usize| VIEWS[(place + round + turn) % VIEWS.len()];
                let actor = place.is_multiple_of(2).then_some(USERS[place % USERS.len()]);
                let inputs: Vec<Value> = (0..VIEWS.len()).map(|turn| activity(named(turn), actor, "x")).collect();
                nodes[place % 2].service().ask(RECORD, json!({ "inputs": inputs })).await;
            }
        };
        join_all((0..8).map(recorder)).await;
        app.service().ask(JOIN, json!({ "key": key("b"), "users": ["watcher"] })).await;
        let seen = counts(&app.user("watcher")).await;
        let expected = 8 * i64::try_from(many).unwrap();
        assert_eq!(seen["views"], json!([
            { "externalId": "a", "unread": { "count": expected } }, { "externalId": "b", "unread": { "count": 0 } },
        ]));
        assert_eq!(seen["overview"]["total"]["count"], expected);
    }

    async fn a_key_that_is_used_on_two_nodes_at_once_records_once(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        app.service().ask(JOIN, json!({ "key": key("a"), "users": ["ada"] })).await;
        for round in 0..rounds(app) {
            let input = |text: &str| json!({ "inputs": [keyed(activity("a", Some("ben"), text), &round.to_string())] });
            let texts: Vec<&str> = (0..8).map(|place| ["one", "other"][place / 2 % 2]).collect();
            let services: Vec<Actor<'_>> = (0..8).map(|place| nodes[place % 2].service()).collect();
            let answers = join_all(services.iter().zip(&texts).map(|(service, text)| service.send(RECORD, input(text)))).await;
            let refused = answers.iter().filter(|(_, answer)| answer["errors"][0]["extensions"]["code"] == "CONFLICT").count();
            assert_eq!(refused, 4, "{answers:#?}");
            let total = counts(&app.user("ada")).await["overview"]["total"]["count"].as_i64();
            assert_eq!(total, Some(i64::try_from(round).unwrap() + 1));
        }
    }

    /// A visit reads all activities acknowledged before it, and none that began after its response: the count stays
    /// between what must be unread and what may be.
    async fn visits_that_race_with_activities_read_what_was_there(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        let (begun, acknowledged, is_over) = (AtomicI64::new(0), AtomicI64::new(0), AtomicBool::new(false));
        app.service().ask(JOIN, json!({ "key": key("a"), "users": USERS })).await;
        let recording = async {
            let recorder = async |place: usize| {
                for _ in 0..4 * rounds(app) {
                    begun.fetch_add(2, Ordering::SeqCst);
                    let inputs = json!({ "inputs": [activity("a", None, "1"), activity("a", None, "2")] });
                    nodes[place % 2].service().ask(RECORD, inputs).await;
                    acknowledged.fetch_add(2, Ordering::SeqCst);
                }
            };
            join_all((0..4).map(recorder)).await;
            is_over.store(true, Ordering::SeqCst);
        };
        let visitor = async |place: usize| {
            let user = nodes[place % 2].user(USERS[place]);
            let unread = async || counts(&user).await["overview"]["total"]["count"].as_i64().unwrap();
            while !is_over.load(Ordering::SeqCst) {
                let before = acknowledged.load(Ordering::SeqCst);
                // Two visits of the same user at once: the later position stays.
                let visit = || user.ask(VISIT, json!({ "key": key("a") }));
                join(visit(), visit()).await;
                let after = begun.load(Ordering::SeqCst);
                let least = acknowledged.load(Ordering::SeqCst) - after;
                let counted = unread().await;
                let most = begun.load(Ordering::SeqCst) - before;
                assert!((least..=most).contains(&counted), "{counted} is not within {least} and {most}");
            }
            user.ask(VISIT, json!({ "key": key("a") })).await;
            assert_eq!(unread().await, 0);
        };
        join(recording, join_all((0..USERS.len()).map(visitor))).await;
    }

    async fn who_is_taken_out_while_they_look_stays_out(app) {
        let other = second_node(app).await;
        let (service, user) = (other.as_ref().unwrap_or(app).service(), app.user("ada"));
        for round in 0..5 * rounds(app) {
            service.ask(JOIN, json!({ "key": key("a"), "users": ["ada"] })).await;
            let leaving = service.ask(LEAVE, json!({ "key": key("a"), "users": ["ada"] }));
            let looking = async {
                for _ in 0..=round % 4 {
                    user.send(VISIT, json!({ "key": key("a") })).await;
                }
            };
            join(leaving, looking).await;
            assert_eq!(counts(&user).await["views"], json!([]));
        }
    }

    async fn a_sweep_leaves_no_visit_to_a_view_that_is_gone(app) {
        open(app).await;
        for _ in 0..rounds(app) {
            app.service().ask(RECORD, json!({ "inputs": [activity("a", Some("ben"), "x")] })).await;
            app.advance(chrono::TimeDelta::days(400));
            let sweeping = async { while domain::view::sweep(&app.app).await.unwrap() > 0 {} };
            let visits = USERS.iter().map(|user| async move {
                app.user(user).ask(VISIT, json!({ "key": key("a") })).await;
                counts(&app.user(user)).await["views"].clone()
            });
            let (seen, ()) = join(join_all(visits), sweeping).await;
            for views in seen {
                assert_eq!(views, json!([{ "externalId": "a", "unread": { "count": 0 } }]));
            }
        }
    }
}
