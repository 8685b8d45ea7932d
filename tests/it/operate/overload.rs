//! Overload: more work than the server has capacity for.

use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures_util::future::join_all;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::support::{Kind, PATIENCE, TestApp, on_every_database, with, with_settings};

const OVERVIEW: &str = "{ viewer { overview { unread { count } } } }";

async fn query(app: &TestApp) -> axum::http::Response<Body> {
    let request = Request::post("/graphql")
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", app.user("ada").token))
        .body(Body::from(json!({ "query": "{ viewer { id } }" }).to_string()));
    app.routes.clone().oneshot(request.unwrap()).await.unwrap()
}

#[tokio::test]
async fn too_many_requests_at_once_are_refused_at_once() {
    with_settings(
        Kind::Sqlite,
        |settings| settings.limits.in_flight = 2,
        async |app| {
            assert_eq!(query(app).await.status(), StatusCode::OK);
            // Blocks all other writes until it ends.
            let busy = app.app.db.begin().await.unwrap();
            let mark = async |user: &str| {
                app.user(user)
                    .send("mutation { markSeen { viewer { overview { unread { count } } } } }", json!({}))
                    .await
            };
            let third = async {
                let until = Instant::now() + PATIENCE;
                while app.app.metrics.in_flight.get() < 2 {
                    assert!(Instant::now() < until, "two are under way");
                    sleep(Duration::from_millis(5)).await;
                }
                let (statements, refusal) = app.statements_of(query(app)).await;
                assert_eq!((statements, refusal.status()), (0, StatusCode::SERVICE_UNAVAILABLE));
                assert_eq!(refusal.headers()["retry-after"], "1");
                let body = axum::body::to_bytes(refusal.into_body(), usize::MAX).await.unwrap();
                let body: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(body["errors"][0]["extensions"]["code"], "UNAVAILABLE");
                assert_eq!(app.app.metrics.shed.get(), 1);
                busy.rollback().await.unwrap();
            };
            let ((first, _), (second, _), ()) = tokio::join!(mark("ada"), mark("ben"), third);
            assert_eq!((first, second), (StatusCode::OK, StatusCode::OK));
            assert_eq!(query(app).await.status(), StatusCode::OK, "there is room again");
        },
    )
    .await;
}

/// All connections are taken: requests fail after a while, including those that wait to share a statement. Once the
/// connections are returned, requests succeed.
async fn a_pool_runs_out(kind: Kind) {
    with_settings(
        kind,
        |settings| settings.database.connections = 2,
        async |app| {
            assert_eq!(query(app).await.status(), StatusCode::OK);
            let users: Vec<String> = (0..50).map(|number| format!("user-{number}")).collect();
            for user in &users {
                app.user(user).ask("{ viewer { id } }", json!({})).await;
            }
            let before = base::telemetry::metrics::POOL_TIMEOUTS.get();
            let taken = (app.app.db.begin().await.unwrap(), app.app.db.begin().await.unwrap());
            let (_, answer) = app.user("ada").send(OVERVIEW, json!({})).await;
            assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{answer}");
            assert!(base::telemetry::metrics::POOL_TIMEOUTS.get() > before);
            let ask = async |user: &String| app.user(user).send(OVERVIEW, json!({})).await;
            for (_, answer) in join_all(users.iter().map(ask)).await {
                assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{answer}");
            }
            taken.0.rollback().await.unwrap();
            taken.1.rollback().await.unwrap();
            let (status, answer) = app.user("ada").send(OVERVIEW, json!({})).await;
            assert_eq!((status, &answer["errors"]), (StatusCode::OK, &Value::Null));
        },
    )
    .await;
}

#[tokio::test]
async fn whoever_gets_no_connection_is_told_on_postgres() {
    a_pool_runs_out(Kind::Postgres).await;
}

#[tokio::test]
async fn whoever_gets_no_connection_is_told_on_mysql() {
    a_pool_runs_out(Kind::Mysql).await;
}

/// Polls work for this many steps, and then drops it like a request after its client has disconnected.
async fn given_up_after(steps: usize, work: impl Future) {
    let (mut work, mut left) = (std::pin::pin!(work), steps);
    std::future::poll_fn(|context| {
        if left == 0 || work.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        left -= 1;
        Poll::Pending
    })
    .await;
}

/// Requests that are dropped at any moment return their connections.
async fn connections_come_back(kind: Kind) {
    with(kind, async |app| {
        app.admin().define_type("news").await;
        let query = "{ viewer { overview { unread { count } } inbox { nodes { title } } preferences { types { code } } \
            groups { code } following { nodes { id } } subscriptions { nodes { action } } views { externalId } } }";
        for number in 0..400 {
            let user = format!("user-{number}");
            given_up_after(number % 80, app.user(&user).send(query, json!({}))).await;
        }
        let mut taken = Vec::new();
        for _ in 0..app.app.config.database.connections {
            taken.push(app.app.db.begin().await.expect("there is a connection"));
        }
        for transaction in taken {
            transaction.rollback().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn whoever_goes_away_leaves_the_connection_on_postgres() {
    connections_come_back(Kind::Postgres).await;
}

#[tokio::test]
async fn whoever_goes_away_leaves_the_connection_on_mysql() {
    connections_come_back(Kind::Mysql).await;
}

on_every_database! {
    async fn a_transaction_that_is_given_up_leaves_nothing(app) {
        let db = &app.app.db;
        for steps in 0..12 {
            given_up_after(steps, async {
                let given_up = db.begin().await.unwrap();
                given_up.execute_unprepared("UPDATE server SET value = 'given up' WHERE name = 'name'").await.unwrap();
                loop {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        }
        // As many transactions as there can be at once, so that each connection is checked. A file has one connection
        // for writes.
        let many = if db.backend() == sea_orm::DbBackend::Sqlite { 1 } else { app.app.config.database.connections };
        let mut taken = Vec::new();
        for _ in 0..many {
            let transaction = db.begin().await.unwrap();
            let select = "SELECT value FROM server WHERE name = 'name'";
            let row = transaction.query_one_raw(Statement::from_string(db.backend(), select)).await.unwrap();
            assert_ne!(row.unwrap().try_get_by_index::<String>(0).unwrap(), "given up");
            taken.push(transaction);
        }
        for transaction in taken {
            transaction.commit().await.unwrap();
        }
        assert_ne!(db.name().await.unwrap(), "given up");
    }
}

/// As when all sessions of a node reconnect at once: no client has to retry.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn many_who_connect_at_once_find_room_in_the_line() {
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let many = allowed.trim().parse::<usize>().unwrap().min(500);
    let listener = tidings::http::listen(([127, 0, 0, 1], 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let connect = || tokio::time::timeout(Duration::from_millis(900), tokio::net::TcpStream::connect(address));
    let connections = futures_util::future::join_all((0..many).map(|_| connect())).await;
    assert_eq!(connections.into_iter().filter(|of| matches!(of, Ok(Ok(_)))).count(), many);
}
