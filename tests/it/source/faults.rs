//! Sources that do not respond, and callers who do not wait.

use std::time::Duration;

use serde_json::json;
use sources::{QueryFailureKind, SourceQuery};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep, timeout};

use super::{Other, query, sources, with};
use crate::support::{Kind, PATIENCE, free_port};

/// A statement that runs longer than any test waits, and the query with which the owner sees it.
fn endless(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Postgres => (
            "SELECT pg_sleep(25)::text AS a",
            "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg\\_sleep(25)%'
             AND state = 'active' AND pid <> pg_backend_pid()",
        ),
        _ => (
            "SELECT SLEEP(25) AS a",
            "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE '%SLEEP(25)%'
             AND id <> CONNECTION_ID()",
        ),
    }
}

/// The time within which abandoned statements end: before they would end by themselves.
const GIVEN_UP: Duration = Duration::from_secs(20);

/// Waits until this many statements run there.
async fn runs(other: &Other, many: i64) {
    let until = Instant::now() + GIVEN_UP;
    while other.number(endless(other.kind).1).await != many {
        assert!(Instant::now() < until, "there are never {many}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// The caller has gone: an aborted request, or a node that lost its lease.
#[tokio::test]
async fn a_scan_that_is_dropped_ends_on_the_server_too() {
    for kind in [Kind::Postgres, Kind::Mysql] {
        with(kind, json!({}), async |other| {
            let mut scan = Box::pin(other.source().scan(query(endless(kind).0)));
            tokio::select! {
                found = &mut scan => panic!("{found:?}"),
                () = runs(other, 1) => {}
            }
            drop(scan);
            runs(other, 0).await;
            assert_eq!(other.row("SELECT 1 AS a").await, json!({ "a": 1 }), "its connection is free");
        })
        .await;
    }
}

#[tokio::test]
async fn a_result_that_is_truncated_ends_on_the_server_too() {
    with(Kind::Postgres, json!({}), async |other| {
        let sql = "SELECT i, CASE WHEN i > 50000 THEN pg_sleep(25)::text END AS a FROM generate_series(1, 100000) i";
        let found = other.source().scan(SourceQuery { limit: 3, ..query(sql) }).await.unwrap();
        assert_eq!((found.rows.len(), found.is_truncated), (3, true));
        assert_eq!(other.row("SELECT 1 AS a").await, json!({ "a": 1 }));
        runs(other, 0).await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_stops_leaves_nothing_running() {
    for kind in [Kind::Postgres, Kind::Mysql, Kind::Sqlite] {
        with(kind, json!({ "connections": 2 }), async |other| {
            let sql = match kind {
                Kind::Sqlite => {
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) AS c FROM n"
                }
                _ => endless(kind).0,
            };
            let begun = async {
                match kind {
                    Kind::Sqlite => sleep(Duration::from_millis(50)).await,
                    _ => runs(other, 2).await,
                }
                other.sources.close().await;
            };
            let (one, another, ()) = tokio::join!(other.scan(sql), other.scan(sql), begun);
            for found in [one, another, other.scan("SELECT 1 AS a").await] {
                assert_eq!(found.unwrap_err().kind, QueryFailureKind::Unreachable);
            }
            if kind != Kind::Sqlite {
                runs(other, 0).await;
            }
        })
        .await;
    }
}

/// It accepts connections, but never responds.
#[tokio::test]
async fn a_source_that_hangs_holds_nobody_else_up() {
    with(Kind::Sqlite, json!({}), async |other| {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let hanging = tokio::spawn(async move {
            let mut taken = Vec::new();
            while let Ok((connection, _)) = silent.accept().await {
                taken.push(connection);
            }
        });
        let entry = |name: &str, scheme: &str| {
            json!({ "name": name, "url": format!("{scheme}://a:hunter2@127.0.0.1:{port}/a"), "tenants": "*", "timeout_ms": 300,
                "connections": 1 })
        };
        let hung = sources(&json!([entry("postgres", "postgres"), entry("mysql", "mysql")]));
        for name in ["postgres", "mysql"] {
            let source = hung.find_for_tenant("acme", name).unwrap();
            let scans = async { tokio::join!(source.scan(query("SELECT 1 AS a")), source.scan(query("SELECT 1 AS a"))) };
            let ((one, another), row) = tokio::join!(scans, other.row("SELECT 1 AS a"));
            assert_eq!(row, json!({ "a": 1 }));
            assert_eq!(one.unwrap_err().kind, QueryFailureKind::TimedOut);
            let another = another.unwrap_err().kind;
            assert!(matches!(another, QueryFailureKind::TimedOut | QueryFailureKind::Unreachable), "it waits for a connection");
        }
        timeout(PATIENCE, hung.close()).await.unwrap();
        hanging.abort();
    })
    .await;
}

#[tokio::test]
async fn a_source_that_is_not_there_is_unreachable() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let file = folder.path().join("text.db");
    std::fs::write(&file, "this is no database at all, however long it is".repeat(50)).unwrap();
    for (url, words) in [
        (format!("postgres://a:hunter2@127.0.0.1:{port}/a"), "Connection refused"),
        (format!("mariadb://a:hunter2@127.0.0.1:{port}/a"), "Connection refused"),
        (format!("sqlite:{}", folder.path().join("nowhere.db").display()), "unable to open database file"),
        (format!("sqlite:{}?mode=rwc", folder.path().join("nowhere.db").display()), "unable to open database file"),
        (format!("sqlite:{}", file.display()), "file is not a database"),
    ] {
        let sources = sources(&json!([{ "name": "a", "url": url, "tenants": "*" }]));
        let failure = sources.find_for_tenant("acme", "a").unwrap().check().await.unwrap_err();
        assert_eq!(failure.kind, QueryFailureKind::Unreachable, "{failure:?}");
        assert!(failure.message.contains(words), "{failure:?} rather than {words:?}");
        assert!(!failure.message.contains("hunter2") && !failure.message.contains("db\""), "{failure:?}");
    }
    assert!(!folder.path().join("nowhere.db").exists());
}

/// The response breaks off in the middle.
#[tokio::test]
async fn a_source_that_goes_away_is_no_empty_result() {
    let breaking = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = breaking.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        while let Ok((mut connection, _)) = breaking.accept().await {
            let _ = connection.read_u8().await;
        }
    });
    let sources = sources(&json!([{ "name": "a", "url": format!("postgres://a@127.0.0.1:{port}/a"), "tenants": "*" }]));
    let failure = sources.find_for_tenant("acme", "a").unwrap().scan(query("SELECT 1 AS a")).await.unwrap_err();
    assert_eq!(failure.kind, QueryFailureKind::Unreachable, "{failure:?}");
    task.abort();
}
