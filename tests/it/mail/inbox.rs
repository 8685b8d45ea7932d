//! Emails about inbox items to users who have not seen them there.

use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use domain::notification::publish_due;
use maintenance::scheduled::sweep::sweep_all;
use serde_json::{Value, json};

use crate::after::{announce, retract, update};
use crate::support::relay::{Asks, Relay, Reply};
use crate::support::{TestApp, everyone, on_every_database};
use crate::webhook::{self, number, settle};

/// Creates the tenant's relay.
pub async fn save_relay(app: &TestApp, relay: &Relay) -> Value {
    let save = "mutation($input: MailRelayInput!) { saveMailRelay(input: $input) { id url from state lastError } }";
    let input =
        json!({ "url": relay.url(), "from": "Shop <noreply@shop.example>", "linkBase": "https://shop.example/app/" });
    app.admin().ask(save, json!({ "input": input })).await["saveMailRelay"].take()
}

/// Gives each user an address made of their id.
pub async fn address(app: &TestApp, users: &[&str]) {
    let of = |user: &&str| json!({ "id": user, "contacts": [{ "email": format!("{user}@users.example") }] });
    let save = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }";
    app.service().ask(save, json!({ "inputs": users.iter().map(of).collect::<Vec<_>>() })).await;
}

/// Defines a type that emails its items after some minutes.
pub async fn define(app: &TestApp, code: &str, condition: &str, minutes: i64) {
    let delivery = json!([{ "channel": "EMAIL", "condition": condition, "delaySeconds": minutes * 60 }]);
    app.admin().define(json!({ "code": code, "title": code, "delivery": delivery })).await;
}

/// The sent emails, sorted: the name before the `@`, and the subject.
pub fn letters(relay: &Relay) -> Vec<String> {
    let one = |got: crate::support::relay::Got| {
        format!("{}: {}", got.to.split('@').next().unwrap(), got.header("subject").unwrap())
    };
    let mut all: Vec<String> = relay.got().into_iter().map(one).collect();
    all.sort();
    all
}

/// Returns deliveries with all their fields, newest first.
async fn deliveries(app: &TestApp, filter: Value) -> Vec<Value> {
    let fields = "id channel state attemptCount lastStatus lastError endpointId event notificationId user { id }";
    webhook::deliveries(app, filter, fields).await
}

on_every_database! {
    async fn whoever_has_not_looked_gets_a_letter_whatever_the_audience(app) {
        let relay = Relay::start().await;
        define(app, "news", "IF_UNREAD", 5).await;
        app.admin().define_type("quiet").await;
        app.service().message("news", "ada", "before there was a relay").await;
        let saved = save_relay(app, &relay).await;
        assert_eq!(saved["url"], relay.url());
        address(app, &["ada", "ben", "eve"]).await;
        app.user("dan").titles(json!({})).await;
        app.admin().ask("mutation { saveUserGroup(code: \"team\") { code } }", json!({})).await;
        app.admin().ask("mutation { addUserGroupMembers(code: \"team\", users: [\"ben\", \"dan\"]) { code } }", json!({})).await;
        app.user("eve").subscribe("7", &["comment"]).await;
        app.user("ada").subscribe("7", &["comment"]).await;
        let by = app.admin();
        by.announce("news", everyone(), "everyone").await;
        by.announce("quiet", everyone(), "quiet").await;
        by.announce("news", json!({ "users": ["ada", "dan"] }), "named").await;
        by.announce("news", json!({ "groups": ["team"] }), "team").await;
        app.service().message("news", "eve", "message").await;
        app.service().remind("news", "7", "comment", Some("ada"), "reminder").await;
        let soon = (app.now() + TimeDelta::minutes(1)).to_rfc3339();
        announce(&by, json!({ "publishAt": soon, "audience": { "users": ["ben"] }, "content": { "title": "scheduled" } })).await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(letters(&relay), Vec::<String>::new(), "not before it is due");
        app.advance(TimeDelta::minutes(1));
        publish_due(&app.app).await.unwrap();
        app.advance(TimeDelta::minutes(4));
        settle(app, &workers).await;
        let first = ["ada: everyone", "ada: named", "ben: everyone", "ben: team", "eve: everyone", "eve: message", "eve: reminder"];
        assert_eq!(letters(&relay), first);
        app.advance(TimeDelta::minutes(1));
        settle(app, &workers).await;
        assert_eq!(letters(&relay).len(), 8, "{:?}", letters(&relay));
        assert!(letters(&relay).contains(&"ben: scheduled".to_owned()));
        app.advance(TimeDelta::days(1));
        settle(app, &workers).await;
        assert_eq!(letters(&relay).len(), 8, "each comes once");
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM dispatch").await, 0);
        let all = deliveries(app, json!({ "channel": "EMAIL", "user": "ben" })).await;
        assert_eq!(all.len(), 3);
        assert!(all.iter().all(|of| of["state"] == "DELIVERED" && of["user"]["id"] == "ben" && of["endpointId"].is_null()), "{all:?}");
        assert_eq!(deliveries(app, json!({ "channel": "WEBHOOK" })).await.len(), 0);
        assert_eq!(relay.got()[0].header("message-id").unwrap().matches("@shop.example").count(), 1);
        let named = "SELECT COUNT(*) AS many FROM recipient";
        assert!(number(app, named).await > 0, "other channels may come to them later");
        app.advance(TimeDelta::days(40));
        sweep_all(&app.app.delivery).await.unwrap();
        assert_eq!(number(app, named).await, 0, "not for ever");
    }

    async fn what_was_seen_taken_back_or_not_wanted_is_not_sent(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 5).await;
        define(app, "bill", "ALWAYS", 5).await;
        address(app, &["ada", "ben", "cleo", "eve"]).await;
        let by = app.admin();
        by.announce("news", everyone(), "kept").await;
        by.announce("bill", everyone(), "bill").await;
        let back = announce(&by, json!({ "content": { "title": "back" } })).await;
        let soon = (app.now() + TimeDelta::minutes(2)).to_rfc3339();
        announce(&by, json!({ "content": { "title": "brief" }, "expiresAt": soon })).await;
        let reworded = announce(&by, json!({ "content": { "title": "first words" } })).await;
        app.user("ben").mark("markRead", json!({ "matching": {} })).await;
        app.user("cleo").mark("archiveItems", json!({ "matching": {} })).await;
        app.user("eve").ask("mutation { updatePreferences(types: [{ code: \"news\", enabled: false }]) { preferences { types { code } } } }", json!({})).await;
        by.announce("news", everyone(), "after eve has switched it off").await;
        retract(&by, &back["id"]).await;
        update(&by, &reworded["id"], json!({ "title": "second words" })).await;
        app.advance(TimeDelta::minutes(5));
        settle(app, &DeliveryWorkers::default()).await;
        let expected = [
            "ada: after eve has switched it off", "ada: bill", "ada: kept", "ada: second words",
            "ben: after eve has switched it off", "ben: bill", "cleo: after eve has switched it off",
            "eve: bill", "eve: kept", "eve: second words",
        ];
        assert_eq!(letters(&relay), expected);
    }

    async fn an_address_that_does_not_exist_is_left_alone_and_nobody_else_suffers(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 0).await;
        address(app, &["ada", "gone"]).await;
        relay.on_letters_to("gone@users.example", Asks::Rcpt, Reply::says("550 5.1.1 <gone@users.example> nobody here"));
        let workers = DeliveryWorkers::default();
        for title in ["1", "2", "3", "4"] {
            app.admin().announce("news", everyone(), title).await;
            settle(app, &workers).await;
        }
        assert_eq!(letters(&relay), ["ada: 1", "ada: 2", "ada: 3", "ada: 4"]);
        let dead = deliveries(app, json!({ "states": ["DEAD"] })).await;
        assert_eq!(dead.len(), 3, "the fourth was not tried: {dead:?}");
        assert!(dead.iter().all(|of| of["lastStatus"] == 550 && of["attemptCount"] == 1 && of["user"]["id"] == "gone"));
        assert!(!format!("{dead:?}").contains("gone@users"), "addresses are in no error: {dead:?}");
        let contacts = "{ inboxUser(id: \"gone\") { contacts { address refusedSince } } }";
        let of = app.service().ask(contacts, json!({})).await["inboxUser"]["contacts"].take();
        assert_eq!(of[0]["address"], "gone@users.example");
        assert!(of[0]["refusedSince"].is_string(), "{of}");
        relay.be_kind();
        address(app, &["gone"]).await;
        app.admin().announce("news", everyone(), "5").await;
        settle(app, &workers).await;
        assert_eq!(letters(&relay).last().unwrap(), "gone: 5");
    }

    async fn a_relay_that_is_away_gets_it_later_under_the_same_id(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 0).await;
        address(app, &["ada", "ben"]).await;
        relay.on(Asks::Text, Reply::says("451 4.3.0 not now"));
        app.admin().announce("news", everyone(), "1").await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        let waiting = deliveries(app, json!({ "states": ["PENDING"] })).await;
        assert_eq!(waiting.len(), 2);
        assert!(waiting.iter().all(|of| of["lastStatus"] == 451 && of["lastError"].is_string()), "{waiting:?}");
        app.user("ben").mark("markRead", json!({ "matching": {} })).await;
        relay.be_kind();
        app.advance(TimeDelta::minutes(2));
        settle(app, &workers).await;
        assert_eq!(letters(&relay), ["ada: 1"], "ben has read it meanwhile");
        let done = deliveries(app, json!({})).await;
        assert_eq!(done.len(), 1);
        let id = format!("<{}@shop.example>", done[0]["id"].as_str().unwrap());
        assert_eq!(relay.got()[0].header("message-id"), Some(id));
        let again = "mutation($ids: [ID!]!) { replayOutboundDeliveries(select: { ids: $ids }) { replayedCount } }";
        app.service().ask(again, json!({ "ids": [done[0]["id"]] })).await;
        settle(app, &workers).await;
        assert_eq!(relay.got()[0].header("message-id"), relay.got()[1].header("message-id"));
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        app.service().ask(again, json!({ "ids": [done[0]["id"]] })).await;
        settle(app, &workers).await;
        let kept = deliveries(app, json!({})).await;
        assert_eq!(relay.got().len(), 2, "she has read it");
        assert_eq!((&kept[0]["state"], &kept[0]["lastStatus"]), (&json!("DELIVERED"), &json!(250)), "it was delivered before");
    }

    async fn who_dies_in_a_turn_leaves_the_rest_to_others(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "ALWAYS", 0).await;
        let users: Vec<String> = (0..40).map(|n| format!("u{n}")).collect();
        address(app, &users.iter().map(String::as_str).collect::<Vec<_>>()).await;
        app.admin().announce("news", everyone(), "1").await;
        relay.on(Asks::Text, Reply::Hangs);
        let dying = DeliveryWorkers::default();
        let made = "SELECT COUNT(*) AS many FROM delivery";
        while number(app, made).await < 40 || relay.connections() < 16 {
            dying.start_due(&app.app.delivery).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        drop(dying);
        relay.be_kind();
        app.advance(TimeDelta::seconds(31));
        let workers = DeliveryWorkers::default();
        workers.start_due(&app.app.delivery).await.unwrap();
        let open = "SELECT COUNT(*) AS many FROM delivery WHERE state <> 2";
        for _ in 0..crate::support::PATIENCE.as_millis() / 10 {
            if number(app, open).await == 0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        // Emails in flight at the crash may arrive twice.
        let mut all = letters(&relay);
        all.dedup();
        assert_eq!(all.len(), 40, "nobody has sent anything since");
    }

    async fn what_is_said_last_of_a_user_in_a_call_counts(app) {
        let save = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }";
        let ada = |address: &str| json!({ "id": "ada", "contacts": [{ "email": format!("{address}@users.example") }] });
        let of = async || app.user("ada").ask("{ viewer { contacts { address } } }", json!({})).await["viewer"].take();
        let inputs: Vec<Value> = (0..20).map(|n| ada(&format!("a{n}"))).collect();
        app.service().ask(save, json!({ "inputs": inputs })).await;
        assert_eq!(of().await, json!({ "contacts": [{ "address": "a19@users.example" }] }));
        app.service().ask(save, json!({ "inputs": [ada("b"), { "id": "ada", "clear": ["CONTACTS"] }] })).await;
        assert_eq!(of().await, json!({ "contacts": [] }));
    }

    async fn addresses_are_their_owners_and_go_with_them(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        define(app, "news", "IF_UNREAD", 5).await;
        address(app, &["ada", "ben"]).await;
        app.admin().announce("news", everyone(), "1").await;
        let export = app.service().ask("{ exportUser(id: \"ada\") }", json!({})).await;
        assert!(export.to_string().contains("ada@users.example"), "{export}");
        let own = app.user("ben").ask("{ viewer { contacts { channel address } } }", json!({})).await;
        assert_eq!(own["viewer"]["contacts"], json!([{ "channel": "EMAIL", "address": "ben@users.example" }]));
        app.service().ask("mutation { eraseUser(id: \"ada\") { __typename } }", json!({})).await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM contact").await, 1);
        app.advance(TimeDelta::minutes(5));
        settle(app, &DeliveryWorkers::default()).await;
        assert_eq!(letters(&relay), ["ben: 1"]);
        app.admin().ask("mutation { deleteMailRelay { deletedId } }", json!({})).await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM delivery").await, 0);
        let named = json!({ "users": ["ben"] });
        app.admin().announce("news", named, "2").await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM recipient").await, 1);
        app.advance(TimeDelta::days(400));
        sweep_all(&app.app.delivery).await.unwrap();
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM recipient").await, 0, "the sweep takes what nobody fetched");
    }
}
