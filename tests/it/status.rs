//! The status of the service and of its nodes.

use std::time::Duration;

use auth::CallerRole;
use chrono::TimeDelta;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{Actor, Kind, OVERVIEWS, Socket, TestApp, everyone, on_every_database, with};

const NODES: &str = "{ serviceStatus { nodes { name version startedAt heardAt sessionCount syncsLastMinute errorsLastMinute } \
    bus { connected lagSeconds } } }";

on_every_database! {
    async fn how_the_service_does_is_told_of_ones_own_tenant(app) {
        app.admin().define_type("news").await;
        app.service().announce("news", everyone(), "long ago").await;
        app.advance(TimeDelta::minutes(30));
        app.service().announce("news", everyone(), "now").await;
        let later = "mutation($at: DateTime!) { sendAnnouncement(input: { type: \"news\", audience: { everyone: true }, \
            content: { title: \"scheduled\" }, publishAt: $at }) { notification { id } } }";
        let due = app.now() + TimeDelta::seconds(20);
        app.service().ask(later, json!({ "at": due.to_rfc3339() })).await;
        let query = "{ serviceStatus { version healthy sessionCount sentLastMinute sentLastHour scheduled { count exact } overdueSeconds } }";
        let expected = |overdue: i64| json!({ "version": env!("CARGO_PKG_VERSION"), "healthy": true, "sessionCount": 0, "sentLastMinute": 1,
            "sentLastHour": 2, "scheduled": { "count": 1, "exact": true }, "overdueSeconds": overdue });
        assert_eq!(app.admin().ask(query, json!({})).await["serviceStatus"], expected(0));
        app.advance(TimeDelta::seconds(50));
        assert_eq!(app.admin().ask(query, json!({})).await["serviceStatus"], expected(30));
        let stranger = app.stranger("ops", CallerRole::Admin).ask(query, json!({})).await["serviceStatus"].take();
        assert_eq!((&stranger["sentLastHour"], &stranger["scheduled"]["count"]), (&json!(0), &json!(0)));
        assert!(app.service().refused(query, json!({})).await.starts_with("FORBIDDEN"));
    }

    async fn syncs_and_what_failed_are_counted_for_their_tenant(app) {
        app.admin().define_type("news").await;
        app.service().announce("news", everyone(), "hello").await;
        for user in ["ada", "ben", "ada"] {
            app.user(user).overview().await;
        }
        app.panic_at("SELECT");
        let (_, answer) = app.service().send("{ userGroups { code } }", json!({})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "INTERNAL");
        app.service().refused("{ audienceSize(audience: { groups: [\"none\"] }) { count } }", json!({})).await;
        let counts = |status: &Value| {
            let node = &status["serviceStatus"]["nodes"][0];
            [&node["sessionCount"], &node["syncsLastMinute"], &node["errorsLastMinute"]].map(|count| count.as_i64().unwrap())
        };
        assert_eq!(counts(&app.admin().ask(NODES, json!({})).await), [0, 2, 1]);
        let stranger = app.stranger("ops", CallerRole::Admin);
        assert_eq!(counts(&stranger.ask(NODES, json!({})).await), [0, 0, 0]);
    }
}

/// Waits until the second node has reported the tenant's activity.
async fn told(app: &TestApp, tenant: &str) -> Value {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let actor = Actor::new(app, tenant, "ops", CallerRole::Admin);
        let status = actor.ask(NODES, json!({})).await["serviceStatus"].take();
        if status["nodes"][1]["sessionCount"].is_number() {
            return status;
        }
        assert!(Instant::now() < until, "{status}");
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn nodes_tell_each_other_how_they_do() {
    with(Kind::Postgres, async |app| {
        let alone = app.admin().ask(NODES, json!({})).await;
        assert_eq!(alone["serviceStatus"]["nodes"].as_array().map(Vec::len), Some(1));

        let other = app.beside().await;
        let (here, there) = (app.listen().await, other.listen().await);
        let socket = Socket::subscribed(&there.address, &other.user("ada").token, OVERVIEWS, json!({})).await;
        let status = told(app, "acme").await;
        assert_eq!((&status["nodes"][0]["sessionCount"], &status["nodes"][1]["sessionCount"]), (&json!(0), &json!(1)));
        assert_eq!(status["nodes"][1]["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!((&status["bus"]["connected"], status["nodes"].as_array().unwrap().len()), (&json!(true), 2));
        assert!(status["bus"]["lagSeconds"].as_f64().unwrap() < 5.0, "{status}");

        // Each tenant sees only its own figures.
        let stranger = told(app, "other").await;
        assert_eq!(stranger["nodes"][1]["sessionCount"], 0);
        drop(socket);
        here.stop().await;
        there.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_database_of_one_process_has_no_bus() {
    with(Kind::Sqlite, async |app| {
        let status = app.admin().ask(NODES, json!({})).await["serviceStatus"].take();
        assert_eq!(
            (&status["bus"], &status["nodes"][0]["heardAt"]),
            (&Value::Null, &json!("2026-11-21T08:00:00.000Z"))
        );
    })
    .await;
}
