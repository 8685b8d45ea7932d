//! Push messages, and the results of their delivery.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use delivery::workers::DeliveryWorkers;
use serde_json::json;

use super::service::Service;
use super::{define, deliveries, save, turn_on, turn_on_with};
use crate::after::announce;
use crate::mail::inbox::{address, letters, save_relay};
use crate::support::relay::Relay;
use crate::support::{Kind, PATIENCE, TestApp, everyone, on_every_database, with};
use crate::webhook::{number, settle};

/// Subscribes ten browsers of each of two users at services that never respond.
async fn holes(app: &TestApp) -> [Service; 2] {
    let holes = [Service::start().await, Service::start().await];
    for (hole, user) in holes.iter().zip(["eve", "mallory"]) {
        hole.hangs(true);
        for number in 0..10 {
            save(&app.user(user), &hole.browser(&number.to_string())).await;
        }
    }
    holes
}

/// Sends an announcement to everyone, waits until a service has it for this many browsers, and returns how long that
/// took.
async fn arrives(
    app: &TestApp,
    workers: &DeliveryWorkers,
    service: &Service,
    title: &str,
    browsers: usize,
) -> Duration {
    let began = Instant::now();
    app.admin().announce("news", everyone(), title).await;
    let mut reached = Vec::new();
    while reached.len() < browsers {
        workers.start_due(&app.app.delivery).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        reached.extend(service.reached());
        assert!(began.elapsed() < PATIENCE, "{reached:?}");
    }
    began.elapsed()
}

on_every_database! {
    async fn a_browser_reads_what_its_user_has_not_seen(app) {
        let service = Service::start().await;
        let key = turn_on(app).await;
        define(app, "news").await;
        let [desk, phone] = ["desk", "phone"].map(|name| service.browser(name));
        save(&app.user("ada"), &desk).await;
        save(&app.user("ada"), &phone).await;
        app.user("ben").titles(json!({})).await;
        let expires_at = app.now() + TimeDelta::hours(2);
        let content = json!({ "title": "On its way \"ü\" 通知", "body": "Order 7", "link": "/orders/7" });
        announce(&app.admin(), json!({ "content": content, "expiresAt": expires_at.to_rfc3339() })).await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        let got = service.take();
        assert_eq!(got.iter().map(|got| got.browser.as_str()).collect::<Vec<_>>(), ["desk", "phone"]);
        let item = app.user("ada").items(json!({})).await[0].clone();
        let told = json!({
            "id": item["id"], "type": "news", "title": "On its way \"ü\" 通知", "body": "Order 7",
            "link": "https://shop.example/orders/7",
        });
        assert_eq!([desk.read(&got[0]), phone.read(&got[1])], [told.clone(), told]);
        for got in &got {
            assert_eq!([got.header("ttl"), got.header("urgency"), got.header("topic")], ["7200", "normal", item["id"].as_str().unwrap()]);
            let exp = app.now().timestamp() + 43_200;
            assert_eq!(got.claims(&key), json!({ "aud": service.origin, "exp": exp, "sub": "mailto:ops@shop.example" }));
        }
        assert_eq!(got[0].header("authorization"), got[1].header("authorization"), "a token serves for a while");
        let all = deliveries(app, json!({ "channel": "WEB_PUSH", "user": "ada" })).await;
        assert_eq!(all.len(), 2);
        assert!(all.iter().all(|of| of["state"] == "DELIVERED" && of["channel"] == "WEB_PUSH" && of["lastStatus"] == 201 && of["endpointId"].is_null()), "{all:?}");
        assert_eq!(deliveries(app, json!({ "channel": "EMAIL" })).await.len() + deliveries(app, json!({ "channel": "WEBHOOK" })).await.len(), 0);
        app.advance(TimeDelta::hours(7));
        app.admin().announce("news", everyone(), "without end").await;
        settle(app, &workers).await;
        let later = service.take();
        assert_eq!(later[0].header("ttl"), "2419200");
        assert_eq!(later[0].claims(&key)["exp"], app.now().timestamp() + 43_200, "another token");
    }

    async fn whom_an_announcement_names_has_it_by_each_channel(app) {
        let (service, relay) = (Service::start().await, Relay::start().await);
        turn_on(app).await;
        save_relay(app, &relay).await;
        let delivery = json!([
            { "channel": "WEB_PUSH", "delaySeconds": 0 },
            { "channel": "EMAIL", "delaySeconds": 60 },
        ]);
        app.admin().define(json!({ "code": "news", "title": "News", "delivery": delivery })).await;
        save(&app.user("ada"), &service.browser("ada")).await;
        address(app, &["ada", "ben"]).await;
        app.admin().announce("news", json!({ "users": ["ada", "ben"] }), "1").await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(service.take().len(), 1);
        app.advance(TimeDelta::minutes(1));
        settle(app, &workers).await;
        assert_eq!(letters(&relay), ["ada: 1", "ben: 1"], "the other channel was there first");
    }

    async fn what_was_read_meanwhile_is_not_sent_and_a_long_text_is_cut(app) {
        let service = Service::start().await;
        turn_on_with(app, json!({ "contact": "https://shop.example/contact" })).await;
        let delivery = json!([{ "channel": "WEB_PUSH", "delaySeconds": 60 }, { "channel": "EMAIL" }]);
        app.admin().define(json!({ "code": "news", "title": "News", "delivery": delivery })).await;
        let [ada, ben] = ["ada", "ben"].map(|name| service.browser(name));
        save(&app.user("ada"), &ada).await;
        save(&app.user("ben"), &ben).await;
        let content = json!({ "title": "\\".repeat(256), "body": "通\"知".repeat(2000), "link": "/orders/7" });
        announce(&app.admin(), json!({ "content": content })).await;
        app.user("ben").mark("markRead", json!({ "matching": {} })).await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(service.reached(), Vec::<String>::new(), "not before it is due");
        app.advance(TimeDelta::minutes(1));
        settle(app, &workers).await;
        let got = service.take();
        assert_eq!((got.len(), &*got[0].browser), (1, "ada"));
        let told = ada.read(&got[0]);
        assert!(got[0].body.len() > 3050 && told["body"].as_str().unwrap().ends_with('…'), "{told}");
        assert_eq!(told["link"], "/orders/7", "a path of the page that opens it");
    }

    async fn a_browser_that_has_ended_its_subscription_is_forgotten(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        for name in ["gone", "here", "lost"] {
            save(&app.user("ada"), &service.browser(name)).await;
        }
        service.answers("gone", 410, None);
        service.answers("lost", 404, None);
        app.admin().announce("news", everyone(), "1").await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(service.reached(), ["gone", "here", "lost"]);
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM contact").await, 1);
        let dead = deliveries(app, json!({ "states": ["DEAD"] })).await;
        assert_eq!(dead.len(), 2);
        assert!(dead.iter().all(|of| of["attemptCount"] == 1 && of["user"].is_null()), "{dead:?}");
        assert!(!format!("{dead:?}").contains("/push/"), "endpoints are in no error: {dead:?}");
        app.admin().announce("news", everyone(), "2").await;
        settle(app, &workers).await;
        assert_eq!(service.reached(), ["here"]);
    }

    async fn a_service_that_wants_less_is_left_alone_and_what_it_never_takes_is_given_up(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        for name in ["ada", "ben", "cleo"] {
            save(&app.user(name), &service.browser(name)).await;
        }
        service.answers("ada", 429, Some(8));
        service.answers("ben", 413, None);
        service.answers("cleo", 503, Some(3600));
        app.admin().announce("news", everyone(), "1").await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(service.take().len(), 3);
        let of = |user: &str| deliveries(app, json!({ "user": user }));
        let waits = async |user: &str| {
            let due: DateTime<Utc> = of(user).await[0]["dueAt"].as_str().unwrap().parse().unwrap();
            (due - app.now()).num_seconds()
        };
        assert_eq!((waits("ada").await, waits("cleo").await), (8, 10), "at most twice the usual time");
        let dead = of("ben").await;
        assert_eq!((&dead[0]["state"], &dead[0]["lastStatus"]), (&json!("DEAD"), &json!(413)));
        app.advance(TimeDelta::seconds(8));
        service.answers("ada", 201, None);
        settle(app, &workers).await;
        assert_eq!((service.reached(), &of("ada").await[0]["state"]), (vec!["ada".to_owned()], &json!("DELIVERED")));
        let again = "mutation { replayOutboundDeliveries(select: { deadTo: { channel: WEB_PUSH } }) { replayedCount } }";
        assert_eq!(app.service().ask(again, json!({})).await["replayOutboundDeliveries"]["replayedCount"], 1);
        service.answers("ben", 201, None);
        settle(app, &workers).await;
        assert_eq!(service.reached(), ["ben"]);
    }

    async fn services_that_refuse_the_key_are_told_of_and_hold_up_no_others(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        for number in 0..8 {
            let name = format!("refusing{number}");
            save(&app.user("ada"), &service.browser(&name)).await;
            service.answers(&name, if number % 2 == 0 { 403 } else { 401 }, None);
        }
        save(&app.user("ben"), &service.browser("taking")).await;
        let workers = DeliveryWorkers::default();
        for title in ["1", "2"] {
            app.admin().announce("news", everyone(), title).await;
            settle(app, &workers).await;
            let reached = service.reached();
            assert_eq!((reached.len(), &*reached[8]), (9, "taking"), "{reached:?}");
        }
        let of = app.admin().ask("{ webPush { state lastError pendingCount deadCount } }", json!({})).await["webPush"].take();
        assert_eq!((&of["state"], &of["pendingCount"], &of["deadCount"]), (&json!("ACTIVE"), &json!(16), &json!(0)), "{of}");
        assert!(of["lastError"].as_str().unwrap().contains("VAPID"), "{of}");
        assert_eq!(number(app, "SELECT failures + open_until AS many FROM lane").await, 0);
    }

    async fn nothing_is_sent_while_it_is_off_and_all_of_it_afterwards(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        let browser = service.browser("ada");
        save(&app.user("ada"), &browser).await;
        let switch = "mutation($to: WebPushSwitch!) { switchWebPush(to: $to) { state } }";
        let off = app.admin().ask(switch, json!({ "to": "OFF" })).await;
        assert_eq!(off["switchWebPush"]["state"], "PAUSED");
        assert!(super::key(&app.user("ada")).await.is_null());
        app.admin().announce("news", everyone(), "1").await;
        let workers = DeliveryWorkers::default();
        workers.start_due(&app.app.delivery).await.unwrap();
        assert_eq!(service.reached(), Vec::<String>::new());
        app.admin().ask(switch, json!({ "to": "ON" })).await;
        settle(app, &workers).await;
        let got = service.take();
        assert_eq!(browser.read(&got[0])["title"], "1");
        app.admin().ask("mutation { deleteWebPush { deletedId } }", json!({})).await;
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM contact").await, 0);
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM delivery").await, 0);
        let again = app.admin().ask("mutation { deleteWebPush { deletedId } }", json!({})).await;
        assert!(again["deleteWebPush"]["deletedId"].is_null());
        let refused = app.admin().refused(switch, json!({ "to": "ON" })).await;
        assert!(refused.starts_with("NOT_FOUND"), "{refused}");
    }

    async fn services_that_never_answer_hold_up_no_others(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        for user in ["ada", "ben"] {
            save(&app.user(user), &service.browser(user)).await;
        }
        let workers = DeliveryWorkers::default();
        arrives(app, &workers, &service, "0", 2).await;
        let holes = holes(app).await;
        for title in ["1", "2", "3"] {
            let took = arrives(app, &workers, &service, title, 2).await;
            assert!(took < Duration::from_secs(2), "{title}: {took:?}");
        }
        let under_way: usize = holes.iter().map(|hole| hole.take().len()).sum();
        assert!((1..=4).contains(&under_way), "{under_way}");
        for hole in &holes {
            hole.hangs(false);
        }
    }

    async fn a_service_that_answers_after_seconds_holds_up_no_others(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        for user in ["ada", "ben"] {
            save(&app.user(user), &service.browser(user)).await;
        }
        let slow = [Service::start().await, Service::start().await];
        for (of, user) in slow.iter().zip(["eve", "mallory"]) {
            for number in 0..10 {
                save(&app.user(user), &of.browser(&number.to_string())).await;
            }
        }
        let workers = DeliveryWorkers::default();
        // They respond at once in the beginning, so the server does not treat them as slow.
        arrives(app, &workers, &service, "0", 2).await;
        settle(app, &workers).await;
        for of in &slow {
            assert!((1..=4).contains(&of.most_under_way()));
            of.takes(Duration::from_secs(3));
        }
        for title in ["1", "2", "3", "4"] {
            let took = arrives(app, &workers, &service, title, 2).await;
            assert!(took < Duration::from_secs(2), "{title}: {took:?}");
            for of in &slow {
                assert!(of.most_under_way() <= 4);
            }
        }
        // A service that takes longer than a second may never respond. Such services share four places.
        tokio::time::sleep(Duration::from_secs(4)).await;
        for of in &slow {
            of.most_under_way();
        }
        arrives(app, &workers, &service, "5", 2).await;
        let under_way: usize = slow.iter().map(Service::most_under_way).sum();
        assert!(under_way <= 4, "{under_way}");
        for of in &slow {
            of.takes(Duration::ZERO);
        }
    }

    async fn a_browser_is_not_forgotten_for_what_lasts_less_than_a_day(app) {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        save(&app.user("ada"), &service.browser("ada")).await;
        service.answers("ada", 403, None);
        for title in ["1", "2", "3", "4"] {
            app.admin().announce("news", everyone(), title).await;
        }
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        for minutes in [1, 2, 10, 40, 150, 370] {
            app.advance(TimeDelta::minutes(minutes));
            settle(app, &workers).await;
        }
        assert_eq!(number(app, "SELECT failures AS many FROM contact").await, 28, "of our own, for all that anybody knows");
        service.answers("ada", 201, None);
        app.admin().announce("news", everyone(), "5").await;
        settle(app, &workers).await;
        let known = "SELECT COUNT(*) AS many FROM contact WHERE failures = 0 AND bad_since IS NULL";
        assert_eq!(number(app, known).await, 1);
        service.answers("ada", 403, None);
        for title in ["6", "7", "8"] {
            app.admin().announce("news", everyone(), title).await;
        }
        for minutes in [0, 1, 2, 10, 40, 150, 370, 750, 750] {
            app.advance(TimeDelta::minutes(minutes));
            settle(app, &workers).await;
        }
        assert_eq!(number(app, "SELECT COUNT(*) AS many FROM contact").await, 0);
    }
}

#[tokio::test]
async fn what_never_answers_does_not_stop_a_turn_that_ends() {
    with(Kind::Sqlite, async |app| {
        let service = Service::start().await;
        turn_on(app).await;
        define(app, "news").await;
        save(&app.user("ada"), &service.browser("ada")).await;
        let workers = DeliveryWorkers::default();
        arrives(app, &workers, &service, "first", 1).await;
        let (_holes, began) = (holes(app).await, Instant::now());
        for number in 0.. {
            let took = arrives(app, &workers, &service, &number.to_string(), 1).await;
            assert!(took < Duration::from_secs(2), "after {:?}: {took:?}", began.elapsed());
            if began.elapsed() > Duration::from_secs(22) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    })
    .await;
}
