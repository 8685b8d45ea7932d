//! What is mailed is what the inbox shows unread in that moment, whatever has happened before.

use chrono::TimeDelta;
use serde_json::json;
use tidings::domain::outbound::Lanes;

use super::inbox::{address, define, letters, save_relay};
use crate::after::{announce, retract};
use crate::support::relay::Relay;
use crate::support::{TestApp, everyone, on_every_database};
use crate::webhook::settle;

const USERS: [&str; 5] = ["ada", "ben", "cleo", "dan", "eve"];
const MINUTES: i64 = 5;

/// Numbers that look like chance, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).unwrap()
    }

    fn user(&mut self) -> &'static str {
        USERS[self.below(USERS.len())]
    }
}

/// Publishes something, or has somebody do something with what there is.
async fn step(app: &TestApp, dice: &mut Dice, round: usize, number: usize) {
    let title = format!("{round}.{number}");
    let kind = ["news", "other"][dice.below(2)];
    let user = dice.user();
    match dice.below(12) {
        0 | 1 => drop(app.admin().announce(kind, everyone(), &title).await),
        2 => drop(app.admin().announce(kind, json!({ "users": [user, dice.user()] }), &title).await),
        3 => drop(app.admin().announce(kind, json!({ "groups": ["team"] }), &title).await),
        4 => app.service().message(kind, user, &title).await,
        5 => app.service().remind(kind, "7", "comment", Some(user), &title).await,
        6 => drop(app.user(user).mark("markRead", json!({ "matching": { "types": [kind] } })).await),
        7 => drop(app.user(user).mark("markUnread", json!({ "matching": { "types": [kind] } })).await),
        8 => drop(app.user(user).mark("archiveItems", json!({ "matching": { "types": [kind] } })).await),
        9 => {
            let enabled = dice.below(2) == 0;
            let query = "mutation($of: [NotificationPreferenceInput!]) { updatePreferences(types: $of) { preferences { types { code } } } }";
            app.user(user).ask(query, json!({ "of": [{ "code": kind, "enabled": enabled }] })).await;
        }
        10 => {
            let sent = announce(&app.admin(), json!({ "type": kind, "content": { "title": title } })).await;
            retract(&app.admin(), &sent["id"]).await;
        }
        _ => drop(app.user(user).titles(json!({})).await),
    }
}

on_every_database! {
    async fn whatever_happens_the_letters_are_what_is_unread_when_they_are_due(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        for kind in ["news", "other"] {
            define(app, kind, "IF_UNREAD", MINUTES).await;
        }
        address(app, &USERS).await;
        app.admin().ask("mutation { saveUserGroup(code: \"team\") { code } }", json!({})).await;
        app.admin().ask("mutation { addUserGroupMembers(code: \"team\", users: [\"ada\", \"ben\"]) { code } }", json!({})).await;
        for user in ["cleo", "dan"] {
            app.user(user).subscribe("7", &["comment"]).await;
        }
        let (mut dice, lanes, mut before) = (Dice(7), Lanes::default(), 0);
        for round in 0..12 {
            for number in 0..10 {
                step(app, &mut dice, round, number).await;
            }
            if dice.below(2) == 0 {
                settle(app, &lanes).await;
            }
            app.advance(TimeDelta::minutes(MINUTES));
            settle(app, &lanes).await;
            let mut expected = Vec::new();
            for user in USERS {
                let unread = app.user(user).titles(json!({ "read": false })).await;
                let of_round = unread.into_iter().filter(|title| title.starts_with(&format!("{round}.")));
                expected.extend(of_round.map(|title| format!("{user}: {title}")));
            }
            expected.sort();
            let of_round = |of: &String| of.contains(&format!(": {round}."));
            let got: Vec<String> = letters(&relay).into_iter().filter(of_round).collect();
            assert_eq!(got, expected, "in round {round}");
            assert_eq!(relay.got().len(), before + got.len(), "nothing of earlier rounds in round {round}");
            before = relay.got().len();
        }
        assert!(before > 40, "{before} letters were sent");
    }
}
