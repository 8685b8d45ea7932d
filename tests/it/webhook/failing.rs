//! Receivers that do not accept requests.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use delivery::workers::DeliveryWorkers;
use serde_json::{Value, json};

use super::receiver::{Answer, Receiver};
use super::{act, create, deliveries, look_at, settle, with_endpoint};
use crate::support::{Kind, PATIENCE, TestApp, everyone, on_every_database, with_settings};

async fn send(app: &TestApp, many: usize) {
    for n in 0..many {
        app.service().announce("news", everyone(), &format!("{n}")).await;
    }
}

fn instant(of: &Value) -> DateTime<Utc> {
    of.as_str().unwrap().parse().unwrap()
}

async fn one(app: &TestApp) -> Value {
    let fields = "id state attemptCount lastStatus lastError dueAt deliveredAt";
    deliveries(app, json!({}), fields).await.remove(0)
}

on_every_database! {
    async fn what_failed_comes_again_after_its_pause_under_the_same_id(app) {
        let (receiver, _) = with_endpoint(app).await;
        let workers = DeliveryWorkers::default();
        receiver.answers_next([Answer::Status(500), Answer::Status(302)]);
        send(app, 1).await;
        settle(app, &workers).await;
        let first = one(app).await;
        assert_eq!((&first["state"], &first["attemptCount"], &first["lastStatus"]), (&json!("PENDING"), &json!(1), &json!(500)));
        assert_eq!(first["lastError"], "the receiver answered with status 500");
        let pause = instant(&first["dueAt"]) - app.now();
        assert!((TimeDelta::seconds(4)..=TimeDelta::seconds(6)).contains(&pause), "{pause}");
        app.advance(pause - TimeDelta::milliseconds(1));
        settle(app, &workers).await;
        assert_eq!(receiver.many(), 1);
        app.advance(TimeDelta::milliseconds(1));
        settle(app, &workers).await;
        assert_eq!(one(app).await["lastStatus"], 302, "nobody is redirected");
        app.advance(TimeDelta::seconds(72));
        settle(app, &workers).await;
        let got = receiver.take();
        assert_eq!(got.len(), 3);
        assert!(got.iter().all(|of| of.id == got[0].id && of.raw == got[0].raw));
        assert_ne!(got[0].timestamp, got[2].timestamp, "each attempt says when it was");
        let done = one(app).await;
        assert_eq!((&done["id"], &done["state"], &done["attemptCount"]), (&json!(got[0].id), &json!("DELIVERED"), &json!(3)));
        assert_eq!((&done["lastError"], &done["dueAt"]), (&Value::Null, &Value::Null));
    }

    async fn a_receiver_may_ask_for_up_to_twice_the_pause(app) {
        let (receiver, _) = with_endpoint(app).await;
        for (status, asked, given) in [(429, 7, Some(7)), (503, 3600, Some(10)), (503, 0, Some(5)), (500, 9, None)] {
            receiver.answers_next([Answer::Later(status, asked)]);
            send(app, 1).await;
            settle(app, &DeliveryWorkers::default()).await;
            let pause = instant(&one(app).await["dueAt"]) - app.now();
            match given {
                Some(seconds) => assert_eq!(pause, TimeDelta::seconds(seconds)),
                None => assert!(pause <= TimeDelta::seconds(6)),
            }
            app.advance(TimeDelta::seconds(11));
            settle(app, &DeliveryWorkers::default()).await;
        }
    }

    async fn after_nine_attempts_it_is_given_up_until_somebody_wants_it_again(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        let workers = DeliveryWorkers::default();
        receiver.answers(Answer::Status(500));
        send(app, 1).await;
        for attempts in 1..=9 {
            settle(app, &workers).await;
            assert_eq!(receiver.many(), attempts);
            app.advance(TimeDelta::hours(13));
        }
        settle(app, &workers).await;
        let dead = one(app).await;
        assert_eq!((&dead["state"], &dead["attemptCount"]), (&json!("DEAD"), &json!(9)));
        assert_eq!(look_at(app, &endpoint, "state deadCount pendingCount").await, json!({ "state": "ACTIVE", "deadCount": 1, "pendingCount": 0 }));
        let replay = "mutation($select: OutboundDeliverySelector!) { replayOutboundDeliveries(select: $select) { replayedCount } }";
        let since = json!({ "dead": { "endpoint": endpoint.id, "since": app.now().to_rfc3339() } });
        for (select, many) in [(since, 0), (json!({ "dead": { "endpoint": endpoint.id } }), 1), (json!({ "ids": [dead["id"]] }), 0)] {
            let data = app.service().ask(replay, json!({ "select": select })).await;
            assert_eq!(data["replayOutboundDeliveries"]["replayedCount"], many, "{select}");
        }
        receiver.answers(Answer::Status(200));
        settle(app, &workers).await;
        let got = receiver.take();
        assert_eq!((got.len(), &json!(got[9].id)), (10, &dead["id"]));
        assert_eq!(one(app).await["state"], "DELIVERED");
        // Selected by id, even a delivered one is sent again.
        app.service().ask(replay, json!({ "select": { "ids": [dead["id"]] } })).await;
        settle(app, &workers).await;
        assert_eq!(receiver.take().len(), 1);
    }

    async fn an_endpoint_that_fails_rests_and_is_tried_by_one_request(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        let workers = DeliveryWorkers::default();
        receiver.answers(Answer::Status(500));
        send(app, 40).await;
        settle(app, &workers).await;
        let many = receiver.take().len();
        assert!((5..=21).contains(&many), "{many} requests");
        let resting = look_at(app, &endpoint, "restingUntil failingSince lastStatus pendingCount").await;
        assert_eq!(instant(&resting["restingUntil"]), app.now() + TimeDelta::seconds(30));
        assert_eq!((&resting["lastStatus"], &resting["pendingCount"]), (&json!(500), &json!(40)));
        app.advance(TimeDelta::seconds(29));
        settle(app, &workers).await;
        assert_eq!(receiver.many(), 0);
        app.advance(TimeDelta::seconds(1));
        settle(app, &workers).await;
        assert_eq!(receiver.take().len(), 1, "one finds out whether it is back");
        let resting = look_at(app, &endpoint, "restingUntil").await;
        assert_eq!(instant(&resting["restingUntil"]), app.now() + TimeDelta::seconds(60));
        receiver.answers(Answer::Status(200));
        app.advance(TimeDelta::seconds(60));
        settle(app, &workers).await;
        app.advance(TimeDelta::seconds(72));
        settle(app, &workers).await;
        let states = deliveries(app, json!({ "states": ["DELIVERED"] }), "id").await;
        assert_eq!((states.len(), receiver.take().len()), (40, 40));
        let back = look_at(app, &endpoint, "restingUntil failingSince lastStatus").await;
        assert_eq!(back, json!({ "restingUntil": null, "failingSince": null, "lastStatus": 200 }));
    }

    async fn one_that_is_gone_is_disabled_and_the_tenant_is_told(app) {
        let (receiver, _) = with_endpoint(app).await;
        app.admin().define_type("alarm").await;
        app.admin().ask("mutation { saveUserGroup(code: \"operators\") { code } addUserGroupMembers(code: \"operators\", users: [\"olga\"]) { code } }", json!({})).await;
        let gone = Receiver::start().await;
        let url = format!("{}?token=hunter2", gone.url);
        let broken = create(app, &url, json!({ "alarm": { "type": "alarm" } })).await;
        let other = Receiver::start().await;
        create(app, &other.url, json!({ "events": ["ENDPOINT_DISABLED"] })).await;
        gone.answers(Answer::Status(410));
        send(app, 1).await;
        let workers = DeliveryWorkers::default();
        settle(app, &workers).await;
        assert_eq!(look_at(app, &broken, "state").await["state"], "DISABLED");
        let alarm = app.user("olga").ask("{ viewer { inbox(filter: { types: [\"alarm\"] }) { nodes { title body } } } }", json!({})).await["viewer"].take();
        let origin = gone.url.strip_suffix("/hook").unwrap();
        let body = format!("{origin}: it answered with status 410 (gone), so it wants no more deliveries");
        let told = json!({ "inbox": { "nodes": [{ "title": "A webhook endpoint is disabled", "body": body }] } });
        assert_eq!(alarm, told, "whoever is told does not see what the receiver knows us by");
        let told = other.take();
        assert_eq!((told.len(), told[0].event()), (1, "endpoint.disabled"));
        assert_eq!((&told[0].body["data"]["endpoint"], &told[0].body["data"]["lastStatus"]), (&broken.id, &json!(410)));
        assert!(receiver.take().len() >= 2, "the others go on, and hear of the alarm as of anything that is sent");
        send(app, 1).await;
        settle(app, &workers).await;
        assert_eq!(gone.take().len(), 1);
        gone.answers(Answer::Status(200));
        act(app, "resumeWebhookEndpoint", &broken).await;
        app.advance(TimeDelta::seconds(10));
        settle(app, &workers).await;
        assert_eq!(gone.take().len(), 3, "what it has missed, and the alarm about it");
    }

    async fn one_that_fails_for_five_days_is_disabled(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        let workers = DeliveryWorkers::default();
        receiver.answers(Answer::Status(500));
        for hours in (0..=120).step_by(12) {
            assert_eq!(look_at(app, &endpoint, "state").await["state"], "ACTIVE", "after {hours} h");
            send(app, 1).await;
            settle(app, &workers).await;
            if hours < 120 {
                app.advance(TimeDelta::hours(12));
            }
        }
        assert_eq!(look_at(app, &endpoint, "state").await["state"], "DISABLED");
        assert_eq!(look_at(app, &endpoint, "lastError").await["lastError"], "the receiver answered with status 500");
    }

    async fn one_that_never_answers_costs_the_others_nothing(app) {
        let (receiver, _) = with_endpoint(app).await;
        let holes = [Receiver::start().await, Receiver::start().await];
        for hole in &holes {
            hole.answers(Answer::Hang);
            create(app, &hole.url, json!({})).await;
        }
        send(app, 40).await;
        let workers = DeliveryWorkers::default();
        let began = std::time::Instant::now();
        while receiver.many() < 40 || holes.iter().any(|hole| hole.many() == 0) {
            workers.start_due(&app.app.delivery).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(began.elapsed() < PATIENCE);
        }
        assert!(began.elapsed() < Duration::from_secs(10), "nothing has timed out yet");
        assert!(holes.iter().all(|hole| hole.many() <= 16), "so many are under way at the most");
    }

    async fn a_ping_is_answered_with_what_came_of_it(app) {
        let (receiver, endpoint) = with_endpoint(app).await;
        let ping = "mutation($id: ID!) { testWebhookEndpoint(id: $id) { id event state lastStatus lastError attemptCount } }";
        let asked = async || app.admin().ask(ping, json!({ "id": endpoint.id })).await["testWebhookEndpoint"].take();
        let done = asked().await;
        let got = receiver.take().remove(0);
        assert_eq!(got.body["type"], "test.ping");
        assert!(got.is_signed_by(&endpoint.secret));
        assert_eq!(done, json!({ "id": got.id, "event": "TEST_PING", "state": "DELIVERED", "lastStatus": 204, "lastError": null, "attemptCount": 1 }));
        receiver.answers(Answer::Status(403));
        let refused = asked().await;
        assert_eq!((&refused["state"], &refused["lastStatus"]), (&json!("DEAD"), &json!(403)));
        assert_eq!(refused["lastError"], "the receiver answered with status 403", "a private address shows no body");
        for _ in 2..10 {
            asked().await;
        }
        let (_, answer) = app.admin().send(ping, json!({ "id": endpoint.id })).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "RATE_LIMITED", "{answer}");
        app.advance(TimeDelta::minutes(1));
        asked().await;
        settle(app, &DeliveryWorkers::default()).await;
        assert_eq!(receiver.take().len(), 10, "nobody tries a ping again");
        let delete = "mutation($id: ID!) { deleteWebhookEndpoint(id: $id) { deletedId } }";
        app.admin().ask(delete, json!({ "id": endpoint.id })).await;
        for _ in 1..10 {
            let other = create(app, &receiver.url, json!({})).await;
            app.admin().ask(ping, json!({ "id": other.id })).await;
            app.admin().ask(delete, json!({ "id": other.id })).await;
        }
        let other = create(app, &receiver.url, json!({})).await;
        let (_, answer) = app.admin().send(ping, json!({ "id": other.id })).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "RATE_LIMITED", "those of endpoints that are gone count: {answer}");
    }
}

#[tokio::test]
async fn whoever_tries_one_that_never_answers_hears_so() {
    with_settings(
        Kind::Sqlite,
        |config| config.limits.execution_millis = 2000,
        async |app| {
            let (receiver, endpoint) = with_endpoint(app).await;
            receiver.answers(Answer::Hang);
            let ping = "mutation($id: ID!) { testWebhookEndpoint(id: $id) { state lastStatus lastError } }";
            let done = app.admin().ask(ping, json!({ "id": endpoint.id })).await["testWebhookEndpoint"].take();
            let error = "there was no answer in time";
            assert_eq!(done, json!({ "state": "DEAD", "lastStatus": null, "lastError": error }));
        },
    )
    .await;
}
