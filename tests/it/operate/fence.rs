//! The database is replaced while a node runs: no user sees another user's data.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{ITEMS, Kind, PATIENCE, Process, Socket, TestApp, everything_must_be_tested};

/// The number of users who are created after the dump.
const LOST: usize = 40;

/// Dumps a database into a file, or restores the file over the database.
async fn run(kind: Kind, url: &str, file: &str, is_restore: bool) -> Option<()> {
    let name = url.rsplit_once('/').unwrap().1;
    let words = match (kind, is_restore) {
        (Kind::Postgres, false) => format!("pg_dump --clean --if-exists '{url}' >{file}"),
        (Kind::Postgres, true) => format!("psql -q -v ON_ERROR_STOP=1 --single-transaction -f {file} '{url}'"),
        (_, false) => format!("mariadb-dump -h127.0.0.1 -uroot --single-transaction {name} >{file}"),
        (_, true) => format!("mariadb -h127.0.0.1 -uroot {name} <{file}"),
    };
    let command = words.clone();
    // The node continues in the meantime.
    let ran = tokio::task::spawn_blocking(move || {
        Command::new("sh").args(["-c", &command]).stdout(Stdio::null()).status().unwrap().success()
    });
    let is_done = ran.await.unwrap();
    assert!(is_done || !everything_must_be_tested(), "{words} fails, and TIDINGS_TEST_ALL=1");
    is_done.then_some(())
}

async fn restored_under_a_node(kind: Kind) {
    let Some(database) = kind.make().await else { return };
    let app = TestApp::start(&database.url).await;
    app.admin().define_type("direct").await;
    app.service().message("direct", "ada", "kept").await;
    let node = app.listen().await;
    let cursor = async || {
        app.user("ada").ask("{ viewer { overview { cursor } } }", json!({})).await["viewer"]["overview"]["cursor"]
            .clone()
    };
    let kept = cursor().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.sql").display().to_string();
    let Some(()) = run(kind, &database.url, &file, false).await else { return };
    // MariaDB records the creation of a table in whole seconds.
    sleep(Duration::from_millis(1100)).await;

    app.service().message("direct", "ada", "lost").await;
    for number in 0..LOST {
        app.service().message("direct", &format!("lost-{number}"), "lost").await;
        assert_eq!(app.user(&format!("lost-{number}")).titles(json!({})).await, ["lost"]);
    }
    let lost = cursor().await;
    let mut open = Socket::subscribed(&node.address, &app.user("ada").token, ITEMS, json!({ "after": lost })).await;
    let Some(()) = run(kind, &database.url, &file, true).await else { return };

    let (fence, until) = (&app.app.db.fence, Instant::now() + PATIENCE);
    loop {
        let leads_to = app.app.db.query_lineage().await.ok().flatten();
        if fence.era() > 0 && !fence.is_closed() && leads_to.is_some() && fence.current_lineage().0 == leads_to {
            break;
        }
        assert!(Instant::now() < until, "the node does not notice");
        sleep(Duration::from_millis(20)).await;
    }
    for number in 0..LOST {
        app.service().message("direct", &format!("new-{number}"), "new").await;
    }
    for number in 0..LOST {
        assert_eq!(app.user(&format!("lost-{number}")).titles(json!({})).await, [""; 0], "lost-{number}");
    }
    // The open session ends. Its cursor is invalid now, but the cursor from before the dump still works.
    assert_eq!(open.hear().await["payload"][0]["extensions"]["code"], "UNAVAILABLE");
    open.subscribe("2", ITEMS, json!({ "after": lost })).await;
    let refusal = loop {
        let heard = open.hear().await;
        if heard["id"] == "2" {
            break heard;
        }
    };
    assert_eq!(refusal["payload"][0]["extensions"]["field"], "after", "{refusal}");
    app.service().message("direct", "ada", "after").await;
    let mut socket = Socket::subscribed(&node.address, &app.user("ada").token, ITEMS, json!({ "after": kept })).await;
    assert_eq!(socket.title().await, "after");
    node.stop().await;
    app.app.db.close().await;
    database.remove().await;
}

#[tokio::test]
async fn a_dump_that_is_restored_under_a_node_mixes_nobody_up_on_postgres() {
    restored_under_a_node(Kind::Postgres).await;
}

#[tokio::test]
async fn a_dump_that_is_restored_under_a_node_mixes_nobody_up_on_mariadb() {
    restored_under_a_node(Kind::Mysql).await;
}

/// The first of several hosts is unreachable: the server uses the next one.
async fn several_hosts(kind: Kind) {
    let Some(database) = kind.migrated().await else { return };
    let (before, after) = database.url.rsplit_once('@').unwrap();
    let url = format!("{before}@127.0.0.1:1,{after}");
    let url = if kind == Kind::Postgres { format!("{url}?target_session_attrs=read-write") } else { url };
    let app = TestApp::start(&url).await;
    app.admin().define_type("direct").await;
    let node = app.listen().await;
    app.service().message("direct", "ada", "hello").await;
    assert_eq!(app.user("ada").titles(json!({})).await, ["hello"]);
    node.stop().await;
    app.app.db.close().await;
    database.remove().await;
}

#[tokio::test]
async fn of_several_hosts_one_that_takes_writes_is_used_on_postgres() {
    several_hosts(Kind::Postgres).await;
}

#[tokio::test]
async fn of_several_hosts_one_that_takes_writes_is_used_on_mariadb() {
    several_hosts(Kind::Mysql).await;
}

#[tokio::test]
async fn a_url_that_asks_for_a_server_without_writes_is_refused() {
    let (is_content, said) = Process::doctor("postgres://127.0.0.1:1/tidings?target_session_attrs=any", &[]);
    assert!(!is_content && said.contains("must be read-write or primary"), "{said}");
}
