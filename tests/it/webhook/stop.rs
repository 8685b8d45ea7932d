//! A node that is asked to stop while requests are in flight.

use std::time::Duration;

use serde_json::json;
use tokio::net::TcpStream;

use super::receiver::{Answer, Receiver};
use super::{create, number};
use crate::support::{KEY, Kind, PATIENCE, Process, TestApp};

/// The number of notifications: more than are in flight at a time.
const SENT: usize = 40;

const SEND: &str = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { id } } }";

/// When a receiver responds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answered {
    /// While the node stops.
    Late,
    Never,
}

async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..PATIENCE.as_millis() / 10 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it does not come to that");
}

async fn lets_go(kind: Kind, answer: Answered) {
    let Some(database) = kind.migrated().await else { return };
    let app = TestApp::start(&database.url).await;
    app.admin().define_type("news").await;
    let receiver = Receiver::start().await;
    receiver.answers(Answer::Held);
    create(&app, &receiver.url, json!({})).await;
    let further = [("TIDINGS_KEY", KEY), ("TIDINGS_EGRESS_ALLOW", "127.0.0.1"), ("TIDINGS_RATE", "0")];
    let mut node = Process::start_with(&database.url, &further, None).await;
    for n in 0..SENT {
        let input = json!({ "type": "news", "receiver": "ada", "content": { "title": format!("{n}") } });
        node.ask(&app.service().token, SEND, json!({ "input": input })).await.unwrap();
    }
    until(async || receiver.many() == 16).await;

    node.ask_to_stop();
    until(async || TcpStream::connect(&node.address).await.is_err()).await;
    if answer == Answered::Late {
        receiver.let_go();
    }
    until(async || node.has_ended()).await;
    let answered = if answer == Answered::Late { receiver.many() } else { 0 };
    let delivered = "SELECT COUNT(*) AS many FROM delivery WHERE state = 2";
    assert_eq!(number(&app, delivered).await, i64::try_from(answered).unwrap(), "what was answered is written down");
    let held = "SELECT COUNT(*) AS many FROM lane WHERE lease_until <> 0";
    assert_eq!(number(&app, held).await, 0, "another one need not wait for the lease");

    receiver.let_go();
    let next = Process::start_with(&database.url, &further, None).await;
    until(async || number(&app, delivered).await == i64::try_from(SENT).unwrap()).await;
    let repeated = if answer == Answered::Late { 0 } else { 16 };
    assert_eq!(receiver.many(), SENT + repeated, "nothing that was answered is sent twice");
    drop(next);
    app.app.db.close().await;
    database.remove().await;
}

#[tokio::test]
async fn a_node_that_is_stopped_writes_down_what_is_under_way_and_lets_go_sqlite() {
    lets_go(Kind::Sqlite, Answered::Late).await;
}

#[tokio::test]
async fn a_node_that_is_stopped_writes_down_what_is_under_way_and_lets_go_postgres() {
    lets_go(Kind::Postgres, Answered::Late).await;
}

#[tokio::test]
async fn a_node_that_is_stopped_writes_down_what_is_under_way_and_lets_go_mysql() {
    lets_go(Kind::Mysql, Answered::Late).await;
}

#[tokio::test]
async fn a_node_that_is_stopped_lets_go_of_what_nobody_answers_postgres() {
    lets_go(Kind::Postgres, Answered::Never).await;
}
