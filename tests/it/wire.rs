//! The HTTP layer: the cost of hostile requests, and the limits that honest requests stay within.

mod answers;
mod bodies;
mod browsers;
mod connections;
mod console;
mod creating;
mod data;
mod desk;
mod documents;
mod executor;
mod federation;
mod filters;
mod fragments;
mod limits;
mod literals;
mod merging;
mod polls;
mod rate;
mod strangers;
mod stuck;
mod ui;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use serde_json::Value;
use tower::ServiceExt;

use crate::support::TestApp;

/// The maximum size of the response to a hostile request in bytes.
const ANSWER: usize = 16 * 1024;

/// Sends a request without changes.
async fn raw(app: &TestApp, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    let response = app.routes.clone().oneshot(request).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, headers, String::from_utf8(body.to_vec()).unwrap())
}

/// The code of a response's first error, or null without errors.
fn code(answer: &Value) -> &Value {
    &answer["errors"][0]["extensions"]["code"]
}

/// A POST request with a JSON body and a token.
fn post(token: &str, body: String) -> Request<Body> {
    Request::post("/graphql")
        .header("content-type", "application/json")
        .header("accept", "application/graphql-response+json")
        .header("authorization", format!("Bearer {token}"))
        .body(Body::from(body))
        .unwrap()
}
