//! The rate limits of a caller per minute.

use std::time::Duration;

use auth::CallerRole;
use axum::http::StatusCode;
use base::config::ServerConfig;
use chrono::TimeDelta;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{code, post, raw};
use crate::support::{Kind, PATIENCE, Redis, TestApp, with_settings};

fn six_a_minute(settings: &mut ServerConfig) {
    settings.limits.rate = 6;
}

#[tokio::test]
async fn a_user_has_so_many_operations_a_minute_and_is_told_when_to_come_back() {
    with_settings(Kind::Sqlite, six_a_minute, async |app| {
        let ada = app.user("ada");
        // Operations count, not requests.
        let (status, _) = ada
            .send("{ viewer { id } userGroups { code } subscriptionReasons { code } messageTypes { code } }", json!({}))
            .await;
        assert_eq!(status, StatusCode::OK);
        let (statements, (status, answer)) = app
            .statements_of(ada.send("{ viewer { id } userGroups { code } subscriptionReasons { code } }", json!({})))
            .await;
        assert_eq!((status, statements, code(&answer)), (StatusCode::TOO_MANY_REQUESTS, 0, &json!("RATE_LIMITED")));
        assert_eq!(answer["errors"][0]["extensions"]["retryAfter"], 10);
        assert_eq!(ada.send("{ viewer { id } }", json!({})).await.0, StatusCode::OK);
        let (status, headers, body) =
            raw(app, post(&ada.token, json!({ "query": "{ viewer { id } }" }).to_string())).await;
        assert_eq!((status, headers["retry-after"].to_str().unwrap()), (StatusCode::TOO_MANY_REQUESTS, "10"));
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["errors"][0]["message"], "too many operations, try again in 10 s");
        // A request that does not parse also counts.
        assert_eq!(ada.send("{", json!({})).await.0, StatusCode::TOO_MANY_REQUESTS);
        app.advance(TimeDelta::seconds(10));
        assert_eq!(ada.send("{ viewer { id } }", json!({})).await.0, StatusCode::OK);
    })
    .await;
}

#[tokio::test]
async fn each_caller_has_their_own_share() {
    with_settings(Kind::Sqlite, six_a_minute, async |app| {
        for _ in 0..6 {
            app.user("ada").send("{ viewer { id } }", json!({})).await;
        }
        assert_eq!(app.user("ada").send("{ viewer { id } }", json!({})).await.0, StatusCode::TOO_MANY_REQUESTS);
        for other in [app.user("ben"), app.stranger("ada", CallerRole::User)] {
            assert_eq!(other.send("{ viewer { id } }", json!({})).await.0, StatusCode::OK);
        }
        for _ in 0..50 {
            assert_eq!(app.service().send("{ userGroups { code } }", json!({})).await.0, StatusCode::OK);
        }
    })
    .await;
    let both = |settings: &mut ServerConfig| settings.limits.staff_rate = 2;
    with_settings(Kind::Sqlite, both, async |app| {
        for status in [StatusCode::OK, StatusCode::OK, StatusCode::TOO_MANY_REQUESTS] {
            assert_eq!(app.service().send("{ userGroups { code } }", json!({})).await.0, status);
        }
        assert_eq!(app.admin().send("{ userGroups { code } }", json!({})).await.0, StatusCode::OK);
    })
    .await;
}

/// Waits until both nodes use Redis: `ben` sends requests until they count together.
async fn both_share(nodes: [&TestApp; 2]) {
    for node in nodes {
        let until = Instant::now() + PATIENCE;
        while node.app.metrics.rate_shared.get() == 0 {
            assert!(Instant::now() < until, "Redis is not found");
            node.user("ben").send("{ viewer { id } }", json!({})).await;
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Checks that both nodes share one bucket of six. Repeats with another user until no response of Redis was late.
async fn one_bucket(nodes: [&TestApp; 2], name: &str) {
    for attempt in 0.. {
        both_share(nodes).await;
        let alone = || nodes.map(|node| node.app.metrics.rate_alone.get());
        let (before, began, mut statuses) = (alone(), Instant::now(), Vec::new());
        let user = format!("{name}{attempt}");
        for turn in 0..8 {
            statuses.push(nodes[turn % 2].user(&user).send("{ viewer { id } }", json!({})).await.0);
        }
        let (_, answer) = nodes[0].user(&user).send("{ viewer { id } }", json!({})).await;
        // Redis uses its own clock, which adds an operation every ten seconds.
        if alone() == before && began.elapsed() < Duration::from_secs(8) {
            let (ok, refused) = (StatusCode::OK, StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(statuses, [ok, ok, ok, ok, ok, ok, refused, refused]);
            let wait = answer["errors"][0]["extensions"]["retryAfter"].as_u64().unwrap();
            assert!((2..=10).contains(&wait), "{wait}");
            return;
        }
        assert!(attempt < 20, "Redis is always late");
    }
}

#[tokio::test]
async fn nodes_share_a_callers_rate_in_redis_and_count_alone_while_it_is_away() {
    let Some(mut redis) = Redis::start().await else { return };
    let Some(database) = Kind::Postgres.migrated().await else { return };
    let url = redis.url();
    let start = async || {
        let change = |settings: &mut ServerConfig| {
            six_a_minute(settings);
            settings.redis_url = Some(url.clone());
        };
        TestApp::start_with(&database.url, change).await
    };
    let (one, other) = (start().await, start().await);
    let nodes = [&one, &other];
    one_bucket(nodes, "ada").await;
    // A wrong clock of a node gives callers nothing more.
    other.advance(TimeDelta::seconds(90));
    one_bucket(nodes, "emil").await;
    redis.stop();
    for node in nodes {
        let mut statuses = Vec::new();
        for _ in 0..7 {
            statuses.push(node.user("chris").send("{ viewer { id } }", json!({})).await.0);
        }
        assert!(statuses[..6].iter().all(|status| *status == StatusCode::OK), "{statuses:?}");
        assert_eq!(statuses[6], StatusCode::TOO_MANY_REQUESTS, "a node alone counts, too");
        assert_eq!(node.app.metrics.rate_shared.get(), 0);
    }
    redis.start_again().await;
    one_bucket(nodes, "dora").await;
    for node in [one, other] {
        node.app.db.close().await;
    }
    database.remove().await;
}
