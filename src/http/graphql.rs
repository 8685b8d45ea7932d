//! GraphQL over HTTP (<https://graphql.github.io/graphql-over-http/draft/>): what comes in, and what goes out under
//! which status.

use async_graphql::parser::types::{DocumentOperations, OperationType};
use async_graphql::{Request, Response as GraphqlResponse, Value as GraphqlValue};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Server;
use crate::clock::calendar;
use crate::error::{Error, Result};
use crate::graphql::{Viewer, error_code};

const GRAPHQL_JSON: &str = "application/graphql-response+json";
const JSON: &str = "application/json";

/// A query in an address.
#[derive(Debug, Deserialize)]
pub struct Address {
    query: Option<String>,
    #[serde(rename = "operationName")]
    operation_name: Option<String>,
    variables: Option<String>,
}

/// Queries only: whatever changes something must not be in an address.
pub async fn get(State(server): State<Server>, headers: HeaderMap, Query(address): Query<Address>) -> Response {
    let Some(media) = media(&headers) else { return not_acceptable() };
    let Some(query) = address.query else {
        return refusal(media, StatusCode::BAD_REQUEST, &Error::bad_input("query", "is required"));
    };
    let mut request = Request::new(query);
    if let Some(name) = address.operation_name.filter(|name| !name.is_empty()) {
        request = request.operation_name(name);
    }
    if let Some(variables) = address.variables.filter(|text| !text.is_empty()) {
        if let Ok(Value::Object(variables)) = serde_json::from_str::<Value>(&variables) {
            request = request.variables(async_graphql::Variables::from_json(Value::Object(variables)));
        } else {
            let error = Error::bad_input("variables", "must be a JSON object");
            return refusal(media, StatusCode::BAD_REQUEST, &error);
        }
    }
    if !is_query(&mut request) {
        let mut answer = refusal(
            media,
            StatusCode::METHOD_NOT_ALLOWED,
            &Error::bad_input("query", "must be a query: mutations are sent by POST"),
        );
        answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return answer;
    }
    answer(&server, &headers, media, request).await
}

/// A request as JSON, and as nothing else: a form of another site cannot send that.
pub async fn post(State(server): State<Server>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    let Some(media) = media(&headers) else { return not_acceptable() };
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case(JSON) {
        let error = Error::bad_input("content-type", "must be application/json");
        return refusal(media, StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return refusal(media, rejection.status(), &Error::bad_input("", rejection.body_text())),
    };
    let malformed = |message: &str| refusal(media, StatusCode::BAD_REQUEST, &Error::bad_input("", message));
    match serde_json::from_slice::<Value>(&body) {
        Ok(Value::Object(fields)) => {
            if !fields.get("query").is_some_and(Value::is_string) {
                return malformed("the body must have a query, which is a string");
            }
            match serde_json::from_value::<Request>(Value::Object(fields)) {
                Ok(request) => answer(&server, &headers, media, request).await,
                Err(_) => malformed("variables and extensions must be objects, operationName a string"),
            }
        }
        Ok(_) => malformed("the body must be one JSON object: requests are not sent in batches"),
        Err(_) => malformed("the body is not valid JSON"),
    }
}

async fn answer(server: &Server, headers: &HeaderMap, media: &'static str, request: Request) -> Response {
    let viewer = match viewer(server, headers).await {
        Ok(viewer) => viewer,
        Err(error) => {
            let status = match error {
                Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
                Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            let mut answer = refusal(media, status, &error);
            if status == StatusCode::UNAUTHORIZED {
                answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            return answer;
        }
    };
    let response = server.schema.execute(viewer, request).await;
    // A request that was never executed has no data at all; under the older media type its status says nothing.
    let is_refused = is_refused(&response);
    let status = if is_refused && media == GRAPHQL_JSON { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let body = if is_refused {
        serde_json::to_string(&json!({ "errors": response.errors }))
    } else {
        serde_json::to_string(&response)
    };
    match body {
        Ok(body) => respond(media, status, body),
        Err(error) => refusal(media, StatusCode::INTERNAL_SERVER_ERROR, &Error::internal(error)),
    }
}

async fn viewer(server: &Server, headers: &HeaderMap) -> Result<Viewer> {
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    let missing = || Error::Unauthenticated("send a token: Authorization: Bearer …".into());
    let claims = server.app.verifier.verify(token.ok_or_else(missing)?, calendar(server.app.now())).await?;
    Viewer::of(&server.app, claims).await
}

fn is_refused(response: &GraphqlResponse) -> bool {
    response.data == GraphqlValue::Null && response.errors.iter().any(|error| error.path.is_empty())
}

/// What does not parse is left to the executor, which says what is wrong with it.
fn is_query(request: &mut Request) -> bool {
    let name = request.operation_name.clone();
    let Ok(document) = request.parsed_query() else { return true };
    match &document.operations {
        DocumentOperations::Single(operation) => operation.node.ty == OperationType::Query,
        DocumentOperations::Multiple(operations) => match name {
            Some(name) => {
                operations.get(name.as_str()).is_none_or(|operation| operation.node.ty == OperationType::Query)
            }
            None => true,
        },
    }
}

/// The media type to answer in; nothing where the client takes neither of the two.
fn media(headers: &HeaderMap) -> Option<&'static str> {
    let Some(accept) = headers.get(header::ACCEPT) else { return Some(JSON) };
    let accept = accept.to_str().unwrap_or_default();
    let ranges = accept.split(',').map(|range| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    ranges
        .filter_map(|range| match range.as_str() {
            GRAPHQL_JSON => Some(GRAPHQL_JSON),
            JSON | "application/*" | "*/*" => Some(JSON),
            _ => None,
        })
        .max_by_key(|media| *media == GRAPHQL_JSON)
}

fn not_acceptable() -> Response {
    let error = Error::bad_input("accept", format!("must take {GRAPHQL_JSON} or {JSON}"));
    refusal(JSON, StatusCode::NOT_ACCEPTABLE, &error)
}

fn refusal(media: &'static str, status: StatusCode, error: &Error) -> Response {
    if let Error::Internal(cause) = error {
        tracing::error!(error = ?cause, "a request failed");
    }
    let body = json!({ "errors": [{ "message": error.to_string(), "extensions": { "code": error_code(error) } }] });
    respond(media, status, body.to_string())
}

fn respond(media: &'static str, status: StatusCode, body: String) -> Response {
    let kind = if media == JSON {
        "application/json; charset=utf-8"
    } else {
        "application/graphql-response+json; charset=utf-8"
    };
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static(kind))], body).into_response()
}
