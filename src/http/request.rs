//! GraphQL requests over HTTP (<https://graphql.github.io/graphql-over-http/draft/>) or in a WebSocket message.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Name, Request};
use axum::body::Body;
use axum::extract::{FromRequest, Query, Request as HttpRequest};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::credentials::{authenticate_and_charge, client_origin};
use super::json;
use super::response::{JSON, accepted_media, error_response, not_acceptable};
use super::serve::ConnectionState;
use super::server::Server;
use super::session::SessionCredential;
use crate::graphql::{Viewer, json_value};
use auth::CallerRole;
use base::error::{Error, Result};
use model::network::CallerNetwork;

/// How long a client may take to send the body of a request.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The most bytes of a body without a token. Only introspection needs none, and its longest query has 4 KiB.
const STRANGER_BODY_BYTES: usize = 16 * 1024;

/// The query parameters of a GET request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UrlParameters {
    query: Option<String>,
    document_id: Option<String>,
    id: Option<String>,
    operation_name: Option<String>,
    variables: Option<String>,
    extensions: Option<String>,
}

/// A request over HTTP, from the URL or a JSON body. One operation has been counted towards its caller's rate.
pub struct IncomingRequest {
    /// The media type of the response.
    pub media: &'static str,
    /// `None` if the schema is public and the request has no token and no valid session.
    pub caller: Option<(Viewer, SessionCredential)>,
    /// Not validated yet.
    pub request: Request,
    /// The body, or the URL's query string.
    pub said: Vec<u8>,
}

impl FromRequest<Server> for IncomingRequest {
    type Rejection = Response;

    async fn from_request(request: HttpRequest, server: &Server) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let is_body = parts.method == Method::POST;
        let Some(media) = accepted_media(&parts.headers) else { return Err(not_acceptable()) };
        let address = if is_body {
            None
        } else {
            let read = Query::<UrlParameters>::try_from_uri(&parts.uri);
            let Query(address) = read.map_err(|rejection| {
                let error = Error::bad_input("", format!("the query string cannot be read: {}", rejection.body_text()));
                error_response(media, StatusCode::BAD_REQUEST, &error)
            })?;
            Some(address)
        };
        if is_body && !is_json(&parts.headers) {
            let error = Error::bad_input("content-type", "must be application/json");
            return Err(error_response(media, StatusCode::UNSUPPORTED_MEDIA_TYPE, &error));
        }
        if is_body && is_encoded(&parts.headers) {
            let error = Error::bad_input("content-encoding", "must be left out: bodies are not decompressed");
            let mut answer = error_response(media, StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
            // RFC 9110, section 12.5.3.
            answer.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            return Err(answer);
        }
        // The server reads the body only after the caller is authenticated and its rate checked.
        let network = parts.extensions.get::<CallerNetwork>().copied().unwrap_or_default();
        let mut caller = authenticate_and_charge(server, &parts.headers, network, media).await?;
        if let Some((viewer, _)) = &mut caller {
            viewer.origin = client_origin(
                server,
                parts.extensions.get::<Arc<ConnectionState>>().map(|state| &**state),
                &parts.headers,
            );
        }
        let asked = if let Some(address) = address {
            let said = parts.uri.query().unwrap_or_default().as_bytes().to_vec();
            let fields = address.into_fields().map_err(|error| (StatusCode::BAD_REQUEST, error));
            fields.and_then(|fields| Ok((parse_request(fields)?, said)))
        } else {
            let limits = &server.app.config.limits;
            let most = match &caller {
                Some((viewer, _)) if viewer.role != CallerRole::User => limits.staff_body_bytes,
                Some(_) => limits.body_bytes,
                None => limits.body_bytes.min(STRANGER_BODY_BYTES),
            };
            let body = read_body(&parts.headers, body, most).await;
            body.and_then(|said| Ok((parse_request(parse_body(&said)?)?, said)))
        };
        let (request, said) = asked.map_err(|(status, error)| error_response(media, status, &error))?;
        Ok(Self { media, caller, request, said })
    }
}

impl UrlParameters {
    fn into_fields(self) -> Result<Map<String, Value>> {
        let mut fields = Map::new();
        let texts = [
            ("query", self.query),
            ("operationName", self.operation_name),
            ("documentId", self.document_id),
            ("id", self.id),
        ];
        for (name, text) in texts {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                fields.insert(name.into(), text.into());
            }
        }
        for (name, text) in [("variables", self.variables), ("extensions", self.extensions)] {
            let Some(text) = text.filter(|text| !text.is_empty()) else { continue };
            let value = json::parse_json(text.as_bytes()).map_err(|error| match error {
                Error::BadInput { field, message } if field.is_empty() => {
                    Error::bad_input(name, message.trim_start_matches("the body "))
                }
                other => other.with_field_prefix(name),
            })?;
            fields.insert(name.into(), value);
        }
        Ok(fields)
    }
}

/// Only JSON is accepted, because a form of another site cannot send it.
fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON)
}

/// Whether a body is compressed or otherwise encoded.
fn is_encoded(headers: &HeaderMap) -> bool {
    let is_plain = |coding: &str| coding.trim().is_empty() || coding.trim().eq_ignore_ascii_case("identity");
    let codings = headers.get_all(header::CONTENT_ENCODING).into_iter();
    !codings.map(|value| value.to_str().unwrap_or("?")).all(|codings| codings.split(',').all(is_plain))
}

/// Parses a body.
fn parse_body(body: &[u8]) -> Result<Map<String, Value>, (StatusCode, Error)> {
    let error = match json::parse_json(body) {
        Ok(Value::Object(fields)) => return Ok(fields),
        Ok(_) => Error::bad_input("", "the body must be one JSON object: batched requests are not supported"),
        Err(error) => error,
    };
    Err((StatusCode::BAD_REQUEST, error))
}

fn parse_request(fields: Map<String, Value>) -> Result<Request, (StatusCode, Error)> {
    build_request(fields).map_err(|error| (StatusCode::BAD_REQUEST, error))
}

/// Reads a body of at most `most` bytes, for at most 30 s. Reads nothing beyond that.
pub async fn read_body(headers: &HeaderMap, body: Body, most: usize) -> Result<Vec<u8>, (StatusCode, Error)> {
    let late = |_| (StatusCode::REQUEST_TIMEOUT, Error::bad_input("", "the body must arrive within 30 s"));
    tokio::time::timeout(BODY_TIME, read_limited(headers, body, most)).await.map_err(late)?
}

async fn read_limited(headers: &HeaderMap, body: Body, most: usize) -> Result<Vec<u8>, (StatusCode, Error)> {
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
        let chunk = chunk.map_err(|_| (StatusCode::BAD_REQUEST, Error::bad_input("", "the body ended early")))?;
        if bytes.len() + chunk.len() > most {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The request in a JSON object, or an error that names the invalid field.
pub fn build_request(mut fields: Map<String, Value>) -> Result<Request> {
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
    // Relay clients call it `id`.
    let document_id = text(&mut fields, "documentId")?.or(text(&mut fields, "id")?);
    let operation_name = text(&mut fields, "operationName")?;
    let variables = object(&mut fields, "variables")?;
    let extensions = object(&mut fields, "extensions")?;
    let is_named = extensions
        .as_ref()
        .is_some_and(|extensions| extensions.contains_key("persistedQuery") || extensions.contains_key("documentId"));
    if query.is_none() && document_id.is_none() && !is_named {
        return Err(Error::bad_input("query", "is required, as a string"));
    }
    let mut request = Request::new(query.unwrap_or_default());
    request.operation_name = operation_name.filter(|name| !name.is_empty());
    for (name, value) in variables.unwrap_or_default() {
        request.variables.insert(Name::new(name), json_value(value));
    }
    for (name, value) in extensions.unwrap_or_default() {
        request.extensions.insert(name, json_value(value));
    }
    if let Some(id) = document_id {
        request.extensions.insert("documentId".into(), id.into());
    }
    Ok(request)
}
