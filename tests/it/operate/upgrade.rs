//! Nodes of two versions with one database, and the shutdown of a node behind a balancer.

use axum::http::StatusCode;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::ready::ready;
use crate::support::{Kind, Process, TestApp, everyone, on_every_database};

/// Changes the tables as a newer, compatible version does: a column with a default in each, and another table.
pub async fn newer_and_compatible(app: &TestApp) {
    for table in [
        "tenant",
        "users",
        "channel",
        "subscription",
        "notification",
        "publication",
        "inbox_item",
        "preference",
        "view",
    ] {
        let quoted = if app.app.db.backend() == sea_orm::DbBackend::MySql {
            format!("`{table}`")
        } else {
            format!("\"{table}\"")
        };
        app.by_hand(&format!("ALTER TABLE {quoted} ADD COLUMN newer BIGINT NOT NULL DEFAULT 7")).await;
    }
    app.by_hand("CREATE TABLE newer (id BIGINT PRIMARY KEY)").await;
    app.by_hand("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m29991231_000001_newer', 0)").await;
}

on_every_database! {
    async fn an_older_node_serves_beside_newer_ones(app) {
        app.admin().define_type("news").await;
        // Statements are prepared before the tables change.
        app.service().announce("news", everyone(), "before").await;
        assert_eq!(app.user("ada").overview().await, ["news: 1 (before)", "= 1"]);
        newer_and_compatible(app).await;
        assert_eq!(ready(app).await, (StatusCode::OK, "ready\n".into()));
        app.service().announce("news", everyone(), "after").await;
        assert_eq!(app.user("ada").titles(json!({})).await, ["after", "before"]);
        assert_eq!(app.user("ada").mark("markRead", json!({ "matching": {} })).await, 2);
        let another = app.beside().await;
        assert_eq!(another.user("ben").overview().await, ["news: 2 (after)", "= 2"]);
        let (is_content, said) = Process::doctor(app.app.config.database.url(), &[]);
        assert!(is_content && said.contains("has newer migrations that this program does not need"), "{said}");
        another.app.db.close().await;
    }

    async fn a_database_that_needs_a_newer_version_is_named_so(app) {
        newer_and_compatible(app).await;
        app.by_hand("INSERT INTO server (name, value) VALUES ('needs', 'm29991231_000001_newer')").await;
        let words = "the database is newer than this program, which lacks the migration m29991231_000001_newer";
        let (status, said) = ready(app).await;
        assert!(status == StatusCode::SERVICE_UNAVAILABLE && said.starts_with(words), "{said}");
        let url = app.app.config.database.url();
        let (is_content, said) = Process::doctor(url, &[]);
        assert!(!is_content && said.contains(&format!("WRONG migrations: {words}")), "{said}");
        let serve = [("DATABASE_URL", url), ("TIDINGS_SECRET", crate::support::SECRET), ("TIDINGS_LISTEN", "127.0.0.1:0")];
        for command in [&["serve"][..], &["migrate"]] {
            let (is_done, _, log) = Process::command(command, &serve);
            assert!(!is_done && log.contains(words), "{log}");
        }
        let told = app.app.db.revert_migrations().await.unwrap_err().to_string();
        assert!(told.contains("cannot revert the migration m29991231_000001_newer"), "{told}");
    }

    async fn versions_that_do_not_follow_each_other_are_named_so(app) {
        newer_and_compatible(app).await;
        app.by_hand("DELETE FROM seaql_migrations WHERE version = 'm20261122_000017_used_actions'").await;
        let (status, said) = ready(app).await;
        let words = "come from versions that do not build on each other\n";
        assert!(status == StatusCode::SERVICE_UNAVAILABLE && said.ends_with(words), "{said}");
    }
}

/// Sends a request over a connection. Returns the head of the response, and whether the connection has ended.
async fn asked(connection: &mut TcpStream, path: &str) -> (String, bool) {
    connection.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).await.unwrap();
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&answer).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= length.trim().parse().unwrap() {
                let is_over = head.contains("connection: close") && connection.read(&mut part).await.unwrap() == 0;
                return (head.to_owned(), is_over);
            }
        }
        let count = connection.read(&mut part).await.unwrap();
        assert!(count > 0, "it ended within {text}");
        answer.extend_from_slice(&part[..count]);
    }
}

/// A node that is asked to stop reports it, and serves until balancers have noticed.
#[tokio::test]
async fn a_node_that_is_told_to_stop_serves_until_balancers_have_seen_it() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let mut server = Process::start_with(&database.url, &[("TIDINGS_DRAIN_SECONDS", "2")], None).await;
    let mut kept = TcpStream::connect(&server.address).await.unwrap();
    let (head, is_over) = asked(&mut kept, "/readyz").await;
    assert!(head.starts_with("http/1.1 200") && !is_over, "{head}");
    server.ask_to_stop();
    let until = tokio::time::Instant::now() + std::time::Duration::from_secs(1);
    // The signal arrives within a moment.
    let (head, is_over) = loop {
        let mut new = TcpStream::connect(&server.address).await.unwrap();
        let (head, is_over) = asked(&mut new, "/readyz").await;
        if head.starts_with("http/1.1 503") || tokio::time::Instant::now() > until {
            break (head, is_over);
        }
    };
    assert!(head.starts_with("http/1.1 503") && is_over, "{head}");
    let (head, is_over) = asked(&mut kept, "/healthz").await;
    assert!(
        head.starts_with("http/1.1 200") && is_over,
        "a connection that was kept ends with its next answer: {head}"
    );
    server.wait();
}
