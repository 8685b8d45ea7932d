//! Concurrent requests, on two nodes if the database supports that: nothing is lost, duplicated or out of order.

mod amending;
mod erasing;
mod grouping;
mod hearing;
mod prefix;
mod sending;

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join;
use sea_orm::DbBackend;
use serde_json::{Value, json};

use crate::support::{Kind, TestApp, everyone};

/// A logical clock: each instant is later than all before, independent of the nodes' clocks.
#[derive(Default)]
struct Ticks(AtomicUsize);

impl Ticks {
    fn now(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// The time from just before a request to just after its response.
#[derive(Clone, Copy, Debug)]
struct Span {
    began: usize,
    ended: usize,
}

/// A second node with the database of the first, or `None` on SQLite, which supports only one process.
pub async fn second_node(app: &TestApp) -> Option<TestApp> {
    if app.app.db.backend() == DbBackend::Sqlite {
        return None;
    }
    Some(TestApp::start(app.app.config.database.url()).await)
}

/// How many times each task of a test repeats its action.
pub fn rounds(app: &TestApp) -> usize {
    if app.app.db.backend() == DbBackend::Sqlite { 4 } else { 10 }
}

/// Two nodes that start with an empty database migrate it once and then see the same data.
async fn both_start(kind: Kind) {
    let Some(database) = kind.make().await else { return };
    let (one, other) = join(TestApp::start(&database.url), TestApp::start(&database.url)).await;
    one.admin().define_type("release").await;
    one.service().announce("release", everyone(), "v2").await;
    assert_eq!(other.user("ada").overview().await, ["release: 1 (v2)", "= 1"]);
    for node in [one, other] {
        node.app.db.close().await;
    }
    database.remove().await;
}

mod two_nodes_that_migrate_an_empty_database_at_once_both_start {
    use super::*;

    #[tokio::test]
    async fn sqlite() {
        both_start(Kind::Sqlite).await;
    }

    #[tokio::test]
    async fn postgres() {
        both_start(Kind::Postgres).await;
    }

    #[tokio::test]
    async fn mysql() {
        both_start(Kind::Mysql).await;
    }
}

/// The input of a reminder about a comment on the document `plan`.
fn reminder(title: &str, sender: Option<&str>) -> Value {
    let target = json!({ "type": "doc", "externalId": "plan" });
    json!({ "type": "release", "target": target, "action": "comment", "sender": sender, "content": { "title": title } })
}
