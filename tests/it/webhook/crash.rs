//! Nodes that are killed while they send.
//!
//! `TIDINGS_TEST_KILLS` sets the number of kills; with 20, the test sends 5,000 notifications meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use super::receiver::{Answer, Got, Receiver};
use super::{create, number};
use crate::support::{KEY, Kind, PATIENCE, Process, TestApp};

/// The default number of kills.
const KILLS: usize = 2;

/// The number of notifications per kill.
const SENT: usize = 250;

/// The number of concurrent senders.
const SENDERS: usize = 4;

/// The most requests that may be repeated for each killed node: those in flight, and those delivered but not recorded
/// yet, from a tenth of a second and the time that recording takes.
const REPEATED: usize = 64;

const SEND: &str = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } } }";

/// The ids of acknowledged notifications.
type Sent = HashSet<String>;

/// Sends these notifications, each until it is acknowledged.
async fn send(nodes: &[RwLock<Process>], token: &str, all: impl Iterator<Item = usize>, done: &AtomicUsize) -> Sent {
    let mut sent = Sent::new();
    for n in all {
        let input = json!({ "type": "news", "receiver": format!("u{}", n % 5), "content": { "title": format!("{n}") }, "idempotencyKey": format!("k{n}") });
        let id = loop {
            let answer = nodes[n % nodes.len()].read().await.ask(token, SEND, json!({ "input": input })).await;
            match answer {
                Some(mut data) => break data["sendMessage"]["notification"]["id"].take(),
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        sent.insert(id.as_str().unwrap().to_owned());
        done.fetch_add(1, Ordering::SeqCst);
    }
    sent
}

/// Kills one node after another during the sends, and makes the leases of the killed nodes expire.
async fn kill_some(app: &TestApp, nodes: &[RwLock<Process>], kills: usize, done: &AtomicUsize) {
    for kill in 0..kills {
        while done.load(Ordering::SeqCst) < kill * SENT + SENT / 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut node = nodes[kill % nodes.len()].write().await;
        node.kill();
        app.by_hand("UPDATE lane SET lease_until = 0").await;
        node.start_again().await;
    }
}

async fn survives_kill(kind: Kind) {
    let Some(database) = kind.migrated().await else { return };
    let kills = crate::model::setting("TIDINGS_TEST_KILLS").map_or(KILLS, |kills| kills.try_into().unwrap());
    let app = TestApp::start(&database.url).await;
    app.admin().define_type("news").await;
    let receiver = Receiver::start().await;
    receiver.answers(Answer::Slow(30));
    let further = [("TIDINGS_KEY", KEY), ("TIDINGS_EGRESS_ALLOW", "127.0.0.1"), ("TIDINGS_RATE", "0")];
    create(&app, &receiver.url, json!({})).await;
    let many = if kind == Kind::Sqlite { 1 } else { 3 };
    let mut nodes = Vec::with_capacity(many);
    for _ in 0..many {
        nodes.push(RwLock::new(Process::start_with(&database.url, &further, None).await));
    }
    let (token, done) = (app.service().token.clone(), AtomicUsize::new(0));
    let senders = (0..SENDERS).map(|first| send(&nodes, &token, (first..kills * SENT).step_by(SENDERS), &done));
    let (sent, ()) = tokio::join!(join_all(senders), kill_some(&app, &nodes, kills, &done));
    let sent: Sent = sent.into_iter().flatten().collect();
    assert_eq!(sent.len(), kills * SENT);
    wait_until_delivered(&app, sent.len()).await;
    drop(nodes);
    check(&receiver.take(), &sent, kills);
    app.app.db.close().await;
    database.remove().await;
}

async fn wait_until_delivered(app: &TestApp, many: usize) {
    for _ in 0..PATIENCE.as_millis() / 100 {
        let open = "SELECT COUNT(*) AS many FROM delivery WHERE state <> 2";
        let is_taken = number(app, "SELECT COUNT(*) AS many FROM delivery").await >= many.try_into().unwrap();
        if is_taken && number(app, open).await == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Checks that every acknowledged notification arrived under one id, that nothing else did, and that repetitions are
/// within the limit.
fn check(got: &[Got], sent: &Sent, kills: usize) {
    let mut about: HashMap<&str, &Value> = HashMap::new();
    for got in got {
        let before = about.insert(&got.id, &got.body["data"]["id"]);
        assert!(before.is_none_or(|before| *before == got.body["data"]["id"]));
    }
    let heard: Sent = about.values().map(|id| id.as_str().unwrap().to_owned()).collect();
    assert_eq!((about.len(), &heard), (sent.len(), sent), "each under one id, and nothing is missing");
    let repeated = got.len() - sent.len();
    assert!(repeated <= kills * REPEATED, "{repeated} were repeated with {kills} kills");
    #[expect(clippy::print_stderr, reason = "it tells whoever runs it with many kills how it went")]
    {
        eprintln!("{} sent, {kills} kills, {repeated} repeated", sent.len());
    }
}

#[tokio::test]
async fn what_was_sent_arrives_though_nodes_are_killed_sqlite() {
    survives_kill(Kind::Sqlite).await;
}

#[tokio::test]
async fn what_was_sent_arrives_though_nodes_are_killed_postgres() {
    survives_kill(Kind::Postgres).await;
}

#[tokio::test]
async fn what_was_sent_arrives_though_nodes_are_killed_mysql() {
    survives_kill(Kind::Mysql).await;
}
