//! GraphQL over HTTP (<https://graphql.github.io/graphql-over-http/draft/>): what comes in.

pub mod answer;

use std::sync::Arc;
use std::time::Duration;

use async_graphql::parser::types::OperationType;
use async_graphql::{Request, Variables};
use axum::body::Body;
use axum::extract::ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection};
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::serve::Line;
use super::{Server, events, socket};
use crate::auth::{Claims, Role};
use crate::clock::calendar;
use crate::error::{Error, Result};
use crate::graphql::{Admitted, Viewer};
use answer::{EVENTS, JSON, media, not_acceptable, refusal};

/// How long a client may take to send the body of a request.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A query in an address.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    query: Option<String>,
    document_id: Option<String>,
    operation_name: Option<String>,
    variables: Option<String>,
    extensions: Option<String>,
}

/// Queries only: whatever changes something must not be in an address.
pub async fn get(
    State(server): State<Server>,
    headers: HeaderMap,
    Query(address): Query<Address>,
    line: Option<Extension<Arc<Line>>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if headers.contains_key(header::UPGRADE) {
        return socket::upgrade(server, &headers, line.map(|Extension(line)| line), upgrade);
    }
    let Some(media) = media(&headers) else { return not_acceptable() };
    let caller = match counted(&server, &headers, media).await {
        Ok(caller) => caller,
        Err(refusal) => return refusal,
    };
    let viewer = caller.as_ref().map(|(viewer, _)| viewer);
    let mut fields = Map::new();
    for (name, text) in
        [("query", address.query), ("operationName", address.operation_name), ("documentId", address.document_id)]
    {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            fields.insert(name.into(), text.into());
        }
    }
    for (name, text) in [("variables", address.variables), ("extensions", address.extensions)] {
        let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
        let Ok(value) = serde_json::from_str(&text) else {
            let error = Error::bad_input(name, "must be a JSON object");
            return refusal(media, StatusCode::BAD_REQUEST, &error);
        };
        fields.insert(name.into(), value);
    }
    let request = match request(fields) {
        Ok(request) => request,
        Err(error) => return refusal(media, StatusCode::BAD_REQUEST, &error),
    };
    let mut admitted = match server.schema.admit(viewer, request).await {
        Ok(admitted) => admitted,
        Err(response) => return answer::refused(media, &response),
    };
    if admitted.operation.kind == OperationType::Mutation {
        admitted.flight.ended("BAD_USER_INPUT");
        let error = Error::bad_input("query", "must be a query: mutations are sent by POST");
        let mut answer = refusal(media, StatusCode::METHOD_NOT_ALLOWED, &error);
        answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return answer;
    }
    execute(&server, media, caller, admitted).await
}

/// A request as JSON, and as nothing else: a form of another site cannot send that.
pub async fn post(State(server): State<Server>, headers: HeaderMap, body: Body) -> Response {
    let Some(media) = media(&headers) else { return not_acceptable() };
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case(JSON) {
        let error = Error::bad_input("content-type", "must be application/json");
        return refusal(media, StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    // Nobody makes us read a body who has not said who they are, or has used up their rate.
    let caller = match counted(&server, &headers, media).await {
        Ok(caller) => caller,
        Err(refusal) => return refusal,
    };
    let viewer = caller.as_ref().map(|(viewer, _)| viewer);
    let limits = &server.app.config.limits;
    let is_staff = viewer.is_some_and(|viewer| viewer.role != Role::User);
    let most = if is_staff { limits.staff_body_bytes } else { limits.body_bytes };
    let body = match tokio::time::timeout(BODY_TIME, read(&headers, body, most)).await {
        Ok(Ok(body)) => body,
        Ok(Err((status, error))) => return refusal(media, status, &error),
        Err(_) => {
            let error = Error::bad_input("", "the body must arrive within 30 s");
            return refusal(media, StatusCode::REQUEST_TIMEOUT, &error);
        }
    };
    let request = match serde_json::from_slice(&body) {
        Ok(Value::Object(fields)) => request(fields),
        Ok(_) => Err(Error::bad_input("", "the body must be one JSON object: requests are not sent in batches")),
        Err(_) => Err(Error::bad_input("", "the body is not valid JSON")),
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => return refusal(media, StatusCode::BAD_REQUEST, &error),
    };
    match server.schema.admit(viewer, request).await {
        Ok(admitted) => execute(&server, media, caller, admitted).await,
        Err(response) => answer::refused(media, &response),
    }
}

/// A body of at most `most` bytes, of which no more is read.
async fn read(headers: &HeaderMap, body: Body, most: usize) -> Result<Vec<u8>, (StatusCode, Error)> {
    let too_large = || {
        let error = Error::bad_input("", format!("the body has more than {most} bytes"));
        (StatusCode::PAYLOAD_TOO_LARGE, error)
    };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(length.unwrap_or_default());
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| (StatusCode::BAD_REQUEST, Error::bad_input("", "the body broke off")))?;
        if bytes.len() + chunk.len() > most {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The request that a JSON object makes, or what is wrong with it.
pub fn request(mut fields: Map<String, Value>) -> Result<Request> {
    let text = |fields: &mut Map<String, Value>, name: &str| match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Error::bad_input(name, "must be a string")),
    };
    let object = |fields: &mut Map<String, Value>, name: &str| match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(Error::bad_input(name, "must be a JSON object")),
    };
    let query = text(&mut fields, "query")?;
    let document_id = text(&mut fields, "documentId")?;
    let operation_name = text(&mut fields, "operationName")?;
    let variables = object(&mut fields, "variables")?;
    let extensions = object(&mut fields, "extensions")?;
    let is_named = extensions.as_ref().is_some_and(|extensions| extensions.contains_key("persistedQuery"));
    if query.is_none() && document_id.is_none() && !is_named {
        return Err(Error::bad_input("query", "is required, as a string"));
    }
    let mut request = Request::new(query.unwrap_or_default());
    request.operation_name = operation_name.filter(|name| !name.is_empty());
    request.variables = Variables::from_json(Value::Object(variables.unwrap_or_default()));
    for (name, value) in extensions.unwrap_or_default() {
        let value = async_graphql::Value::from_json(value).map_err(Error::internal)?;
        request.extensions.insert(name, value);
    }
    if let Some(id) = document_id {
        request.extensions.insert("documentId".into(), id.into());
    }
    Ok(request)
}

/// One answer, or a stream of them where that is what the client takes.
async fn execute(
    server: &Server,
    media: &'static str,
    caller: Option<(Viewer, Claims)>,
    admitted: Admitted,
) -> Response {
    let operation = admitted.operation.clone();
    let mut answer = match caller {
        Some((viewer, claims)) if media == EVENTS => {
            match server.sessions.place().and_then(|place| place.taken(&viewer)) {
                Ok(session) => events::answer(server, (viewer, claims), session, admitted),
                Err(error) => unknown(media, &error),
            }
        }
        caller => {
            let viewer = caller.map(|(viewer, _)| viewer);
            let budget = server.schema.budget(viewer.as_ref());
            let response = server.schema.run(viewer.clone(), admitted).await;
            let keep = |text| server.unread.kept(viewer.as_ref(), text, budget.most());
            answer::answer(media, &response, &budget, keep)
        }
    };
    answer.extensions_mut().insert(operation);
    answer
}

/// Who is calling, with one operation counted of their rate; the answer to those who may not go on.
async fn counted(
    server: &Server,
    headers: &HeaderMap,
    media: &'static str,
) -> Result<Option<(Viewer, Claims)>, Response> {
    let caller = known(server, headers).await.map_err(|error| unknown(media, &error))?;
    let viewer = caller.as_ref().map(|(viewer, _)| viewer);
    server.schema.knock(viewer).await.map_err(|refusal| answer::refused(media, &refusal))?;
    Ok(caller)
}

/// Who is calling; nobody where there is no token and introspection needs none.
async fn known(server: &Server, headers: &HeaderMap) -> Result<Option<(Viewer, Claims)>> {
    if server.app.config.wire.public_schema && !headers.contains_key(header::AUTHORIZATION) {
        return Ok(None);
    }
    verified(server, bearer(headers)).await.map(Some)
}

/// The token of a request.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Who is calling with a token, and what the token says.
pub async fn verified(server: &Server, token: Option<&str>) -> Result<(Viewer, Claims)> {
    let missing = || Error::Unauthenticated("send a token: Authorization: Bearer …".into());
    let claims = server.app.verifier.verify(token.ok_or_else(missing)?, calendar(server.app.now())).await?;
    Ok((Viewer::of(&server.app, claims.clone()).await?, claims))
}

/// To whoever could not be told from others.
fn unknown(media: &'static str, error: &Error) -> Response {
    let status = match error {
        Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
        Error::Unavailable(_) | Error::Erased => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    refusal(media, status, error)
}
