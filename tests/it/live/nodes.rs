//! Two nodes with the same database: sessions on each hear of all changes made on the other.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join as both;
use sea_orm::ConnectionTrait;
use serde_json::json;
use tokio::time::sleep;

use super::views::watch;
use crate::support::{Kind, OVERVIEWS, Redis, Socket, TestApp, VIEWS, everyone};
use crate::view::{LEAVE, activity, join, key, record, visit};

/// Runs a test with two nodes, with or without a Redis bus that the test controls.
async fn two_nodes(kind: Kind, redis: Option<&Redis>, test: impl AsyncFnOnce(&TestApp, &TestApp)) {
    let Some(database) = kind.migrated().await else { return };
    let start = async || TestApp::start_with(&database.url, |config| config.redis_url = redis.map(Redis::url)).await;
    let (one, other) = (start().await, start().await);
    one.admin().define_type("release").await;
    test(&one, &other).await;
    for node in [one, other] {
        node.app.db.close().await;
    }
    database.remove().await;
}

const TOTAL: &str = "subscription { overviewChanged { overview { total { count } } } }";

/// Changes on one node reach the sessions of the other.
async fn both_hear(one: &TestApp, other: &TestApp) {
    let (here, there) = (one.listen().await, other.listen().await);
    let mut items = Socket::feed(&there.address, &other.user("ada").token, json!({})).await;
    let mut overview = Socket::subscribed(&there.address, &other.user("ada").token, OVERVIEWS, json!({})).await;
    overview.until_unread(0).await;
    one.service().announce("release", everyone(), "to all").await;
    one.service().message("release", "ada", "to ada").await;
    assert_eq!((items.title().await, items.title().await), ("to all".into(), "to ada".into()));
    overview.until_unread(2).await;
    one.user("ada").mark("markRead", json!({ "matching": {} })).await;
    overview.until_unread(0).await;
    one.user("ada").subscribe("plan", &["comment"]).await;
    one.service().remind("release", "plan", "comment", None, "reminded").await;
    assert_eq!(items.title().await, "reminded");
    overview.until_unread(1).await;

    let mut views = watch(other, &there, "ada", VIEWS, json!({})).await;
    let mut total = watch(other, &there, "ada", TOTAL, json!({})).await;
    join(one, "team", &["ada"]).await;
    assert_eq!(views.view().await, ("team".into(), 0, String::new()));
    record(one, &[activity("team", Some("ben"), "hi")]).await;
    assert_eq!(views.view().await, ("team".into(), 1, "hi".into()));
    while total.data().await["overviewChanged"]["overview"]["total"]["count"] != 2 {}
    visit(&one.user("ada"), "team").await;
    assert_eq!(views.view().await, ("team".into(), 0, "hi".into()));
    while total.data().await["overviewChanged"]["overview"]["total"]["count"] != 1 {}
    one.service().ask(LEAVE, json!({ "key": key("team"), "users": ["ada"] })).await;
    assert_eq!(views.view().await, ("team".into(), 0, String::new()));
    drop((items, overview, views, total));
    here.stop().await;
    there.stop().await;
}

/// The bus fails and returns: sessions are late, but miss nothing.
async fn the_bus_may_go(one: &TestApp, other: &TestApp, redis: &mut Redis) {
    let (here, there) = (one.listen().await, other.listen().await);
    let mut items = Socket::feed(&there.address, &other.user("ada").token, json!({})).await;
    let mut overview = Socket::subscribed(&there.address, &other.user("ada").token, OVERVIEWS, json!({})).await;
    join(one, "team", &["ada"]).await;
    let mut views = watch(other, &there, "ada", VIEWS, json!({})).await;
    for round in 0..2 {
        one.service().announce("release", everyone(), "with the bus").await;
        assert_eq!(items.title().await, "with the bus");
        overview.until_unread(1).await;
        record(one, &[activity("team", None, "with the bus")]).await;
        assert_eq!(views.view().await, ("team".into(), 1, "with the bus".into()));
        redis.stop();
        one.service().announce("release", everyone(), "without").await;
        assert_eq!(items.title().await, "without", "round {round}");
        overview.until_unread(2).await;
        one.user("ada").mark("markRead", json!({ "matching": {} })).await;
        overview.until_unread(0).await;
        record(one, &[activity("team", None, "without")]).await;
        assert_eq!(views.view().await, ("team".into(), 2, "without".into()));
        visit(&one.user("ada"), "team").await;
        assert_eq!(views.view().await, ("team".into(), 0, "without".into()));
        let ready = reqwest::get(format!("http://{}/readyz", there.address)).await.expect("it answers");
        assert_eq!(ready.status(), 200);
        let metrics = reqwest::get(format!("http://{}/metrics", there.address)).await.expect("it answers");
        let metrics = metrics.text().await.expect("it is text");
        assert!(metrics.contains("tidings_bus_connected 0"), "{metrics}");
        redis.start_again().await;
    }
    one.service().announce("release", everyone(), "at last").await;
    assert_eq!(items.title().await, "at last");
    drop((items, overview, views));
    here.stop().await;
    there.stop().await;
}

/// After each announcement, both nodes read for the same users, and one of them finds their rows locked.
#[tokio::test]
async fn who_is_on_two_nodes_is_shown_overviews_on_both_all_the_time() {
    two_nodes(Kind::Postgres, None, async |one: &TestApp, other: &TestApp| {
        let (here, there) = (one.listen().await, other.listen().await);
        let mut sockets = Vec::new();
        for user in 0..20 {
            let token = one.user(&format!("user {user}")).token.clone();
            for node in [&here, &there] {
                let mut socket = Socket::subscribed(&node.address, &token, OVERVIEWS, json!({})).await;
                socket.until_unread(0).await;
                sockets.push(socket);
            }
        }
        let (of_one, of_other) = (one.service(), other.service());
        for _ in 0..30 {
            both(of_one.announce("release", everyone(), "here"), of_other.announce("release", everyone(), "there"))
                .await;
            sleep(Duration::from_millis(60)).await;
        }
        for socket in &mut sockets {
            let mut shown = 1;
            while socket.data().await["overviewChanged"]["overview"]["unread"]["count"] != 60 {
                shown += 1;
            }
            assert!(shown >= 15, "one shows {shown} times what 60 announcements change");
        }
        drop(sockets);
        here.stop().await;
        there.stop().await;
    })
    .await;
}

#[tokio::test]
async fn two_nodes_on_postgres_hear_each_other() {
    two_nodes(Kind::Postgres, None, both_hear).await;
}

#[tokio::test]
async fn two_nodes_on_postgres_and_redis_hear_each_other_with_and_without_redis() {
    let Some(mut redis) = Redis::start().await else { return };
    two_nodes(Kind::Postgres, Some(&redis), both_hear).await;
    let started = redis.url();
    two_nodes_that_lose(Kind::Postgres, &mut redis).await;
    assert_eq!(redis.url(), started);
}

#[tokio::test]
async fn two_nodes_on_mysql_and_redis_hear_each_other_with_and_without_redis() {
    let Some(mut redis) = Redis::start().await else { return };
    two_nodes(Kind::Mysql, Some(&redis), both_hear).await;
    two_nodes_that_lose(Kind::Mysql, &mut redis).await;
}

async fn two_nodes_that_lose(kind: Kind, redis: &mut Redis) {
    let Some(database) = kind.migrated().await else { return };
    let url = redis.url();
    let start = async || TestApp::start_with(&database.url, |config| config.redis_url = Some(url.clone())).await;
    let (one, other) = (start().await, start().await);
    one.admin().define_type("release").await;
    the_bus_may_go(&one, &other, redis).await;
    for node in [one, other] {
        node.app.db.close().await;
    }
    database.remove().await;
}

#[tokio::test]
async fn without_any_bus_what_is_sent_elsewhere_comes_a_little_later() {
    two_nodes(Kind::Mysql, None, async |one: &TestApp, other: &TestApp| {
        let (here, there) = (one.listen().await, other.listen().await);
        // Views have no log. A node checks each user's views once in 30 seconds, starting with the first users.
        join(one, "team", &["ben", "chen", "dara", "ada"]).await;
        let mut views = watch(other, &there, "ada", VIEWS, json!({})).await;
        record(one, &[activity("team", None, "hi")]).await;
        assert_eq!(views.view().await, ("team".into(), 1, "hi".into()));
        let mut items = Socket::feed(&there.address, &other.user("ada").token, json!({})).await;
        for title in ["one", "two"] {
            one.service().announce("release", everyone(), title).await;
            assert_eq!(items.title().await, title);
        }
        drop((items, views));
        here.stop().await;
        there.stop().await;
    })
    .await;
}

/// The database repeatedly cuts the connections of both nodes: sessions are late, but miss nothing.
#[tokio::test]
async fn the_bus_of_postgres_may_go_too() {
    two_nodes(Kind::Postgres, None, async |one: &TestApp, other: &TestApp| {
        let (here, there) = (one.listen().await, other.listen().await);
        let mut items = Socket::feed(&there.address, &other.user("ada").token, json!({})).await;
        for round in 0..5 {
            let title = round.to_string();
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                AND pid <> pg_backend_pid() AND (query LIKE 'LISTEN%' OR query LIKE 'SELECT pg_notify%')";
            one.app.db.read.execute_unprepared(cut).await.expect("connections are cut");
            one.service().announce("release", everyone(), &title).await;
            assert_eq!(items.title().await, title);
        }
        drop(items);
        here.stop().await;
        there.stop().await;
    })
    .await;
}

/// A third party repeats all messages on the bus, and sends messages that are no notices.
#[tokio::test]
async fn a_bus_that_repeats_itself_and_talks_nonsense_changes_nothing() {
    let Some(redis) = Redis::start().await else { return };
    two_nodes(Kind::Postgres, Some(&redis), async |one: &TestApp, other: &TestApp| {
        let client = redis::Client::open(redis.url()).unwrap();
        let mut heard = client.get_async_pubsub().await.unwrap();
        heard.psubscribe("tidings:*").await.unwrap();
        let mut speaker = client.get_multiplexed_async_connection().await.unwrap();
        let echo = tokio::spawn(async move {
            let mut messages = heard.on_message();
            while let Some(message) = messages.next().await {
                let (channel, text) = (message.get_channel_name().to_owned(), message.get_payload::<String>().unwrap());
                // The client also receives its own messages.
                if text.contains("\"notices\"") && !text.ends_with(' ') {
                    for text in ["nonsense".to_owned(), format!("{text} "), "{}".to_owned()] {
                        redis::AsyncCommands::publish::<_, _, ()>(&mut speaker, &channel, text).await.unwrap();
                    }
                }
            }
        });
        let (here, there) = (one.listen().await, other.listen().await);
        let mut items = Socket::feed(&there.address, &other.user("ada").token, json!({})).await;
        let mut overview = Socket::subscribed(&there.address, &other.user("ada").token, OVERVIEWS, json!({})).await;
        for round in 0..20 {
            one.service().announce("release", everyone(), &round.to_string()).await;
            assert_eq!(items.title().await, round.to_string());
        }
        overview.until_unread(20).await;
        assert!(items.is_silent(300).await && overview.is_silent(1).await);
        drop((items, overview));
        here.stop().await;
        there.stop().await;
        echo.abort();
    })
    .await;
}
