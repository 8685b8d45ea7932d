//! What is asked, over HTTP (<https://graphql.github.io/graphql-over-http/draft/>) or in a message of a socket.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Request, Variables};
use axum::body::Body;
use axum::extract::{FromRequest, Query, Request as HttpRequest};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::{JSON, media, not_acceptable, refusal};
use super::caller::{counted, origin};
use super::serve::Line;
use super::server::Server;
use super::session::Pass;
use crate::auth::Role;
use crate::error::{Error, Result};
use crate::graphql::Viewer;

/// How long a client may take to send the body of a request.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A query in an address.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    query: Option<String>,
    document_id: Option<String>,
    id: Option<String>,
    operation_name: Option<String>,
    variables: Option<String>,
    extensions: Option<String>,
}

/// A request over HTTP, in an address or as a body of JSON, with one operation counted of its caller's rate.
pub struct Asked {
    /// The media type of its answer.
    pub media: &'static str,
    /// Nobody where the schema is public and no token was sent.
    pub caller: Option<(Viewer, Pass)>,
    /// Not looked at yet.
    pub request: Request,
    /// All that was said: the body, or what stands in the address.
    pub said: Vec<u8>,
}

impl FromRequest<Server> for Asked {
    type Rejection = Response;

    async fn from_request(request: HttpRequest, server: &Server) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let is_body = parts.method == Method::POST;
        let address = if is_body {
            None
        } else {
            Some(Query::<Address>::try_from_uri(&parts.uri).map_err(IntoResponse::into_response)?.0)
        };
        let Some(media) = media(&parts.headers) else { return Err(not_acceptable()) };
        if is_body && !is_json(&parts.headers) {
            let error = Error::bad_input("content-type", "must be application/json");
            return Err(refusal(media, StatusCode::UNSUPPORTED_MEDIA_TYPE, &error));
        }
        // Nobody makes us read a body who has not said who they are, or has used up their rate.
        let mut caller = counted(server, &parts.headers, media).await?;
        if let Some((viewer, _)) = &mut caller {
            viewer.origin = origin(server, parts.extensions.get::<Arc<Line>>().map(|line| &**line), &parts.headers);
        }
        let asked = if let Some(address) = address {
            let said = parts.uri.query().unwrap_or_default().as_bytes().to_vec();
            let fields = address.fields().map_err(|error| (StatusCode::BAD_REQUEST, error));
            fields.and_then(|fields| Ok((one(fields)?, said)))
        } else {
            let limits = &server.app.config.limits;
            let is_staff = caller.as_ref().is_some_and(|(viewer, _)| viewer.role != Role::User);
            let most = if is_staff { limits.staff_body_bytes } else { limits.body_bytes };
            let body = whole(&parts.headers, body, most).await;
            body.and_then(|said| Ok((one(sent(&said)?)?, said)))
        };
        let (request, said) = asked.map_err(|(status, error)| refusal(media, status, &error))?;
        Ok(Self { media, caller, request, said })
    }
}

impl Address {
    fn fields(self) -> Result<Map<String, Value>> {
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
            let value = serde_json::from_str(&text).map_err(|_| Error::bad_input(name, "must be a JSON object"))?;
            fields.insert(name.into(), value);
        }
        Ok(fields)
    }
}

/// As JSON, and as nothing else: a form of another site cannot send that.
fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON)
}

/// What a body says.
fn sent(body: &[u8]) -> Result<Map<String, Value>, (StatusCode, Error)> {
    let error = match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => return Ok(fields),
        Ok(_) => "the body must be one JSON object: requests are not sent in batches",
        Err(_) => "the body is not valid JSON",
    };
    Err((StatusCode::BAD_REQUEST, Error::bad_input("", error)))
}

fn one(fields: Map<String, Value>) -> Result<Request, (StatusCode, Error)> {
    request_of(fields).map_err(|error| (StatusCode::BAD_REQUEST, error))
}

/// A body of at most `most` bytes, of which no more is read, and for which nobody waits for more than 30 s.
pub async fn whole(headers: &HeaderMap, body: Body, most: usize) -> Result<Vec<u8>, (StatusCode, Error)> {
    let late = |_| (StatusCode::REQUEST_TIMEOUT, Error::bad_input("", "the body must arrive within 30 s"));
    tokio::time::timeout(BODY_TIME, read(headers, body, most)).await.map_err(late)?
}

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
pub fn request_of(mut fields: Map<String, Value>) -> Result<Request> {
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
    // `id`, as clients of Relay have it.
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
