//! The door: what hostile requests cost, what honest ones may do, and what comes through at all.

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

/// The most bytes of the answer to a hostile request.
const ANSWER: usize = 16 * 1024;

/// Sends a request as it is.
async fn raw(app: &TestApp, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    let response = app.routes.clone().oneshot(request).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, headers, String::from_utf8(body.to_vec()).unwrap())
}

/// The code of an answer's first error, null where there is none.
fn code(answer: &Value) -> &Value {
    &answer["errors"][0]["extensions"]["code"]
}

/// A post with a body of JSON and a token.
fn post(token: &str, body: String) -> Request<Body> {
    Request::post("/graphql")
        .header("content-type", "application/json")
        .header("accept", "application/graphql-response+json")
        .header("authorization", format!("Bearer {token}"))
        .body(Body::from(body))
        .unwrap()
}
