//! Random sends, amendments and retractions: receivers that fail now and then still get every event.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use delivery::workers::DeliveryWorkers;
use domain::notification::publish_due;
use serde_json::{Value, json};

use super::receiver::{Answer, Receiver};
use super::{create, deliveries, settle};
use crate::after::{announce, retract, update};
use crate::support::{TestApp, on_every_database};

/// Pseudo-random numbers, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

/// The expected number of events, by event and notification.
type Heard = BTreeMap<(String, String), usize>;

struct World {
    dice: Dice,
    /// Notifications that are not retracted, and whether they are published.
    notifications: Vec<(Value, bool)>,
    expected: Heard,
}

impl World {
    fn expect(&mut self, event: &str, id: &Value) {
        *self.expected.entry((format!("notification.{event}"), id.as_str().unwrap().to_owned())).or_default() += 1;
    }

    async fn step(&mut self, app: &TestApp, workers: &[DeliveryWorkers]) {
        let by = app.admin();
        match self.dice.below(8) {
            0..=2 => {
                let sent = announce(&by, json!({})).await["id"].clone();
                self.expect("published", &sent);
                self.notifications.push((sent, true));
            }
            3 => {
                let at = (app.now() + TimeDelta::seconds(self.dice.below(60).try_into().unwrap())).to_rfc3339();
                let sent = announce(&by, json!({ "publishAt": at })).await;
                let is_out = sent["status"] == "PUBLISHED";
                if is_out {
                    self.expect("published", &sent["id"]);
                }
                self.notifications.push((sent["id"].clone(), is_out));
            }
            4 => {
                let Some((id, is_out)) = self.any() else { return };
                update(&by, &id, json!({ "title": format!("{}", self.dice.below(1000)) })).await;
                if is_out {
                    self.expect("amended", &id);
                }
            }
            5 => {
                let Some((id, is_out)) = self.any() else { return };
                retract(&by, &id).await;
                self.notifications.retain(|(of, _)| *of != id);
                if is_out {
                    self.expect("retracted", &id);
                }
            }
            6 => {
                app.advance(TimeDelta::seconds(self.dice.below(20).try_into().unwrap()));
                publish_due(&app.app).await.unwrap();
                for (place, (id, is_out)) in self.notifications.clone().into_iter().enumerate() {
                    if !is_out && crate::after::look_at(&by, &id).await["status"] == "PUBLISHED" {
                        self.notifications[place].1 = true;
                        self.expect("published", &id);
                    }
                }
            }
            _ => workers[self.dice.below(workers.len())].start_due(&app.app.delivery).await.unwrap(),
        }
    }

    fn any(&mut self) -> Option<(Value, bool)> {
        let many = self.notifications.len();
        (many > 0).then(|| self.notifications[self.dice.below(many)].clone())
    }
}

on_every_database! {
    async fn receivers_hear_what_the_log_says(app) {
        app.admin().define_type("news").await;
        let receivers = [Receiver::start().await, Receiver::start().await];
        for receiver in &receivers {
            create(app, &receiver.url, json!({})).await;
        }
        let workers = [DeliveryWorkers::default(), DeliveryWorkers::default()];
        let mut world = World { dice: Dice(23), notifications: Vec::new(), expected: Heard::new() };
        for _ in 0..150 {
            if world.dice.below(5) == 0 {
                let failing = [Answer::Status(500), Answer::Status(503), Answer::Status(404)];
                receivers[world.dice.below(2)].answers_next([failing[world.dice.below(3)].clone()]);
            }
            world.step(app, &workers).await;
        }
        app.advance(TimeDelta::seconds(60));
        publish_due(&app.app).await.unwrap();
        for (id, is_out) in world.notifications.clone() {
            if !is_out {
                world.expect("published", &id);
            }
        }
        for _ in 0..200 {
            settle(app, &workers[0]).await;
            if deliveries(app, json!({ "states": ["PENDING", "DEAD"] }), "id").await.is_empty() {
                break;
            }
            app.advance(TimeDelta::minutes(2));
        }
        for receiver in &receivers {
            let mut heard: BTreeMap<String, (String, String)> = BTreeMap::new();
            for got in receiver.take() {
                let what = (got.event().to_owned(), got.body["data"]["id"].as_str().unwrap().to_owned());
                let before = heard.insert(got.id.clone(), what.clone());
                assert!(before.is_none_or(|before| before == what), "an id is of one event alone");
            }
            let mut times = Heard::new();
            for what in heard.into_values() {
                *times.entry(what).or_default() += 1;
            }
            assert_eq!(times, world.expected);
        }
    }
}
