//! The access token of the account.

use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use maintenance::scheduled::sweep::sweep_all;
use serde_json::json;

use super::server::Answer;
use super::{deliveries, furnished, look_at, node, save};
use crate::support::{TestApp, everyone, on_every_database};
use crate::webhook::{number, settle};

const USERS: [&str; 20] = [
    "u01", "u02", "u03", "u04", "u05", "u06", "u07", "u08", "u09", "u10", "u11", "u12", "u13", "u14", "u15", "u16",
    "u17", "u18", "u19", "u20",
];

/// Sends an announcement, and delivers it.
async fn announce(app: &TestApp, title: &str) {
    app.admin().announce("news", everyone(), title).await;
    settle(app, &DeliveryWorkers::default()).await;
}

on_every_database! {
    async fn a_token_is_fetched_once_for_all_and_outlives_the_node(app) {
        let (server, first) = furnished(app, &USERS).await;
        announce(&first, "1").await;
        assert_eq!((server.take().len(), server.asked()), (20, vec![false]));
        let second = node(&first, &server).await;
        announce(&second, "2").await;
        assert_eq!((server.take().len(), server.asked()), (20, vec![false]), "it stands in the database");
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM lane WHERE token LIKE '%token%'").await, 0, "and is sealed there");
        second.advance(TimeDelta::minutes(114));
        announce(&second, "3").await;
        assert_eq!((server.take().len(), server.asked().len()), (20, 1));
        second.advance(TimeDelta::minutes(1));
        announce(&second, "4").await;
        assert_eq!((server.take().len(), server.asked()), (20, vec![false, false]), "five minutes early");
    }

    async fn one_that_has_ended_is_replaced_once(app) {
        let (server, node) = furnished(app, &USERS).await;
        announce(&node, "1").await;
        server.take();
        server.expire();
        announce(&node, "2").await;
        assert_eq!((server.take().len(), server.asked()), (20, vec![false, false]), "the one that counts is another already");
        server.revoke();
        announce(&node, "3").await;
        assert_eq!((server.take().len(), server.asked()), (20, vec![false, false, false, true]), "another one is asked for once");
        let well = look_at(&node, "state failingSince lastError deadCount pendingCount").await;
        assert_eq!(well, json!({ "state": "ACTIVE", "failingSince": null, "lastError": null, "deadCount": 0, "pendingCount": 0 }));
    }

    async fn two_nodes_ask_for_one(app) {
        let (server, first) = furnished(app, &USERS).await;
        let second = node(&first, &server).await;
        for (round, title) in ["1", "2", "3"].into_iter().enumerate() {
            first.admin().announce("news", everyone(), title).await;
            let (of_first, of_second) = (DeliveryWorkers::default(), DeliveryWorkers::default());
            tokio::join!(settle(&first, &of_first), settle(&second, &of_second));
            assert_eq!((server.take().len(), server.asked().len()), (20, round + 1));
            server.expire();
        }
    }

    async fn an_account_that_changes_is_let_in_anew(app) {
        let (server, node) = furnished(app, &["ada"]).await;
        announce(&node, "1").await;
        save(&node, json!({})).await;
        announce(&node, "2").await;
        assert_eq!((server.titles(), server.asked().len()), (vec!["o-ada: 1".to_owned(), "o-ada: 2".to_owned()], 2));
    }

    async fn a_key_that_is_replaced_takes_the_token_along(app) {
        let (server, old) = furnished(app, &["ada"]).await;
        announce(&old, "1").await;
        let mut config = old.app.config.clone();
        config.keys.previous_key = config.keys.key.replace("08".repeat(32));
        let both = TestApp::at(config.clone(), old.app.clock.clone()).await;
        for _ in 0..2 {
            sweep_all(&both.app.delivery).await.unwrap();
        }
        config.keys.previous_key = None;
        let new = TestApp::at(config, old.app.clock.clone()).await;
        announce(&new, "2").await;
        assert_eq!((server.take().len(), server.asked().len()), (2, 1));
        announce(&old, "3").await;
        let waiting = deliveries(&old, json!({ "states": ["PENDING"] })).await;
        let error = "the server cannot read or store the access token of the account: its log says why";
        assert_eq!((waiting.len(), &waiting[0]["lastError"]), (1, &json!(error)));
    }

    async fn one_that_cannot_be_had_is_not_asked_for_by_each(app) {
        let (server, node) = furnished(app, &USERS).await;
        server.answers_token(Some(Answer::Code(-1, "system error")));
        announce(&node, "1").await;
        let asked = server.asked().len();
        assert!((1..=3).contains(&asked), "{asked} times");
        assert_eq!(server.messages(), 0);
        let failing = look_at(&node, "lastError restingUntil").await;
        assert_eq!(failing["lastError"], "WeChat answered -1: system error");
        assert!(failing["restingUntil"].is_string(), "{failing}");
        server.answers_token(None);
        node.advance(TimeDelta::minutes(1));
        settle(&node, &DeliveryWorkers::default()).await;
        assert_eq!(server.take().len(), 20);
    }

    async fn one_that_is_refused_and_given_out_again_is_not_asked_for_by_each(app) {
        let (server, node) = furnished(app, &USERS).await;
        announce(&node, "1").await;
        server.take();
        server.revoke();
        server.stick();
        announce(&node, "2").await;
        let another = server.asked().into_iter().filter(|wants_another| *wants_another).count();
        assert!((1..=3).contains(&another), "{another} times, of 20 a day");
        let failing = look_at(&node, "lastError restingUntil").await;
        assert!(failing["restingUntil"].is_string(), "{failing}");
        assert_eq!(failing["lastError"], "WeChat refuses the access token that it has just issued");
    }
}
