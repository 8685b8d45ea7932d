//! The limit on the bytes sent live to a user over all subscriptions, and the events beyond it.

use std::time::Duration;

use base::config::ServerConfig;
use chrono::TimeDelta;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::support::{ITEMS, Kind, PATIENCE, Socket, TestApp, everyone, with_settings};

/// A subscription with events that repeat the text of an item.
fn repeated(times: usize) -> String {
    let bodies = (0..times).map(|number| format!("a{number}: body ")).collect::<Vec<_>>().concat();
    format!("subscription {{ itemReceived {{ cursor node {{ title {bodies} }} }} }}")
}

fn bytes_a_minute(bytes: u32) -> impl FnOnce(&mut ServerConfig) {
    move |settings| settings.limits.event_bytes = bytes
}

async fn announce(app: &TestApp, titles: std::ops::Range<usize>, body: &str) {
    let input = |title: usize| json!({ "announcement": { "type": "news", "audience": everyone(), "content": { "title": title.to_string(), "body": body } } });
    let inputs: Vec<Value> = titles.map(input).collect();
    let send = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
    app.service().ask(send, json!({ "inputs": inputs })).await;
}

async fn until_subscribed(app: &TestApp, many: i64) {
    let until = Instant::now() + PATIENCE;
    while app.app.metrics.subscriptions.get() < many {
        assert!(Instant::now() < until, "all subscribe");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Reads messages until none has arrived for longer than a paused subscription takes to resume.
async fn heard(socket: &mut Socket) -> Vec<Value> {
    let mut all = Vec::new();
    while let Ok(message) = timeout(Duration::from_millis(1300), socket.hear()).await {
        all.push(message);
    }
    all
}

fn titles(heard: &[Value]) -> Vec<usize> {
    let title = |message: &Value| message["payload"]["data"]["itemReceived"]["node"]["title"].as_str()?.parse().ok();
    heard.iter().filter_map(title).collect()
}

#[tokio::test]
async fn many_subscriptions_that_repeat_a_text_are_sent_what_their_user_may_have_and_the_rest_later() {
    with_settings(Kind::Sqlite, bytes_a_minute(1024 * 1024), async |app| {
        app.admin().define_type("news").await;
        let node = app.listen().await;
        let mut ada = Socket::open(&node.address, &app.user("ada").token).await;
        let mut again = Socket::open(&node.address, &app.user("ada").token).await;
        for number in 0..5 {
            // The first three subscriptions are equal; each of the others has its own document.
            let own = if number < 3 { 50 } else { 50 + number };
            for socket in [&mut ada, &mut again] {
                socket.subscribe(&number.to_string(), &repeated(own), json!({})).await;
            }
        }
        let mut ben = Socket::subscribed(&node.address, &app.user("ben").token, ITEMS, json!({})).await;
        until_subscribed(app, 11).await;
        announce(app, 0..1, &"x".repeat(16 * 1024)).await;
        assert_eq!(ben.title().await, "0");
        let mut all = heard(&mut ada).await;
        all.extend(heard(&mut again).await);
        let bytes: usize = all.iter().map(|message| message.to_string().len()).sum();
        assert!((1..=3 * 1024 * 1024).contains(&bytes), "{bytes} bytes of {} events", all.len());
        assert!(app.app.metrics.events_slowed.get() > 0);
        // Other users do not wait.
        announce(app, 1..2, "").await;
        assert_eq!(ben.title().await, "1");
        for _ in 0..40 {
            app.advance(TimeDelta::minutes(1));
            for socket in [&mut ada, &mut again] {
                while let Ok(message) = timeout(Duration::from_millis(400), socket.hear()).await {
                    all.push(message);
                }
            }
            if all.len() == 20 {
                break;
            }
        }
        let mut got = titles(&all);
        got.sort_unstable();
        assert_eq!(got, [vec![0; 10], vec![1; 10]].concat(), "each subscription has each item once");
        drop((ada, again, ben));
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_resume_counts_as_what_it_costs_and_comes_to_its_end() {
    with_settings(Kind::Sqlite, bytes_a_minute(100 * 1024), async |app| {
        app.admin().define_type("news").await;
        let start = app.user("ada").ask("{ viewer { overview { cursor } } }", json!({})).await;
        let after = start["viewer"]["overview"]["cursor"].clone();
        announce(app, 0..500, "").await;
        let node = app.listen().await;
        let mut ada = Socket::subscribed(&node.address, &app.user("ada").token, ITEMS, json!({ "after": after })).await;
        let (mut all, mut minutes) = (titles(&heard(&mut ada).await), 0);
        assert!(all.len() < 250, "{}", all.len());
        while all.len() < 500 {
            assert!(minutes < 30, "{}", all.len());
            minutes += 1;
            app.advance(TimeDelta::minutes(1));
            all.extend(titles(&heard(&mut ada).await));
        }
        assert_eq!(all, (0..500).collect::<Vec<_>>());
        assert!(minutes >= 8, "{minutes}");
        drop(ada);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn who_falls_too_far_behind_while_they_wait_resumes_without_a_loss() {
    with_settings(Kind::Sqlite, bytes_a_minute(200 * 1024), async |app| {
        app.admin().define_type("news").await;
        let node = app.listen().await;
        let token = app.user("ada").token;
        let mut ada = Socket::subscribed(&node.address, &token, &repeated(60), json!({})).await;
        until_subscribed(app, 1).await;
        announce(app, 0..1, &"x".repeat(16 * 1024)).await;
        let mut all = heard(&mut ada).await;
        assert_eq!(titles(&all), [0]);
        announce(app, 1..301, "").await;
        assert!(heard(&mut ada).await.is_empty());
        let ended = loop {
            app.advance(TimeDelta::minutes(5));
            let more = heard(&mut ada).await;
            let ended = more.iter().find(|message| message["type"] == "error").cloned();
            all.extend(more);
            if let Some(ended) = ended {
                break ended;
            }
        };
        assert_eq!(ended["payload"][0]["extensions"]["code"], "UNAVAILABLE");
        let last = all.iter().rfind(|message| message["type"] == "next").unwrap();
        let after = &last["payload"]["data"]["itemReceived"]["cursor"];
        let mut got = titles(&all);
        app.advance(TimeDelta::minutes(5));
        let mut again = Socket::subscribed(&node.address, &token, ITEMS, json!({ "after": after })).await;
        while got.len() < 301 {
            got.extend(titles(&heard(&mut again).await));
            app.advance(TimeDelta::minutes(5));
        }
        assert_eq!(got, (0..301).collect::<Vec<_>>());
        drop((ada, again));
        node.stop().await;
    })
    .await;
}
