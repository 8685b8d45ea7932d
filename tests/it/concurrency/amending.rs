//! An operator amends and retracts what others send and read, while the server counts and sweeps.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use domain::{counters, notification};
use futures_util::future::{join, join_all, join3};
use maintenance::scheduled::sweep;
use serde_json::{Value, json};

use super::{reminder, rounds, second_node};
use crate::support::{Actor, TestApp, everyone, on_every_database};

const SENDERS: usize = 8;
const READERS: [&str; 4] = ["ada", "bob", "cyd", "dan"];

/// How far the clocks of all nodes advance with each action of the operator, in seconds.
const TICK: i64 = 30;

/// A sent notification: its audience and its fate.
struct Sent {
    id: String,
    title: String,
    to: Vec<&'static str>,
    expires_at: Option<DateTime<Utc>>,
    is_retracted: bool,
}

/// Notifications that the operator has not handled yet.
type Queue = Mutex<VecDeque<Sent>>;

on_every_database! {
    async fn all_is_right_after_much_was_amended_retracted_counted_and_swept_at_once(app) {
        let other = second_node(app).await;
        let nodes = [app, other.as_ref().unwrap_or(app)];
        prepare(nodes).await;
        let (queue, is_sent, is_over) = (Queue::default(), AtomicBool::new(false), AtomicBool::new(false));
        let sending = async {
            join_all((0..SENDERS).map(|sender| send(nodes[sender % 2], sender, rounds(app), &queue))).await;
            is_sent.store(true, Ordering::SeqCst);
        };
        let changing = async {
            let ((), sent) = join(sending, operate(nodes, &queue, &is_sent)).await;
            is_over.store(true, Ordering::SeqCst);
            sent
        };
        let reading = READERS.iter().enumerate().map(|(place, user)| read(nodes[place % 2], user, &is_over));
        let (sent, _, ()) = join3(changing, join_all(reading), work(app, &is_over)).await;

        tick(nodes, 60 * 60);
        notification::publish_due(&app.app).await.expect("what is due goes out");
        let mut readers = HashMap::new();
        for user in READERS {
            for title in check(app, user, &sent).await {
                *readers.entry(title).or_insert(0) += 1;
            }
        }
        sweep::sweep_all(&app.app.delivery).await.expect("what is old goes");
        counters::update_counters(&app.app).await.expect("all are counted");
        check_stats(app, &sent, &readers).await;
    }
}

/// Subscribes all readers to the plan, and creates notifications for the sweep to find.
async fn prepare(nodes: [&TestApp; 2]) {
    let app = nodes[0];
    app.admin().define_type("release").await;
    for user in READERS {
        app.user(user).subscribe("plan", &["comment"]).await;
    }
    for place in 0..50 {
        app.service().announce("release", everyone(), &format!("old {place}")).await;
    }
    for user in READERS {
        app.user(user).mark("markRead", json!({ "matching": {} })).await;
    }
    tick(nodes, 31 * 24 * 60 * 60);
}

/// If there is only one node, both references are to it.
fn tick(nodes: [&TestApp; 2], seconds: i64) {
    nodes[0].advance(TimeDelta::seconds(seconds));
    if !std::ptr::eq(nodes[0], nodes[1]) {
        nodes[1].advance(TimeDelta::seconds(seconds));
    }
}

/// Repeatedly sends an announcement (at once or scheduled), a reminder and a message. Every other time, they expire
/// after 30 minutes.
async fn send(node: &TestApp, sender: usize, rounds: usize, queue: &Queue) {
    for round in 0..rounds {
        let title = |part: &str| format!("{sender}/{round}{part}");
        let receiver = READERS[(sender + round) % READERS.len()];
        let expires_at = (round % 2 == 0).then(|| node.now() + TimeDelta::minutes(30));
        let publish_at = (round % 3 == 0).then(|| node.now() + TimeDelta::minutes(5));
        let content = |part: &str| json!({ "title": title(part) });
        let mut remind = reminder(&title("r"), Some(receiver));
        remind["expiresAt"] = json!(expires_at);
        let inputs = json!([
            { "announcement": { "type": "release", "audience": everyone(), "content": content("a"),
                                "expiresAt": expires_at, "publishAt": publish_at } },
            { "reminder": remind },
            { "message": { "type": "release", "receiver": receiver, "content": content("m"), "expiresAt": expires_at } },
        ]);
        let query = "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { notification { id } } }";
        let data = node.service().ask(query, json!({ "inputs": inputs })).await;
        let others = READERS.into_iter().filter(|user| *user != receiver).collect();
        let to = [("a", READERS.to_vec()), ("r", others), ("m", vec![receiver])];
        let mut queue = queue.lock().expect("nobody panics");
        for (place, (part, to)) in to.into_iter().enumerate() {
            let id = data["sendNotifications"][place]["notification"]["id"].as_str().expect("it has an id").to_owned();
            queue.push_back(Sent { id, title: title(part), to, expires_at, is_retracted: false });
        }
    }
}

/// Retracts one of three notifications, changes the expiry of another, and leaves the third alone. The clocks advance
/// only between amendments: an expiry at the same instant could have either result.
async fn operate(nodes: [&TestApp; 2], queue: &Queue, is_sent: &AtomicBool) -> Vec<Sent> {
    let mut done: Vec<Sent> = Vec::new();
    loop {
        let was_sent = is_sent.load(Ordering::SeqCst);
        let next = queue.lock().expect("nobody panics").pop_front();
        let operator = nodes[done.len() % 2].admin();
        match next {
            Some(mut sent) => {
                match (done.len() / 3 + done.len()) % 3 {
                    0 => retract(&operator, &mut sent).await,
                    1 => amend(&operator, &mut sent, done.len()).await,
                    _ => {}
                }
                done.push(sent);
                tick(nodes, TICK);
            }
            None if was_sent => return done,
            None => drop(operator.ask("{ userGroups { code } }", json!({})).await),
        }
    }
}

async fn retract(operator: &Actor<'_>, sent: &mut Sent) {
    operator.ask("mutation($id: ID!) { retractSentNotification(id: $id) { status } }", json!({ "id": sent.id })).await;
    sent.is_retracted = true;
}

/// Sets another expiry, or none. Refused if the notification has expired.
async fn amend(operator: &Actor<'_>, sent: &mut Sent, turn: usize) {
    let hours = [None, Some(1), Some(24)][turn % 3];
    let expires_at = hours.map(|hours| operator.app.now() + TimeDelta::hours(hours));
    let patch = expires_at.map_or_else(|| json!({ "clear": ["EXPIRES_AT"] }), |at| json!({ "expiresAt": at }));
    let query =
        "mutation($id: ID!, $of: NotificationPatch!) { updateSentNotification(id: $id, input: $of) { status } }";
    let (_, answer) = operator.send(query, json!({ "id": sent.id, "of": patch })).await;
    match answer["errors"][0]["extensions"]["code"].as_str() {
        None => sent.expires_at = expires_at,
        Some("CONFLICT") => assert!(sent.expires_at.is_some_and(|at| at <= operator.app.now()), "{answer:#}"),
        Some(_) => panic!("{answer:#}"),
    }
}

/// Reads, and marks in every way that keeps an item.
async fn read(node: &TestApp, user: &str, is_over: &AtomicBool) {
    let user = node.user(user);
    let mut turn = 0;
    while !is_over.load(Ordering::SeqCst) {
        let items = user.items(json!({})).await;
        let ids = |many: usize| json!({ "ids": items.iter().skip(turn % 7).take(many).map(|of| &of["id"]).collect::<Vec<_>>() });
        match turn % 5 {
            0 => drop(user.overview().await),
            1 => drop(user.mark("markRead", json!({ "matching": {} })).await),
            2 => drop(user.mark("markUnread", ids(3)).await),
            3 => drop(user.mark("archiveItems", ids(1)).await),
            _ => drop(user.mark("markRead", ids(2)).await),
        }
        turn += 1;
    }
}

/// Runs the server's background work without pause.
async fn work(node: &TestApp, is_over: &AtomicBool) {
    while !is_over.load(Ordering::SeqCst) {
        notification::publish_due(&node.app).await.expect("what is due goes out");
        sweep::sweep_all(&node.app.delivery).await.expect("what is old goes");
        counters::update_counters(&node.app).await.expect("all are counted");
    }
}

/// Checks that a user has every notification for them that is neither retracted nor expired, once, and that the counts
/// match. Returns the titles that the user has read.
async fn check(app: &TestApp, user: &str, sent: &[Sent]) -> Vec<String> {
    let title = |item: &Value| item["title"].as_str().expect("it has a title").to_owned();
    let mut items = app.user(user).items(json!({})).await;
    let unread = items.iter().filter(|item| item["isRead"] == json!(false)).count();
    assert_eq!(app.user(user).overview().await.last(), Some(&format!("= {unread}")), "{user}'s list and overview");
    items.extend(app.user(user).items(json!({ "state": "ARCHIVED" })).await);
    let mut delivered: Vec<String> = items.iter().map(title).collect();
    let mut wanted: Vec<String> =
        sent.iter().filter(|of| of.is_there(app) && of.to.contains(&user)).map(|of| of.title.clone()).collect();
    delivered.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(delivered, wanted, "{user} has the one and should have the other");
    items.iter().filter(|item| item["isRead"] == json!(true)).map(title).collect()
}

impl Sent {
    fn is_there(&self, app: &TestApp) -> bool {
        !self.is_retracted && self.expires_at.is_none_or(|at| at > app.now())
    }
}

/// Counts are exact for notifications that still exist. For the others they may be incomplete.
async fn check_stats(app: &TestApp, sent: &[Sent], readers: &HashMap<String, u64>) {
    let query = "query($id: ID!) { sentNotification(id: $id) { status stats { deliveredCount readCount } } }";
    for of in sent {
        let data = app.admin().ask(query, json!({ "id": of.id })).await;
        let stats = &data["sentNotification"]["stats"];
        let number = |name: &str| stats[name].as_u64().expect("it is a count");
        let (delivered, read, all) = (number("deliveredCount"), number("readCount"), of.to.len() as u64);
        if of.is_there(app) {
            let readers = readers.get(&of.title).copied().unwrap_or_default();
            assert_eq!((delivered, read), (all, readers), "{} reached and was read by: {data:#}", of.title);
        } else {
            assert!(read <= delivered && delivered <= all, "{}: {data:#}", of.title);
        }
    }
}
