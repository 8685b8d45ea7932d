//! Several nodes with the Redis cache validation: overviews cost no statement and are never outdated, even if Redis
//! fails.

mod faults;

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, ETAG, HeaderValue, IF_NONE_MATCH};
use axum::http::{Request, StatusCode};
use maintenance::scheduled::drift;
use serde_json::json;
use tokio::select;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::model::{Mix, check};
use crate::overview::whatever_changes_is_seen;
use crate::support::{Kind, Process, Redis, TestApp, config, everyone, free_port};

/// How long nodes trust the invalidation epoch without reading it again, in milliseconds.
const TRUST: u64 = 2000;

/// The kinds of database that support several nodes.
const KINDS: [Kind; 2] = [Kind::Postgres, Kind::Mysql];

/// Runs a test with N nodes, a new database and a new Redis, once all nodes trust their epoch.
async fn with_nodes<const N: usize>(kind: Kind, test: impl AsyncFnOnce(&[TestApp; N], &mut Redis)) {
    let Some(mut redis) = Redis::start().await else { return };
    let Some(database) = kind.migrated().await else { return };
    let mut settings = config(&database.url);
    settings.redis_url = Some(redis.url());
    settings.board = true;
    settings.board_trust_millis = TRUST;
    let mut nodes = vec![TestApp::configured(settings).await];
    while nodes.len() < N {
        nodes.push(nodes[0].beside().await);
    }
    let nodes: [TestApp; N] = nodes.try_into().unwrap_or_else(|_| panic!("there are {N}"));
    believed(&nodes).await;
    test(&nodes, &mut redis).await;
    for node in nodes {
        node.app.db.close().await;
    }
    database.remove().await;
}

/// Waits until all nodes trust the invalidation epoch.
async fn believed(nodes: &[TestApp]) {
    let until = Instant::now() + Duration::from_secs(30);
    while !nodes.iter().all(|node| node.app.invalidation.as_ref().unwrap().is_trusted()) {
        assert!(Instant::now() < until, "the board is not believed");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Polls until a poll runs no statement.
async fn settled(node: &TestApp, user: &str) {
    for _ in 0..100 {
        if node.statements_of(node.user(user).overview()).await.0 == 0 {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("the database is asked again and again: {:#?}", node.texts());
}

fn hits(nodes: &[TestApp]) -> u64 {
    nodes.iter().map(|node| node.app.metrics.board_hits.get()).sum()
}

#[tokio::test]
async fn polls_are_answered_without_a_statement() {
    for kind in KINDS {
        with_nodes(kind, async |[app, other], _| {
            app.admin().define_type("news").await;
            app.service().announce("news", everyone(), "hello").await;
            for node in [app, other] {
                for _ in 0..2 {
                    assert_eq!(node.user("ada").overview().await, ["news: 1 (hello)", "= 1"]);
                }
            }
            let (here, mut asked) = (std::slice::from_ref(other), 0);
            for _ in 0..200 {
                let before = hits(here);
                let (statements, shown) = other.statements_of(other.user("ada").overview()).await;
                assert_eq!(shown, ["news: 1 (hello)", "= 1"]);
                let is_hit = hits(here) > before;
                assert!(!is_hit || statements == 0, "{statements} statements, and none was needed");
                asked += usize::from(!is_hit);
            }
            // On a busy machine, Redis may be too slow; the node then asks the database.
            assert!(asked < 40, "{asked} of 200 polls asked the database");
            // Changes for other users of the tenant do not invalidate the overview.
            settled(other, "ada").await;
            app.service().message("news", "ben", "to ben").await;
            app.user("ben").mark("markRead", json!({ "matching": {} })).await;
            assert_eq!(other.statements_of(other.user("ada").overview()).await.0, 0);
            app.service().message("news", "ada", "to ada").await;
            assert_eq!(other.user("ada").overview().await, ["news: 2 (to ada)", "= 2"]);

            // Nor does a poll with an `ETag` that is still valid ask the database.
            let poll = async |known: Option<&HeaderValue>| {
                let request = Request::get("/graphql?query=%7Bviewer%7Boverview%7Bunread%7Bcount%7D%7D%7D%7D");
                let request = request.header(AUTHORIZATION, format!("Bearer {}", other.user("ada").token));
                let request = known.into_iter().fold(request, |request, known| request.header(IF_NONE_MATCH, known));
                other.routes.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
            };
            let answer = poll(None).await;
            let known = &answer.headers()[ETAG];
            poll(Some(known)).await;
            let (statements, answer) = other.statements_of(poll(Some(known))).await;
            assert_eq!((statements, answer.status()), (0, StatusCode::NOT_MODIFIED));
        })
        .await;
    }
}

#[tokio::test]
async fn whatever_changes_an_overview_is_seen_by_a_node_with_a_board() {
    for kind in KINDS {
        with_nodes(kind, async |[app, reader], _| {
            // A read runs at most two statements (subscriptions and revalidation), or none when the overview is cached.
            whatever_changes_is_seen(app, reader, &[0..=2, 0..=2, 0..=2]).await;
            assert!(hits(std::slice::from_ref(reader)) > 20);
        })
        .await;
    }
}

#[tokio::test]
async fn who_listens_to_something_else_hears_of_it() {
    with_nodes(Kind::Postgres, async |[app, reader], _| {
        app.admin().define_type("news").await;
        let ada = reader.user("ada");
        settled(reader, "ada").await;
        app.user("ada").subscribe("plan", &["comment"]).await;
        settled(reader, "ada").await;
        app.service().remind("news", "other", "comment", None, "not for ada").await;
        assert_eq!(ada.overview().await, ["news: 0 (-)", "= 0"]);
        app.service().remind("news", "plan", "comment", None, "reminded").await;
        assert_eq!(ada.overview().await, ["news: 1 (reminded)", "= 1"]);
    })
    .await;
}

#[tokio::test]
async fn inboxes_are_as_the_model_says_on_nodes_with_a_board() {
    for kind in KINDS {
        with_nodes(kind, async |nodes: &[TestApp; 1], redis| {
            // Pause Redis each time the nodes trust it again. A read on one node then times out and asks the database,
            // while another may not.
            let pauses = async {
                loop {
                    sleep(Duration::from_millis(6 * TRUST)).await;
                    redis.ask(&["CLIENT", "PAUSE", "250", "ALL"]).await.unwrap();
                }
            };
            select! {
                () = check(&nodes[0], Mix::Watched) => {}
                () = pauses => {}
            }
        })
        .await;
    }
}

#[tokio::test]
async fn what_is_changed_past_the_board_is_counted() {
    with_nodes(Kind::Postgres, async |nodes: &[TestApp; 1], _| {
        let [app] = nodes;
        app.admin().define_type("news").await;
        app.service().message("news", "ada", "hello").await;
        settled(app, "ada").await;
        drift::measure_drift(&app.app).await.unwrap();
        assert_eq!(app.app.metrics.overview_drift.get(), 0);
        app.by_hand("UPDATE inbox_item SET state = 2").await;
        app.by_hand("UPDATE users SET version = version + 1").await;
        settled(app, "ada").await;
        drift::measure_drift(&app.app).await.unwrap();
        assert_eq!(app.app.metrics.overview_drift.get(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_node_without_a_board_keeps_the_others_from_believing_theirs() {
    with_nodes(Kind::Postgres, async |nodes: &[TestApp; 1], _| {
        let [app] = nodes;
        app.admin().define_type("news").await;
        let mut settings = app.app.config.clone();
        settings.board = false;
        let without = TestApp::at(settings, app.app.clock.clone()).await;
        for number in 1..10 {
            without.service().message("news", "ada", "hello").await;
            assert_eq!(app.user("ada").overview().await.last().unwrap(), &format!("= {number}"));
            assert!(!app.app.invalidation.as_ref().unwrap().is_trusted());
            sleep(Duration::from_millis(TRUST)).await;
        }
        drop((without.app, without.routes));
        believed(nodes).await;
    })
    .await;
}

#[tokio::test]
async fn a_board_that_could_not_be_is_refused() {
    let (redis, postgres) = (("REDIS_URL", "redis://127.0.0.1:1"), ("DATABASE_URL", "postgres://127.0.0.1:1/x"));
    let secret = ("TIDINGS_SECRET", crate::support::SECRET);
    let listen = format!("127.0.0.1:{}", free_port());
    for (settings, words) in [
        (vec![("TIDINGS_BOARD", "1"), postgres, secret], "TIDINGS_BOARD needs REDIS_URL"),
        (
            vec![("TIDINGS_BOARD", "1"), redis, ("DATABASE_URL", "sqlite://x.db"), secret],
            "a SQLite database has one node",
        ),
        (vec![("TIDINGS_BOARD", "perhaps"), redis, postgres, secret], "is 1 or 0"),
    ] {
        let (is_done, _, told) = Process::command(&["serve", "--listen", &listen], &settings);
        assert!(!is_done && told.contains(words), "{told}");
    }
}
