//! Nothing is sent to a user in their quiet hours.

use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use super::inbox::{address, define, letters, save_relay};
use crate::support::relay::{Asks, Relay, Reply};
use crate::support::{TestApp, everyone, on_every_database};
use crate::webhook::{deliveries, settle};

const SAVE: &str = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }";
const HOURS: &str = "timeZone quiet { from to }";

async fn save(app: &TestApp, user: &str, profile: Value) {
    let mut input = profile;
    input["id"] = json!(user);
    app.service().ask(SAVE, json!({ "inputs": [input] })).await;
}

/// Advances the clock by these hours and minutes, and delivers everything due.
async fn later(app: &TestApp, workers: &DeliveryWorkers, hours: i64, minutes: i64) {
    app.advance(TimeDelta::hours(hours) + TimeDelta::minutes(minutes));
    settle(app, workers).await;
}

/// From 22:00 to 7:00 in Berlin; tests start at 9:00 there.
fn night() -> Value {
    json!({ "timeZone": "Europe/Berlin", "quiet": { "from": "22:00", "to": "07:00" } })
}

on_every_database! {
    async fn what_falls_due_at_night_goes_out_in_the_morning_if_it_is_unread_then(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 5).await;
        let delivery = json!([{ "channel": "EMAIL", "delaySeconds": 300 }]);
        app.admin().define(json!({ "code": "alarm", "title": "alarm", "mandatory": true, "delivery": delivery })).await;
        address(app, &["ada", "ben"]).await;
        save(app, "ada", night()).await;
        let workers = DeliveryWorkers::default();
        later(app, &workers, 12, 54).await;
        app.admin().announce("news", everyone(), "evening").await;
        later(app, &workers, 0, 5).await;
        assert_eq!(letters(&relay), ["ada: evening", "ben: evening"], "a minute before");
        for title in ["first", "second"] {
            app.admin().announce("news", everyone(), title).await;
        }
        app.admin().announce("alarm", everyone(), "alarm").await;
        later(app, &workers, 0, 5).await;
        let at_night = ["ada: alarm", "ada: evening", "ben: alarm", "ben: evening", "ben: first", "ben: second"];
        assert_eq!(letters(&relay), at_night, "what is mandatory does not wait");
        let filter = json!({ "user": "ada", "states": ["PENDING"] });
        let put_off = deliveries(app, filter, "id attemptCount lastError").await;
        assert_eq!(put_off.len(), 2);
        assert!(put_off.iter().all(|of| of["attemptCount"] == 0 && of["lastError"].is_null()), "{put_off:?}");
        let relay_of = app.admin().ask("{ mailRelay { pendingCount deadCount } }", json!({})).await;
        assert_eq!(relay_of["mailRelay"], json!({ "pendingCount": 0, "deadCount": 0 }), "nothing is in arrears");
        let first = app.user("ada").items(json!({ "read": false })).await;
        let first = first.iter().find(|of| of["title"] == "first").unwrap();
        app.user("ada").mark("markRead", json!({ "ids": [first["id"]] })).await;
        later(app, &workers, 8, 55).await;
        assert_eq!(letters(&relay), at_night, "a minute before seven");
        later(app, &workers, 0, 1).await;
        assert_eq!(letters(&relay).len(), 7);
        let got = relay.got().pop().unwrap();
        assert_eq!((got.to.as_str(), got.header("subject").unwrap().as_str()), ("ada@users.example", "second"));
        let done = deliveries(app, json!({ "user": "ada" }), "id attemptCount state").await;
        let id = got.header("message-id").unwrap().trim_start_matches('<').split('@').next().unwrap().to_owned();
        let of = done.iter().find(|of| of["id"] == id).unwrap();
        assert!(of["attemptCount"] == 1 && of["state"] == "DELIVERED" && put_off.iter().any(|of| of["id"] == id));
        assert_eq!(done.len(), 3, "what was read is gone: {done:?}");
    }

    async fn those_who_sleep_keep_nobody_waiting(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 0).await;
        let mut users: Vec<String> = (0..250).map(|number| format!("sleeper{number:03}")).collect();
        users.push("waker".into());
        let asleep = json!({ "from": "08:00", "to": "09:00" });
        let profile = |user: &String| json!({ "id": user, "contacts": [{ "email": format!("{user}@users.example") }],
            "quiet": if user == "waker" { Value::Null } else { asleep.clone() } });
        app.service().ask(SAVE, json!({ "inputs": users.iter().map(profile).collect::<Vec<_>>() })).await;
        app.admin().announce("news", everyone(), "1").await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(letters(&relay), ["waker: 1"], "by UTC, where no zone is known");
        later(app, &workers, 1, 0).await;
        assert_eq!(letters(&relay).len(), 251);
    }

    async fn a_change_counts_from_the_next_look_on(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 0).await;
        address(app, &["ada", "ben"]).await;
        for user in ["ada", "ben"] {
            save(app, user, night()).await;
        }
        let workers = DeliveryWorkers::default();
        later(app, &workers, 14, 0).await;
        app.admin().announce("news", everyone(), "1").await;
        settle(app, &workers).await;
        save(app, "ada", json!({ "quiet": { "from": "22:00", "to": "09:00" } })).await;
        save(app, "ben", json!({ "clear": ["QUIET"] })).await;
        app.admin().announce("news", json!({ "users": ["ben"] }), "2").await;
        settle(app, &workers).await;
        assert_eq!(letters(&relay), ["ben: 2"]);
        later(app, &workers, 8, 0).await;
        assert_eq!(letters(&relay), ["ben: 1", "ben: 2"], "at seven");
        save(app, "ada", json!({ "timeZone": "Asia/Tokyo" })).await;
        later(app, &workers, 2, 0).await;
        assert_eq!(letters(&relay), ["ada: 1", "ben: 1", "ben: 2"], "it is five in the afternoon there");
    }

    async fn what_is_tried_again_waits_as_well(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 0).await;
        address(app, &["ada"]).await;
        save(app, "ada", json!({ "quiet": { "from": "08:01", "to": "12:00" } })).await;
        relay.on(Asks::Text, Reply::says("451 4.3.0 not now"));
        app.admin().announce("news", everyone(), "1").await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        relay.be_kind();
        later(app, &workers, 0, 2).await;
        assert_eq!(letters(&relay), Vec::<String>::new());
        let waiting = deliveries(app, json!({}), "attemptCount lastStatus state").await;
        assert_eq!(waiting, [json!({ "attemptCount": 1, "lastStatus": 451, "state": "PENDING" })]);
        later(app, &workers, 3, 58).await;
        assert_eq!(letters(&relay), ["ada: 1"]);
        let done = deliveries(app, json!({}), "attemptCount state").await;
        assert_eq!(done, [json!({ "attemptCount": 2, "state": "DELIVERED" })]);
    }

    async fn hours_are_shown_cleared_and_checked(app) {
        save(app, "ada", night()).await;
        let own = app.user("ada").ask(&format!("{{ viewer {{ {HOURS} }} }}"), json!({})).await["viewer"].take();
        assert_eq!(own, night());
        let shown = format!("{{ inboxUser(id: \"ada\") {{ {HOURS} }} exportUser(id: \"ada\") }}");
        let seen = app.service().ask(&shown, json!({})).await;
        assert_eq!((&seen["inboxUser"], &seen["exportUser"]["quiet"]), (&own, &own["quiet"]));
        assert_eq!(seen["exportUser"]["timeZone"], "Europe/Berlin");
        for (profile, expected) in [
            (json!({ "timeZone": "Mars/Olympus" }), "timeZone: is not a time zone"),
            (json!({ "timeZone": "" }), "timeZone: is not a time zone"),
            (json!({ "quiet": { "from": "22:00", "to": "22:00" } }), "quiet.to: must differ from `from`"),
            (json!({ "quiet": { "from": "24:00", "to": "07:00" } }), "quiet.from: must be a time of day"),
            (json!({ "quiet": { "from": "22:00", "to": "7:00" } }), "quiet.to: must be a time of day"),
        ] {
            let mut input = profile;
            input["id"] = json!("ada");
            let other = json!({ "id": "ben", "timeZone": "Asia/Tokyo" });
            let why = app.service().refused(SAVE, json!({ "inputs": [other, input] })).await;
            assert!(why.starts_with(&format!("BAD_USER_INPUT inputs[1].{expected}")), "{why}");
        }
        let forbidden = app.user("ada").refused(SAVE, json!({ "inputs": [{ "id": "ada", "timeZone": "UTC" }] })).await;
        assert!(forbidden.starts_with("FORBIDDEN"), "{forbidden}");
        save(app, "ada", json!({ "name": "Ada" })).await;
        assert_eq!(app.service().ask(&shown, json!({})).await["inboxUser"], own, "what is left out stays");
        save(app, "ada", json!({ "clear": ["QUIET", "TIME_ZONE"] })).await;
        let seen = app.service().ask(&shown, json!({})).await;
        assert_eq!(seen["inboxUser"], json!({ "timeZone": null, "quiet": null }));
        assert!(app.service().ask("{ inboxUser(id: \"ben\") { timeZone } }", json!({})).await["inboxUser"].is_null());
    }

    async fn users_say_their_own_hours_and_nobody_elses(app) {
        let set = "mutation($of: DeliveryHoursInput!, $user: ID) { updateDeliveryHours(input: $of, user: $user) { \
            viewer { timeZone quiet { from to } digest { at weekday } } inboxUser { timeZone quiet { from to } digest { at weekday } } } }";
        let hours = json!({ "timeZone": "Europe/Berlin", "quiet": { "from": "22:00", "to": "07:00" }, "digest": { "at": "18:30", "weekday": "FRIDAY" } });
        let ada = app.user("ada");
        let done = ada.ask(set, json!({ "of": hours })).await["updateDeliveryHours"].take();
        assert_eq!(done, json!({ "viewer": hours, "inboxUser": null }));
        let part = json!({ "timeZone": null, "quiet": null, "digest": { "at": "19:00" }, "clear": ["QUIET"] });
        let done = ada.ask(set, json!({ "of": part, "user": "ada" })).await["updateDeliveryHours"].take();
        let now = json!({ "timeZone": "Europe/Berlin", "quiet": null, "digest": { "at": "19:00", "weekday": null } });
        assert_eq!(done["viewer"], now, "what is left out stays");
        for (of, user, expected) in [
            (json!({ "timeZone": "Mars/Olympus" }), "ada", "BAD_USER_INPUT input.timeZone: is not a time zone"),
            (json!({ "quiet": { "from": "22:00", "to": "22:00" } }), "ada", "BAD_USER_INPUT input.quiet.to: must differ from `from`"),
            (json!({ "digest": { "at": "8:00" } }), "ada", "BAD_USER_INPUT input.digest.at: must be a time of day"),
            (json!({ "timeZone": "UTC", "clear": ["TIME_ZONE"] }), "ada", "BAD_USER_INPUT input.clear: names TIME_ZONE"),
            (json!({ "timeZone": "UTC" }), "ben", "NOT_FOUND user"),
        ] {
            let why = ada.refused(set, json!({ "of": of, "user": user })).await;
            assert!(why.starts_with(expected), "{why}");
        }
        let why = app.service().refused(set, json!({ "of": {} })).await;
        assert!(why.starts_with("BAD_USER_INPUT user: is required"), "{why}");
        let done = app.service().ask(set, json!({ "of": { "timeZone": "Asia/Tokyo" }, "user": "ada" })).await;
        assert_eq!(done["updateDeliveryHours"]["inboxUser"]["timeZone"], "Asia/Tokyo", "what is said last counts");
        let own = app.user("ada").ask("{ viewer { timeZone digest { at } } }", json!({})).await["viewer"].take();
        assert_eq!(own, json!({ "timeZone": "Asia/Tokyo", "digest": { "at": "19:00" } }));
    }
}
