//! The metrics that `/metrics` exports.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::json;
use tower::ServiceExt;

use crate::support::{TestApp, on_every_database};

/// Returns a metric of `/metrics`.
async fn figure(app: &TestApp, name: &str) -> usize {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let body = app.routes.clone().oneshot(request).await.unwrap().into_body();
    let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

on_every_database! {
    async fn statements_are_counted_whoever_else_watches_them(app) {
        let overview = "{ viewer { overview { unread { count } } } }";
        app.user("ada").ask(overview, json!({})).await;
        let before = figure(app, "tidings_statements_total").await;
        assert!(before > 0);
        let (seen_by_the_test, _) = app.statements_of(app.user("ada").ask(overview, json!({}))).await;
        assert!(seen_by_the_test > 0);
        assert_eq!(figure(app, "tidings_statements_total").await, before + seen_by_the_test);
        app.admin().define_type("release").await;
        assert!(figure(app, "tidings_statements_total").await > before + seen_by_the_test);
    }
}
