//! Emails that a relay cannot deliver to one recipient, and the date of emails.

use chrono::{DateTime, TimeDelta};
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use super::inbox::{address, define, letters, save_relay};
use crate::support::relay::{Asks, Relay, Reply};
use crate::support::{TestApp, everyone, on_every_database};
use crate::webhook::{self, settle};

/// The delays between the nine attempts in seconds, each with the maximum jitter of 20 %.
const PAUSES: [i64; 8] = [6, 72, 360, 2_160, 8_640, 21_600, 43_200, 43_200];

async fn of(app: &TestApp, user: &str) -> Vec<Value> {
    webhook::deliveries(app, json!({ "user": user }), "id state attemptCount lastStatus lastError").await
}

/// Checks that the relay has no failure.
async fn assert_relay_is_well(app: &TestApp) {
    let relay = "{ mailRelay { state failingSince restingUntil lastError } }";
    let relay = app.admin().ask(relay, json!({})).await["mailRelay"].take();
    assert_eq!(relay, json!({ "state": "ACTIVE", "failingSince": null, "restingUntil": null, "lastError": null }));
}

on_every_database! {
    async fn a_full_mailbox_holds_up_its_own_letters_alone(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "ALWAYS", 0).await;
        let users: Vec<String> = (0..20).map(|number| format!("u{number}")).collect();
        let users: Vec<&str> = users.iter().map(String::as_str).chain(["full", "grey"]).collect();
        address(app, &users).await;
        relay.on_letters_to("full@users.example", Asks::Rcpt, Reply::says("452 4.2.2 full"));
        relay.on_letters_to("grey@users.example", Asks::Text, Reply::says("452 4.7.1 greylisted"));
        for title in ["1", "2", "3", "4", "5", "6"] {
            app.admin().announce("news", everyone(), title).await;
        }
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(letters(&relay).len(), 120, "the others have all of theirs, and no time has passed");
        assert_relay_is_well(app).await;
        for (tries, pause) in (1..).zip(PAUSES) {
            for user in ["full", "grey"] {
                let waiting = of(app, user).await;
                let is_so = |of: &Value| of["state"] == "PENDING" && of["attemptCount"] == tries && of["lastStatus"] == 452;
                assert!(waiting.iter().all(is_so) && waiting.len() == 6, "{waiting:?}");
            }
            app.advance(TimeDelta::seconds(pause / 3));
            settle(app, &workers).await;
            let early = of(app, "full").await;
            assert!(early.iter().all(|of| of["attemptCount"] == tries), "not before the pause is over: {early:?}");
            app.advance(TimeDelta::seconds(pause - pause / 3 + 1));
            settle(app, &workers).await;
        }
        let mut ids = Vec::new();
        for (user, said) in [("full", "4.2.2 full"), ("grey", "4.7.1 greylisted")] {
            let dead = of(app, user).await;
            let told = format!("the relay says 452: {said}");
            let is_so = |of: &Value| of["state"] == "DEAD" && of["attemptCount"] == 9 && of["lastError"] == told;
            assert!(dead.iter().all(is_so) && dead.len() == 6, "{dead:?}");
            let contacts = "query($id: ID!) { inboxUser(id: $id) { contacts { refusedSince } } }";
            let contacts = app.service().ask(contacts, json!({ "id": user })).await["inboxUser"]["contacts"].take();
            assert_eq!(contacts, json!([{ "refusedSince": null }]), "the address is right");
            ids.extend(dead.into_iter().map(|mut of| of["id"].take()));
        }
        assert_relay_is_well(app).await;
        relay.be_kind();
        let again = "mutation($ids: [ID!]!) { replayOutboundDeliveries(select: { ids: $ids }) { replayedCount } }";
        app.service().ask(again, json!({ "ids": ids })).await;
        settle(app, &workers).await;
        assert_eq!(letters(&relay).len(), 132);
    }

    async fn a_letter_has_the_date_of_its_first_attempt(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "ALWAYS", 20 * 24 * 60).await;
        address(app, &["ada"]).await;
        app.admin().announce("news", everyone(), "1").await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        app.advance(TimeDelta::days(20));
        let first_at = app.now();
        for (asks, says) in [(Asks::Rcpt, "450 4.2.1 greylisted"), (Asks::Text, "451 4.3.0 not now")] {
            relay.on(asks, Reply::says(says));
            settle(app, &workers).await;
            relay.be_kind();
            app.advance(TimeDelta::minutes(2));
        }
        settle(app, &workers).await;
        let again = "mutation($ids: [ID!]!) { replayOutboundDeliveries(select: { ids: $ids }) { replayedCount } }";
        app.advance(TimeDelta::days(3));
        app.service().ask(again, json!({ "ids": [of(app, "ada").await[0]["id"]] })).await;
        settle(app, &workers).await;
        let dates = relay.got().into_iter().map(|got| DateTime::parse_from_rfc2822(&got.header("date").unwrap()).unwrap().timestamp());
        let dates: Vec<i64> = dates.collect();
        assert_eq!(dates, [first_at.timestamp(), app.now().timestamp()]);
    }
}
