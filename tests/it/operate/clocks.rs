//! Nodes and a database with different clocks.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use base::clock::{Clock, to_date_time};
use base::error::Error;
use chrono::{DateTime, TimeDelta, Utc};
use domain::notification::publish_due;
use maintenance::scheduled::sweep;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::after::{announce, update};
use crate::support::{Actor, Kind, Process, TestApp, config, everyone, on_every_database};

const MESSAGE: &str = "mutation($input: SendMessageInput!) { sendMessage(input: $input) { notification { createdAt publishedAt expiresAt } } }";

async fn text(app: &TestApp, path: &str) -> String {
    let request = Request::get(path).body(Body::empty()).unwrap();
    let body = app.routes.clone().oneshot(request).await.unwrap().into_body();
    String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap()
}

fn instant(of: &Value) -> DateTime<Utc> {
    of.as_str().unwrap().parse().unwrap()
}

/// The time in this many minutes, by the machine's clock.
fn in_minutes(minutes: i64) -> Value {
    json!((to_date_time(Clock::System.now()) + TimeDelta::minutes(minutes)).to_rfc3339())
}

/// Sends a message to ada and returns its times.
async fn message(by: &Actor<'_>, title: &str, further: Value) -> Value {
    let mut input = json!({ "type": "news", "receiver": "ada", "content": { "title": title } });
    input.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    by.ask(MESSAGE, json!({ "input": input })).await["sendMessage"]["notification"].clone()
}

/// Runs a test with two nodes: the clock of the first is right, and that of the second is off by this much.
async fn with_two(kind: Kind, off: TimeDelta, test: impl AsyncFnOnce(&TestApp, &TestApp)) {
    let Some(database) = kind.migrated().await else { return };
    let right = TestApp::at(config(&database.url), Clock::System).await;
    let wrong = TestApp::at(config(&database.url), Clock::skewed_by(off)).await;
    test(&right, &wrong).await;
    for node in [right, wrong] {
        node.app.db.close().await;
    }
    database.remove().await;
}

/// A node with a clock that is off by days deletes and publishes nothing, reports that, and does its users no harm.
async fn days_off(kind: Kind, days: i32) {
    with_two(kind, TimeDelta::days(days.into()), async |right, wrong| {
        right.admin().define_type("news").await;
        right.service().announce("news", everyone(), "kept").await;
        announce(&right.admin(), json!({ "publishAt": in_minutes(60 * 24 * 10), "content": { "title": "later" } }))
            .await;
        announce(&right.admin(), json!({ "expiresAt": in_minutes(5), "content": { "title": "soon over" } })).await;

        let refused = sweep::sweep_all(&wrong.app.delivery).await;
        assert!(matches!(&refused, Err(Error::Unavailable(why)) if why.contains("nothing is deleted")), "{refused:?}");
        let for_zoe =
            json!({ "publishAt": in_minutes(60), "audience": { "users": ["zoe"] }, "content": { "title": "due" } });
        let due = announce(&right.admin(), for_zoe).await;
        update(&right.admin(), &due["id"], json!({ "publishAt": in_minutes(-1) })).await;
        assert_eq!(publish_due(&wrong.app).await.unwrap(), 0, "one of the clocks is wrong");
        assert_eq!(publish_due(&right.app).await.unwrap(), 1);
        let side = if days < 0 { "behind" } else { "ahead of" };
        assert!(text(wrong, "/readyz").await.contains(&format!(" s {side} the database's")));
        assert_eq!(text(right, "/readyz").await, "ready\n");
        let skew = text(wrong, "/metrics").await;
        let skew = skew.lines().find(|line| line.starts_with("tidings_clock_skew_seconds ")).unwrap();
        let skew: f64 = skew.split(' ').nth(1).unwrap().parse().unwrap();
        assert!((skew / 86_400.0 - f64::from(days)).abs() < 0.1, "{skew}");

        // Requests follow the database's clock, including those that cannot be undone.
        assert_eq!(wrong.user("ada").titles(json!({})).await, ["soon over", "kept"]);
        assert_eq!(right.user("ada").titles(json!({})).await, ["soon over", "kept"]);
        let sent = message(&wrong.service(), "from afar", json!({ "expiresAt": in_minutes(1) })).await;
        assert!((instant(&sent["publishedAt"]) - to_date_time(Clock::System.now())).abs() < TimeDelta::seconds(30));
        assert_eq!(right.user("ada").titles(json!({})).await, ["from afar", "soon over", "kept"]);

        wrong.advance(TimeDelta::days((-days).into()));
        wrong.app.compare_clocks().await.unwrap();
        assert_eq!(text(wrong, "/readyz").await, "ready\n");
        assert_eq!(sweep::sweep_all(&wrong.app.delivery).await.unwrap(), sweep::SweepCounts::default());
        assert_eq!(right.user("ada").titles(json!({})).await, ["from afar", "soon over", "kept"]);
    })
    .await;
}

#[tokio::test]
async fn a_node_days_off_deletes_and_publishes_nothing_on_postgres() {
    days_off(Kind::Postgres, 40).await;
    days_off(Kind::Postgres, -40).await;
}

#[tokio::test]
async fn a_node_days_off_deletes_and_publishes_nothing_on_mysql() {
    days_off(Kind::Mysql, 40).await;
    days_off(Kind::Mysql, -40).await;
}

/// A node that is 90 seconds ahead publishes once. Notifications sent through the other node arrive, and expire on
/// time.
async fn a_little_ahead(kind: Kind) {
    with_two(kind, TimeDelta::seconds(90), async |right, ahead| {
        right.admin().define_type("news").await;
        message(&ahead.service(), "once", json!({})).await;
        message(&right.service(), "short", json!({ "expiresAt": in_minutes(1) })).await;
        assert_eq!(right.user("ada").titles(json!({})).await, ["short", "once"]);
        assert_eq!(ahead.user("ada").titles(json!({})).await, ["short", "once"]);
        right
            .admin()
            .ask(
                "mutation { saveMessageType(input: { code: \"news\", title: \"News\", ttlSeconds: 60 }) { code } }",
                json!({}),
            )
            .await;
        for node in [right, ahead] {
            let sent = message(&node.service(), "a minute", json!({})).await;
            assert_eq!(instant(&sent["expiresAt"]) - instant(&sent["createdAt"]), TimeDelta::seconds(60));
            assert!((instant(&sent["createdAt"]) - to_date_time(Clock::System.now())).abs() < TimeDelta::seconds(30));
        }
    })
    .await;
}

#[tokio::test]
async fn a_node_a_little_ahead_shortens_nothing_on_postgres() {
    a_little_ahead(Kind::Postgres).await;
}

#[tokio::test]
async fn a_node_a_little_ahead_shortens_nothing_on_mysql() {
    a_little_ahead(Kind::Mysql).await;
}

/// The state left behind by a clock that was ahead by this much.
async fn lead(app: &TestApp, by: TimeDelta) {
    let at = app.app.now() + by.num_milliseconds();
    let txn = app.app.db.begin().await.unwrap();
    txn.execute_unprepared(&format!("UPDATE tenant SET published_at = {at} WHERE code = 'acme'")).await.unwrap();
    txn.commit().await.unwrap();
}

on_every_database! {
    async fn what_expires_soon_arrives_although_the_log_is_ahead(app) {
        let operator = app.admin();
        operator.define_type("news").await;
        operator.ask("mutation { saveMessageType(input: { code: \"short\", title: \"Short\", ttlSeconds: 60 }) { code } }", json!({})).await;
        lead(app, TimeDelta::seconds(50)).await;
        let soon = |seconds: i64| json!((app.now() + TimeDelta::seconds(seconds)).to_rfc3339());
        let sent = message(&app.service(), "direct", json!({ "expiresAt": soon(30) })).await;
        assert_eq!(instant(&sent["publishedAt"]), app.now() + TimeDelta::seconds(50), "instants do not go back");
        let named = json!({ "expiresAt": soon(30), "audience": { "users": ["ada"] }, "content": { "title": "by name" } });
        announce(&operator, named).await;
        announce(&operator, json!({ "expiresAt": soon(30), "content": { "title": "to all" } })).await;
        let sent = message(&app.service(), "by its ttl", json!({ "type": "short" })).await;
        assert_eq!(instant(&sent["expiresAt"]), app.now() + TimeDelta::seconds(60));
        announce(&operator, json!({ "publishAt": soon(10), "expiresAt": soon(30), "content": { "title": "scheduled" } })).await;
        app.advance(TimeDelta::seconds(10));
        assert_eq!(publish_due(&app.app).await.unwrap(), 1);
        let all = ["scheduled", "by its ttl", "to all", "by name", "direct"];
        assert_eq!(app.user("ada").titles(json!({})).await, all);
        app.advance(TimeDelta::seconds(20));
        assert_eq!(app.user("ada").titles(json!({})).await, ["by its ttl"]);
        app.advance(TimeDelta::seconds(30));
        assert!(app.user("ada").titles(json!({})).await.is_empty());
    }

    async fn a_log_that_is_far_ahead_comes_back_to_the_present(app) {
        app.admin().define_type("news").await;
        let start = app.now();
        app.service().announce("news", everyone(), "before").await;
        // A clock was forty days ahead during one send, and is right again.
        app.advance(TimeDelta::days(40));
        app.service().announce("news", everyone(), "from the future").await;
        app.advance(TimeDelta::days(-40) + TimeDelta::minutes(5));
        let sent = message(&app.service(), "after", json!({})).await;
        assert_eq!(instant(&sent["publishedAt"]), app.now());
        app.advance(TimeDelta::minutes(5));
        app.service().announce("news", everyone(), "last").await;

        let ada = app.user("ada");
        assert_eq!(ada.titles(json!({})).await, ["last", "after", "from the future", "before"]);
        let at = |minutes: i64| json!((start + TimeDelta::minutes(minutes)).to_rfc3339());
        assert_eq!(ada.titles(json!({ "since": at(7) })).await, ["last"]);
        assert_eq!(ada.titles(json!({ "since": at(3) })).await, ["last", "after"]);
        assert_eq!(ada.titles(json!({ "until": at(3) })).await, ["from the future", "before"]);

        // Nothing is deleted early, or kept for longer than the notification from the future.
        app.advance(TimeDelta::days(29));
        sweep::sweep_all(&app.app.delivery).await.unwrap();
        assert_eq!(app.user("ben").titles(json!({})).await, ["last", "from the future", "before"]);
        app.advance(TimeDelta::days(2));
        app.service().announce("news", everyone(), "a month later").await;
        sweep::sweep_all(&app.app.delivery).await.unwrap();
        assert_eq!(app.user("ada").titles(json!({})).await, ["a month later"]);
    }
}

/// The operator's view of a server with a wrong clock.
#[tokio::test]
async fn a_server_with_a_wrong_clock_says_so() {
    let Some(database) = Kind::Postgres.make().await else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    // A few seconds of it are uncertain if the response takes long.
    let off = [("TIDINGS_CLOCK_OFFSET_MILLIS", "-600000")];
    let server = Process::start_with(&database.url, &off, Some(file.path())).await;
    server.logged(" s behind the database's: the server deletes no old data").await;
    let answer = reqwest::get(format!("http://{}/readyz", server.address)).await.unwrap();
    assert_eq!(answer.status(), 503);
    let said = answer.text().await.unwrap();
    assert!(said.starts_with("the clock of this node is ") && said.ends_with(" s behind the database's\n"), "{said}");
    let (ended, told) = Process::doctor(&database.url, &off);
    assert!(!ended && told.contains("WRONG clock: the clock of this node is "), "{told}");
    let (ended, told) = Process::doctor(&database.url, &[]);
    assert!(ended && told.contains("ok    clock: the clock of this node agrees with the database's"), "{told}");
    drop(server);
    database.remove().await;
}
