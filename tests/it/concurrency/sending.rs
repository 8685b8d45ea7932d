//! Many concurrent senders.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use super::{Span, Ticks, reminder, rounds, second_node};
use crate::support::{TestApp, everyone, on_every_database};

const SENDERS: usize = 16;
const USERS: [&str; 3] = ["ada", "bob", "cyd"];

/// A sent notification: its audience and the time of the send.
struct Sent {
    title: String,
    to: &'static [&'static str],
    span: Span,
}

on_every_database! {
    async fn many_senders_and_readers_lose_nothing_double_nothing_and_keep_the_order(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        prepare(app).await;
        let (ticks, is_over) = (Ticks::default(), AtomicBool::new(false));
        let sending = async {
            let sent = join_all((0..SENDERS).map(|sender| send(nodes[sender % 2], sender, rounds(app), &ticks))).await;
            is_over.store(true, Ordering::SeqCst);
            sent.into_iter().flatten().collect::<Vec<Sent>>()
        };
        let readers = [("ada", 0), ("ada", 1), ("bob", 1), ("cyd", 0)];
        let reading = join_all(readers.map(|(user, node)| read(nodes[node], user, &is_over)));
        let (sent, _) = join(sending, reading).await;
        for user in USERS {
            check(app, user, &sent).await;
        }
    }

    async fn of_many_sends_with_one_key_one_is_new(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        app.admin().define_type("release").await;
        let sent = join_all((0..SENDERS).map(|place| send_keyed(nodes[place % 2], "once", "v2"))).await;
        let sent: Vec<Value> = sent.into_iter().map(|answer| answer.expect("all are accepted")).collect();
        assert_eq!(sent.iter().filter(|of| of["replayed"] == json!(false)).count(), 1, "{sent:#?}");
        assert!(sent.iter().all(|of| of["notification"]["id"] == sent[0]["notification"]["id"]), "{sent:#?}");
        for node in nodes {
            assert_eq!(send_keyed(node, "once", "v3").await.expect_err("it is something else"), "CONFLICT");
        }
        assert_eq!(app.user("ada").titles(json!({})).await, ["v2"]);
    }

    async fn of_two_contents_with_one_key_at_once_one_is_sent(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        app.admin().define_type("release").await;
        // Both contents are sent by both nodes.
        let titles: Vec<&str> = (0..SENDERS).map(|place| ["v2", "v3"][place / 2 % 2]).collect();
        let sends = titles.iter().enumerate().map(|(place, title)| send_keyed(nodes[place % 2], "once", title));
        let answers = join_all(sends).await;
        let delivered = app.user("ada").titles(json!({})).await;
        assert_eq!(delivered.len(), 1);
        let is_new = |answer: &Result<Value, String>| answer.as_ref().is_ok_and(|of| of["replayed"] == json!(false));
        assert_eq!(answers.iter().filter(|answer| is_new(answer)).count(), 1, "{answers:#?}");
        for (title, answer) in titles.into_iter().zip(&answers) {
            let refusal = answer.as_ref().err().map(String::as_str);
            assert_eq!(refusal, (title != delivered[0]).then_some("CONFLICT"), "{title} {answers:#?}");
        }
    }
}

/// Ada and bob are subscribed to the plan, cyd is in the crew, and that does not change.
async fn prepare(app: &TestApp) {
    app.admin().define_type("release").await;
    app.user("ada").subscribe("plan", &["comment"]).await;
    app.user("bob").subscribe("plan", &["comment"]).await;
    let service = app.service();
    service.ask(r#"mutation { saveUserGroup(code: "crew") { code } }"#, json!({})).await;
    service.ask(r#"mutation { addUserGroupMembers(code: "crew", users: ["cyd"]) { code } }"#, json!({})).await;
}

/// Sends one notification after the other, each after the one before is acknowledged.
async fn send(node: &TestApp, sender: usize, rounds: usize, ticks: &Ticks) -> Vec<Sent> {
    let mut sent = Vec::new();
    for round in 0..rounds {
        let title = |part: &str| format!("{sender}/{round}{part}");
        let content = |part: &str| json!({ "title": title(part) });
        let message =
            |receiver: &str| json!({ "message": { "type": "release", "receiver": receiver, "content": content("m") } });
        let announcement = |audience: Value| json!({ "announcement": { "type": "release", "audience": audience, "content": content("a") } });
        let remind = |by: Option<&str>| json!({ "reminder": reminder(&title("r"), by) });
        let (inputs, to): (Vec<Value>, Vec<(&str, &'static [&'static str])>) = match sender % 5 {
            0 => (vec![announcement(everyone())], vec![("a", &USERS)]),
            1 => (vec![remind(None)], vec![("r", &["ada", "bob"])]),
            2 => (vec![remind(Some("ada"))], vec![("r", &["bob"])]),
            3 => (vec![message("bob")], vec![("m", &["bob"])]),
            _ => (
                vec![message("ada"), announcement(json!({ "groups": ["crew"] })), remind(Some("bob"))],
                vec![("m", &["ada"]), ("a", &["cyd"]), ("r", &["ada"])],
            ),
        };
        let began = ticks.now();
        let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
        node.service().ask(query, json!({ "inputs": inputs })).await;
        let span = Span { began, ended: ticks.now() };
        sent.extend(to.into_iter().map(|(part, to)| Sent { title: title(part), to, span }));
        // The clocks of the nodes drift apart.
        node.advance(TimeDelta::milliseconds(1 + i64::try_from(sender % 2).expect("it is small") * 5));
    }
    sent
}

/// Reads an overview repeatedly. Since no caller marks anything, the unread count can only grow.
async fn read(node: &TestApp, user: &str, is_over: &AtomicBool) {
    let mut before = 0;
    while !is_over.load(Ordering::SeqCst) {
        let data = node.user(user).ask("{ viewer { overview { unread { count } } } }", json!({})).await;
        let unread = data["viewer"]["overview"]["unread"]["count"].as_i64().expect("it is a count");
        assert!(unread >= before, "{user} had {before} and now has {unread}");
        before = unread;
    }
}

async fn check(app: &TestApp, user: &str, sent: &[Sent]) {
    let mut items = app.user(user).items(json!({})).await;
    items.reverse();
    let titles: Vec<&str> = items.iter().filter_map(|item| item["title"].as_str()).collect();
    let expected: HashMap<&str, Span> =
        sent.iter().filter(|of| of.to.contains(&user)).map(|of| (of.title.as_str(), of.span)).collect();
    let (mut delivered, mut wanted) = (titles.clone(), expected.keys().copied().collect::<Vec<_>>());
    delivered.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(delivered, wanted, "{user} got the one and should have got the other");
    assert!(items.is_sorted_by_key(|item| item["createdAt"].as_str()), "{user}'s items go back in time: {items:#?}");

    // In order from the oldest, no item may come after one that was sent only after its acknowledgement.
    for (place, later) in titles.iter().enumerate() {
        for earlier in &titles[..place] {
            let is_backwards = expected[later].ended < expected[earlier].began;
            assert!(!is_backwards, "{later} was acknowledged before {earlier} began: {titles:?}");
        }
    }
    let overview = app.user(user).overview().await;
    assert_eq!(overview.last(), Some(&format!("= {}", titles.len())));
}

/// Sends an announcement under a key. Returns the error code if it is refused.
async fn send_keyed(node: &TestApp, key: &str, title: &str) -> Result<Value, String> {
    let content = json!({ "title": title });
    let input = json!({ "type": "release", "audience": everyone(), "content": content, "idempotencyKey": key });
    let query =
        "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { replayed notification { id } } }";
    let (_, answer) = node.service().send(query, json!({ "input": input })).await;
    match answer["errors"][0]["extensions"]["code"].as_str() {
        Some(code) => Err(code.to_owned()),
        None => Ok(answer["data"]["sendAnnouncement"].clone()),
    }
}
