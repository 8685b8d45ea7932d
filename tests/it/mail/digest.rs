//! Digests: the unread items of an inbox at its user's hour, in one email.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::inbox::{address, define, letters, save_relay};
use crate::after::{announce, retract};
use crate::support::relay::{Asks, Got, Relay, Reply};
use crate::support::{TestApp, everyone, on_every_database};
use crate::webhook::{deliveries, number, settle};

const SAVE: &str = "mutation($inputs: [UserProfileInput!]!) { saveUserProfiles(inputs: $inputs) { id } }";

async fn save(app: &TestApp, user: &str, profile: Value) {
    let mut input = profile;
    input["id"] = json!(user);
    app.service().ask(SAVE, json!({ "inputs": [input] })).await;
}

/// Defines a type that puts its items into digests.
async fn digest_of(app: &TestApp, code: &str, is_mandatory: bool) {
    let delivery = json!([{ "channel": "EMAIL", "digest": true }]);
    app.admin().define(json!({ "code": code, "title": code, "mandatory": is_mandatory, "delivery": delivery })).await;
}

/// Starts a relay, and gives users addresses. Tests start at 8:00 UTC, so the first digest is on the next day.
async fn start(app: &TestApp, users: &[&str]) -> Relay {
    let relay = Relay::start().await;
    save_relay(app, &relay).await;
    digest_of(app, "news", false).await;
    address(app, users).await;
    relay
}

/// Advances the clock by this many hours, and delivers everything due.
async fn later(app: &TestApp, hours: i64) {
    app.advance(TimeDelta::hours(hours));
    settle(app, &DeliveryWorkers::default()).await;
}

/// The titles that an email lists, in order, from its text part: unencoded characters in these tests.
pub fn listed(got: &Got) -> Vec<String> {
    let text = got.raw.split("\r\n\r\n").collect::<Vec<_>>().join("\r\n").replace("=\r\n", "");
    let text = text.split("text/html").next().unwrap().to_owned();
    text.lines().filter(|line| line.starts_with("item ")).map(ToOwned::to_owned).collect()
}

/// The unread items of the digest types, as the API returns them.
async fn unread(app: &TestApp, user: &str) -> Vec<String> {
    app.user(user).titles(json!({ "read": false, "types": ["news", "more"] })).await
}

/// Submits the form of an email's unsubscribe link, and returns the page.
async fn unsubscribe(app: &TestApp, got: &Got) -> (StatusCode, String) {
    let link = got.header("list-unsubscribe").unwrap();
    let path = link.trim_matches(['<', '>']).strip_prefix("https://inbox.example.com").unwrap().to_owned();
    let asked = app.routes.clone().oneshot(Request::get(&path).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(asked.status(), StatusCode::OK);
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    let request = request.body(Body::from("List-Unsubscribe=One-Click")).unwrap();
    let answer = app.routes.clone().oneshot(request).await.unwrap();
    let status = answer.status();
    (status, String::from_utf8(to_bytes(answer.into_body(), usize::MAX).await.unwrap().to_vec()).unwrap())
}

on_every_database! {
    async fn a_digest_is_the_unread_list_of_the_api_at_that_moment(app) {
        let relay = start(app, &["ada", "ben", "cleo", "dan"]).await;
        digest_of(app, "more", false).await;
        define(app, "order", "IF_UNREAD", 0).await;
        app.admin().define_type("quiet").await;
        for number in 1..=3 {
            app.admin().announce("news", everyone(), &format!("item {number}")).await;
        }
        app.service().message("more", "ada", "item 4").await;
        app.service().message("order", "ada", "at once").await;
        app.service().message("quiet", "ada", "item of no rule").await;
        let back = announce(&app.admin(), json!({ "content": { "title": "item taken back" } })).await;
        later(app, 0).await;
        assert_eq!(letters(&relay), ["ada: at once"]);
        let first = app.user("ada").items(json!({ "read": false })).await;
        let first = first.iter().find(|of| of["title"] == "item 2").unwrap();
        app.user("ada").mark("markRead", json!({ "ids": [first["id"]] })).await;
        app.user("ben").mark("markRead", json!({ "matching": {} })).await;
        app.user("cleo").mark("archiveItems", json!({ "matching": {} })).await;
        retract(&app.admin(), &back["id"]).await;
        later(app, 23).await;
        assert_eq!(letters(&relay).len(), 1, "an hour before");
        later(app, 1).await;
        assert_eq!(letters(&relay), ["ada: 3 unread messages", "ada: at once", "dan: 3 unread messages"]);
        for got in relay.got().into_iter().filter(|got| got.header("subject").unwrap().ends_with("messages")) {
            let user = got.to.split('@').next().unwrap();
            assert_eq!(listed(&got), unread(app, user).await, "{}", got.raw);
        }
        assert_eq!(unread(app, "ada").await, ["item 4", "item 3", "item 1"]);
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM digest WHERE next_at IS NOT NULL").await, 0);
        later(app, 24 * 7).await;
        assert_eq!(letters(&relay).len(), 3, "nothing is new");
        app.service().message("news", "ada", "item 5").await;
        later(app, 0).await;
        later(app, 24).await;
        let got = relay.got().pop().unwrap();
        assert_eq!(got.header("subject").unwrap(), "4 unread messages", "what is still unread is told again with it");
        assert_eq!(listed(&got), unread(app, "ada").await);
        assert_eq!(relay.got().len(), 4);
    }

    async fn what_was_read_between_the_hour_and_the_attempt_is_not_there(app) {
        let relay = start(app, &["ada", "ben"]).await;
        app.admin().announce("news", everyone(), "item 1").await;
        later(app, 0).await;
        relay.on(Asks::Text, Reply::says("451 4.3.0 not now"));
        later(app, 24).await;
        let waiting = deliveries(app, json!({}), "event state channel notificationId user { id }").await;
        assert_eq!(waiting.len(), 2, "{waiting:?}");
        assert!(waiting.iter().all(|of| of["event"] == "DIGEST" && of["state"] == "PENDING" && of["notificationId"].is_null()));
        relay.be_kind();
        app.user("ada").mark("markRead", json!({ "matching": {} })).await;
        app.admin().announce("news", json!({ "users": ["ben"] }), "item 2").await;
        later(app, 1).await;
        assert_eq!(letters(&relay), ["ben: 2 unread messages"]);
        assert_eq!(listed(&relay.got()[0]), ["item 2", "item 1"]);
        let done = deliveries(app, json!({ "events": ["DIGEST"] }), "id state attemptCount").await;
        assert_eq!((done.len(), &done[0]["state"]), (1, &json!("DELIVERED")));
        let again = "mutation($ids: [ID!]!) { replayOutboundDeliveries(select: { ids: $ids }) { replayedCount } }";
        app.service().ask(again, json!({ "ids": [done[0]["id"]] })).await;
        later(app, 0).await;
        assert_eq!(relay.got()[0].header("message-id"), relay.got()[1].header("message-id"));
        let counted = app.admin().ask("{ sentNotifications(first: 5) { nodes { deliveries { delivered } } } }", json!({})).await;
        let counted = &counted["sentNotifications"]["nodes"];
        assert_eq!(counted, &json!([{ "deliveries": [] }, { "deliveries": [] }]), "a digest is of none of them alone");
    }

    async fn a_digest_lists_the_newest_and_says_how_many_more_there_are(app) {
        let relay = start(app, &["ada"]).await;
        save(app, "ada", json!({ "locale": "de-CH", "contacts": [{ "email": "ada@users.example" }, { "email": "ada@home.example" }] })).await;
        let body = format!("{} the end", "many words ".repeat(40));
        for number in 0..23 {
            let content = json!({ "title": format!("item <{number}>"), "body": body, "link": format!("/orders/{number}") });
            let input = json!({ "type": "news", "receiver": "ada", "content": content });
            let send = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { replayed } }";
            app.service().ask(send, json!({ "input": input })).await;
        }
        later(app, 0).await;
        later(app, 24).await;
        let got = relay.got();
        let mut to: Vec<&str> = got.iter().map(|got| got.to.as_str()).collect();
        to.sort_unstable();
        assert_eq!(to, ["ada@home.example", "ada@users.example"], "one to each address");
        let got = &got[0];
        assert_eq!(got.header("subject").unwrap(), "23 ungelesene Nachrichten");
        let raw = got.raw.replace("=\r\n", "").replace("=3D", "=");
        assert_eq!(listed(got).len(), 20);
        assert!(raw.contains("und 3 weitere") && raw.contains("https://shop.example/orders/22"), "{raw}");
        assert!(raw.contains("item &lt;22&gt;") && !raw.contains("item <2>") && !raw.contains("the end"), "{raw}");
    }

    async fn the_hour_is_the_users_own(app) {
        let relay = start(app, &["usual", "berlin", "tokyo", "weekly"]).await;
        save(app, "berlin", json!({ "timeZone": "Europe/Berlin", "digest": { "at": "18:30" } })).await;
        save(app, "tokyo", json!({ "timeZone": "Asia/Tokyo" })).await;
        save(app, "weekly", json!({ "digest": { "at": "08:00", "weekday": "TUESDAY" } })).await;
        // A Saturday at 8:00 UTC: 9:00 in Berlin, and 17:00 in Tokyo.
        app.admin().announce("news", everyone(), "item 1").await;
        later(app, 0).await;
        let mut told = Vec::new();
        for hour in 0..80 {
            let before = relay.got().len();
            app.advance(TimeDelta::minutes(30));
            settle(app, &DeliveryWorkers::default()).await;
            app.advance(TimeDelta::minutes(30));
            settle(app, &DeliveryWorkers::default()).await;
            let since = relay.got().split_off(before);
            told.extend(since.iter().map(|got| format!("{}: {}", got.to.split('@').next().unwrap(), hour + 1)));
        }
        assert_eq!(told, ["berlin: 10", "tokyo: 15", "usual: 24", "weekly: 72"]);
        save(app, "tokyo", json!({ "digest": { "at": "23:00" } })).await;
        let shown = "timeZone digest { at weekday }";
        let own = app.user("weekly").ask(&format!("{{ viewer {{ {shown} }} }}"), json!({})).await["viewer"].take();
        assert_eq!(own, json!({ "timeZone": null, "digest": { "at": "08:00", "weekday": "TUESDAY" } }));
        let seen = app.service().ask(&format!("{{ inboxUser(id: \"usual\") {{ {shown} }} }}"), json!({})).await;
        assert_eq!(seen["inboxUser"]["digest"], Value::Null);
        let export = app.service().ask("{ exportUser(id: \"weekly\") }", json!({})).await;
        assert_eq!(export["exportUser"]["digest"], json!({ "at": "08:00", "weekday": "TUESDAY" }));
        save(app, "weekly", json!({ "clear": ["DIGEST"] })).await;
        let own = app.user("weekly").ask("{ viewer { digest { at } } }", json!({})).await;
        assert_eq!(own["viewer"]["digest"], Value::Null);
        let wrong = json!({ "inputs": [{ "id": "weekly", "digest": { "at": "8:00" } }] });
        let why = app.service().refused(SAVE, wrong).await;
        assert!(why.starts_with("BAD_USER_INPUT inputs[0].digest.at: must be a time of day"), "{why}");
    }

    async fn quiet_hours_hold_digests_back_and_they_are_of_what_is_unread_then(app) {
        let relay = start(app, &["ada", "ben"]).await;
        for user in ["ada", "ben"] {
            save(app, user, json!({ "quiet": { "from": "22:00", "to": "09:00" } })).await;
        }
        app.admin().announce("news", everyone(), "item 1").await;
        later(app, 0).await;
        later(app, 24).await;
        assert_eq!(letters(&relay), Vec::<String>::new());
        app.user("ben").mark("markRead", json!({ "matching": {} })).await;
        later(app, 1).await;
        assert_eq!(letters(&relay), ["ada: 1 unread message"]);
    }

    async fn what_a_digest_that_was_late_has_told_makes_no_other_one(app) {
        let relay = start(app, &["ada"]).await;
        save(app, "ada", json!({ "quiet": { "from": "22:00", "to": "09:00" } })).await;
        app.admin().announce("news", everyone(), "item 1").await;
        later(app, 0).await;
        later(app, 24).await;
        app.advance(TimeDelta::minutes(30));
        app.admin().announce("news", everyone(), "item 2").await;
        settle(app, &DeliveryWorkers::default()).await;
        later(app, 1).await;
        let got = relay.got().pop().unwrap();
        assert_eq!(listed(&got), ["item 2", "item 1"]);
        for _ in 0..3 {
            later(app, 24).await;
        }
        assert_eq!(letters(&relay), ["ada: 2 unread messages"], "nothing is new");
        app.admin().announce("news", everyone(), "item 3").await;
        later(app, 0).await;
        later(app, 48).await;
        assert_eq!(letters(&relay), ["ada: 2 unread messages", "ada: 3 unread messages"]);
    }

    async fn who_wants_no_letters_of_a_type_gets_no_digest_of_it(app) {
        let relay = start(app, &["ada", "ben"]).await;
        digest_of(app, "more", false).await;
        digest_of(app, "bill", true).await;
        let off = "mutation { updatePreferences(channels: [{ type: \"news\", channel: EMAIL, enabled: false }]) { preferences { types { code } } } }";
        app.admin().announce("news", everyone(), "item 1").await;
        later(app, 0).await;
        app.user("ada").ask(off, json!({})).await;
        app.service().message("more", "ada", "item 2").await;
        app.service().message("bill", "ada", "item 3").await;
        later(app, 0).await;
        later(app, 24).await;
        assert_eq!(letters(&relay), ["ada: 2 unread messages", "ben: 1 unread message"]);
        let got = relay.got();
        let of_ada = got.iter().find(|got| got.to.starts_with("ada")).unwrap();
        assert_eq!(listed(of_ada), ["item 3", "item 2"]);
        assert_eq!(of_ada.header("list-unsubscribe-post").unwrap(), "List-Unsubscribe=One-Click");
        for _ in 0..2 {
            let (status, page) = unsubscribe(app, of_ada).await;
            assert!(status == StatusCode::OK && page.contains("You will get no more emails of this kind."), "{page}");
            assert!(page.contains(">news<") && page.contains(">more<") && !page.contains(">bill<"), "{page}");
        }
        let shown = app.user("ada").ask("{ viewer { preferences { channels { type enabled } } } }", json!({})).await;
        let shown = &shown["viewer"]["preferences"]["channels"];
        let is_on = |of: &str| shown.as_array().unwrap().iter().any(|on| on["type"] == of && on["enabled"] == true);
        assert_eq!(["news", "more", "bill"].map(is_on), [false, false, true]);
        for title in ["news", "more", "bill"] {
            app.admin().announce(title, everyone(), &format!("item of {title}")).await;
        }
        later(app, 0).await;
        later(app, 24).await;
        let got = relay.got().split_off(2);
        let of_ada = got.iter().find(|got| got.to.starts_with("ada")).unwrap();
        assert_eq!(listed(of_ada), ["item of bill", "item 3"], "what is mandatory goes on");
        assert_eq!(of_ada.header("list-unsubscribe"), None);
        assert_eq!(got.len(), 2);
    }

    async fn somebody_erased_is_told_nothing_and_leaves_nothing(app) {
        let relay = start(app, &["ada", "ben"]).await;
        app.admin().announce("news", everyone(), "item 1").await;
        later(app, 0).await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM digest WHERE next_at IS NOT NULL").await, 2);
        app.service().ask("mutation { eraseUser(id: \"ada\") { __typename } }", json!({})).await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM digest").await, 1);
        later(app, 24).await;
        assert_eq!(letters(&relay), ["ben: 1 unread message"]);
        app.admin().ask("mutation { deleteMailRelay { deletedId } }", json!({})).await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM digest").await, 0);
    }

    async fn a_node_that_dies_at_the_hour_leaves_one_digest_for_each(app) {
        let relay = Relay::start().await;
        save_relay(app, &relay).await;
        digest_of(app, "news", false).await;
        let users: Vec<String> = (0..250).map(|n| format!("u{n}")).collect();
        address(app, &users.iter().map(String::as_str).collect::<Vec<_>>()).await;
        app.admin().announce("news", everyone(), "item 1").await;
        later(app, 0).await;
        app.advance(TimeDelta::hours(24));
        relay.on(Asks::Text, Reply::Hangs);
        let dying = DeliveryWorkers::default();
        let made = "SELECT COUNT(*) AS many FROM delivery";
        while number(app, made).await == 0 || relay.connections() < 16 {
            dying.start_due(&app.app.delivery).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        drop(dying);
        relay.be_kind();
        app.advance(TimeDelta::seconds(31));
        settle(app, &DeliveryWorkers::default()).await;
        assert_eq!(number(app, made).await, 250, "one for each");
        // Emails in flight at the crash may arrive twice.
        let mut all = letters(&relay);
        all.dedup();
        assert_eq!(all.len(), 250);
        later(app, 48).await;
        assert_eq!(number(app, made).await, 250);
    }

    async fn what_no_digest_can_be_is_refused(app) {
        let save = "mutation($input: MessageTypeInput!) { saveMessageType(input: $input) { delivery { digest delaySeconds condition } } }";
        for (rule, why) in [
            (json!({ "channel": "WEB_PUSH" }), "digest: is only for the channel EMAIL"),
            (json!({ "channel": "EMAIL", "condition": "ALWAYS" }), "condition: must be IF_UNREAD: a digest lists unread items"),
            (json!({ "channel": "EMAIL", "delaySeconds": 60 }), "delaySeconds: must be 0: a digest is sent at the user's digest time"),
            (json!({ "channel": "EMAIL", "letter": { "subject": "x" } }), "letter: is not for digests, which list the texts of their items"),
        ] {
            let mut rule = rule;
            rule["digest"] = json!(true);
            let input = json!({ "code": "news", "title": "News", "delivery": [rule] });
            let refused = app.admin().refused(save, json!({ "input": input })).await;
            assert_eq!(refused, format!("BAD_USER_INPUT input.delivery[0].{why}"));
        }
        let input = |rule: Value| json!({ "input": { "code": "news", "title": "News", "delivery": [rule] } });
        let saved = app.admin().ask(save, input(json!({ "channel": "EMAIL", "digest": true }))).await;
        let digest = json!([{ "digest": true, "delaySeconds": 0, "condition": "IF_UNREAD" }]);
        assert_eq!(saved["saveMessageType"]["delivery"], digest);
        let saved = app.admin().ask(save, input(json!({ "channel": "EMAIL" }))).await;
        let single = json!([{ "digest": false, "delaySeconds": 300, "condition": "IF_UNREAD" }]);
        assert_eq!(saved["saveMessageType"]["delivery"], single);
        let hook = "mutation { createWebhookEndpoint(input: { url: \"https://127.0.0.1:1/\", events: [DIGEST] }) { endpoint { id } } }";
        let why = app.admin().refused(hook, json!({})).await;
        assert!(why.starts_with("BAD_USER_INPUT input.events[0]: is only for emails"), "{why}");
    }
}
