//! Metrics for Prometheus.

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use serde_json::json;
use tower::ServiceExt;

use crate::support::{Kind, TestApp, everyone, on_every_database, with, with_settings};

async fn text(app: &TestApp) -> String {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let body = app.routes.clone().oneshot(request).await.unwrap().into_body();
    String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap()
}

/// The value of a metric with all its labels, or 0 if nothing was counted yet.
async fn figure(app: &TestApp, name: &str) -> f64 {
    let text = text(app).await;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0.0, |value| value.parse().unwrap())
}

async fn requests(app: &TestApp, operation: &str, kind: &str, code: &str) -> f64 {
    let labels = format!("{{operation=\"{operation}\",kind=\"{kind}\",code=\"{code}\"}}");
    figure(app, &format!("tidings_requests_total{labels}")).await
}

on_every_database! {
    #[expect(clippy::float_cmp, reason = "they are counts")]
    async fn what_is_asked_sent_and_made_is_counted(app) {
        let ada = app.user("ada");
        app.admin().define_type("release").await;
        ada.overview().await;
        let before = requests(app, "viewer", "query", "OK").await;
        app.service().announce("release", everyone(), "one").await;
        app.service().announce("release", everyone(), "two").await;
        app.service().message("release", "ada", "to ada").await;
        ada.overview().await;
        ada.send("query ChosenByAda { mine: viewer { id } userGroups { code } }", json!({})).await;
        ada.send("{ nonsense }", json!({})).await;
        ada.send("mutation { eraseUser(id: \"ada\") { erasedId } }", json!({})).await;

        assert!(requests(app, "viewer", "query", "OK").await > before);
        assert_eq!(requests(app, "many", "query", "OK").await, 1.0);
        assert_eq!(requests(app, "none", "none", "GRAPHQL_VALIDATION_FAILED").await, 1.0);
        assert_eq!(requests(app, "eraseUser", "mutation", "FORBIDDEN").await, 1.0);
        assert_eq!(figure(app, "tidings_published_total{kind=\"announcement\"}").await, 2.0);
        assert_eq!(figure(app, "tidings_published_total{kind=\"message\"}").await, 1.0);
        assert_eq!(figure(app, "tidings_items_made_total").await, 2.0);
        assert!(figure(app, "tidings_syncs_total").await >= 1.0);
        assert!(figure(app, "tidings_request_seconds_count{kind=\"query\"}").await >= 3.0);
        assert!(figure(app, "tidings_request_seconds_bucket{le=\"+Inf\",kind=\"mutation\"}").await >= 4.0);
        assert!(figure(app, "tidings_http_answers_total{status=\"200\"}").await >= 5.0);
        let pool = if app.app.db.pool_counts().len() == 1 { "shared" } else { "read" };
        let connections = async |state| figure(app, &format!("tidings_connections{{pool=\"{pool}\",state=\"{state}\"}}")).await;
        assert!(connections("idle").await + connections("used").await >= 1.0);
        assert_eq!(figure(app, "tidings_in_flight").await, 0.0);
        let text = text(app).await;
        for name in ["ada", "mine", "ChosenByAda", "acme", "nonsense"] {
            assert!(!text.contains(name), "{name} in {text}");
        }
    }
}

#[tokio::test]
#[expect(clippy::float_cmp, reason = "they are counts")]
async fn what_is_scheduled_is_counted_when_it_goes_out() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("release").await;
        let later = (app.now() + chrono::TimeDelta::hours(1)).to_rfc3339();
        let query = "mutation($at: DateTime) { sendAnnouncement(input: { type: \"release\", audience: { everyone: true }, \
            content: { title: \"later\" }, publishAt: $at }) { notification { id } } }";
        app.service().ask(query, json!({ "at": later })).await;
        assert_eq!(figure(app, "tidings_published_total{kind=\"announcement\"}").await, 0.0);
        app.advance(chrono::TimeDelta::hours(2));
        domain::notification::publish_due(&app.app).await.unwrap();
        assert_eq!(figure(app, "tidings_published_total{kind=\"announcement\"}").await, 1.0);
    })
    .await;
}

#[tokio::test]
#[expect(clippy::float_cmp, reason = "they are counts")]
async fn who_asks_too_often_is_counted() {
    with_settings(
        Kind::Sqlite,
        |settings| settings.limits.rate = 1,
        async |app| {
            for status in [StatusCode::OK, StatusCode::TOO_MANY_REQUESTS, StatusCode::TOO_MANY_REQUESTS] {
                assert_eq!(app.user("ada").send("{ viewer { id } }", json!({})).await.0, status);
            }
            assert_eq!(figure(app, "tidings_rate_limited_total{caller=\"user\"}").await, 2.0);
            assert_eq!(requests(app, "none", "none", "RATE_LIMITED").await, 2.0);
        },
    )
    .await;
}
