//! The messages of `graphql-transport-ws`.

use std::fmt;

use async_graphql::{Request, ServerError, Value as GraphqlValue};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::graphql::StreamResponse;
use crate::http::json;
use crate::http::request::build_request;
use crate::http::response::is_refused;
use base::error::Error;

/// The answer to `connection_init`.
pub const ACK: &str = r#"{"type":"connection_ack"}"#;
/// The answer to `ping`.
pub const PONG: &str = r#"{"type":"pong"}"#;

/// A message from the client.
pub enum ClientMessage {
    Init(ConnectionPayload),
    Ping(ConnectionPayload),
    Pong,
    /// Starts an operation. If its request is invalid, only the operation fails, not the connection.
    Subscribe {
        id: String,
        request: Result<Box<Request>, Error>,
    },
    Complete {
        id: String,
    },
}

/// The payload of an init or a ping.
pub struct ConnectionPayload(Map<String, Value>);

impl ConnectionPayload {
    /// A token: under `authorization` in any case, with or without `Bearer`, or under `token`.
    pub fn find_token(&self) -> Option<String> {
        let is_named = |name: &str| name.eq_ignore_ascii_case("authorization") || name == "token";
        let value = self.0.iter().find(|(name, _)| is_named(name))?.1.as_str()?;
        let token = match value.split_once(' ') {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token,
            _ => value,
        };
        Some(token.trim().to_owned())
    }
}

#[derive(Deserialize)]
struct MessageEnvelope<P = Value> {
    r#type: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    payload: Option<P>,
}

/// Parses a message. The error is the close reason.
pub fn parse_message(text: &str) -> Result<ClientMessage, String> {
    let envelope: MessageEnvelope = match json::parse_json(text.as_bytes()) {
        Ok(envelope) => envelope,
        Err(error) => return handle_unreadable(text, error),
    };
    let payload = |payload: Option<Value>| match payload {
        None | Some(Value::Null) => Ok(ConnectionPayload(Map::new())),
        Some(Value::Object(fields)) => Ok(ConnectionPayload(fields)),
        Some(_) => Err("the payload must be an object".to_owned()),
    };
    let id =
        |id: Option<String>| id.filter(|id| !id.is_empty()).ok_or_else(|| "the message must have an id".to_owned());
    match envelope.r#type.as_str() {
        "connection_init" => Ok(ClientMessage::Init(payload(envelope.payload)?)),
        "ping" => Ok(ClientMessage::Ping(payload(envelope.payload)?)),
        "pong" => payload(envelope.payload).map(|_| ClientMessage::Pong),
        "complete" => Ok(ClientMessage::Complete { id: id(envelope.id)? }),
        "subscribe" => {
            let Some(Value::Object(fields)) =
                envelope.payload.filter(|payload| !payload.as_object().is_some_and(Map::is_empty))
            else {
                return Err("subscribe needs a payload".into());
            };
            Ok(ClientMessage::Subscribe { id: id(envelope.id)?, request: build_request(fields).map(Box::new) })
        }
        _ => Err("the message has an unknown type".into()),
    }
}

/// A message that is not valid JSON, or has an invalid payload. If its operation is known, only that fails. A payload
/// may contain invalid text, such as half a surrogate pair, or be nested too deeply.
fn handle_unreadable(text: &str, error: Error) -> Result<ClientMessage, String> {
    let error = match error {
        Error::BadInput { field, message } => {
            let field = field.strip_prefix("payload.").unwrap_or(&field);
            Error::bad_input(field, message.replace("the body ", "the message "))
        }
        other => other,
    };
    match json::parse_json::<MessageEnvelope<IgnoredAny>>(text.as_bytes()) {
        Ok(MessageEnvelope { r#type, id: Some(id), payload: Some(_) }) if r#type == "subscribe" && !id.is_empty() => {
            Ok(ClientMessage::Subscribe { id, request: Err(error) })
        }
        _ => Err(format!("the message is malformed: {error}")),
    }
}

/// An output of an operation.
pub enum OperationOutput {
    Next(StreamResponse),
    /// The operation was refused, or can give no more results.
    Failed(Vec<ServerError>),
    End,
}

impl OperationOutput {
    /// The output for a response.
    pub fn from_response(answer: StreamResponse, is_subscription: bool) -> Self {
        if let StreamResponse::Executed(response, _) = &answer {
            let has_nothing = response.data == GraphqlValue::Null && !response.errors.is_empty();
            if is_refused(response) || (is_subscription && has_nothing) {
                return Self::Failed(response.errors.clone());
            }
        }
        Self::Next(answer)
    }
}

/// A client's id of an operation, as a JSON string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationId(String);

impl OperationId {
    /// From the client's id.
    pub fn from_client(name: &str) -> Self {
        Self(to_json(name))
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One result of an operation.
pub fn next_message(id: &OperationId, answer: StreamResponse) -> String {
    format!(r#"{{"type":"next","id":{id},"payload":{}}}"#, answer.into_text())
}

/// The operation was refused, and has ended.
pub fn error_message(id: &OperationId, errors: &[impl Serialize]) -> String {
    format!(r#"{{"type":"error","id":{id},"payload":{}}}"#, to_json(errors))
}

/// The operation has ended.
pub fn complete_message(id: &OperationId) -> String {
    format!(r#"{{"type":"complete","id":{id}}}"#)
}

/// Serializes a message. It is always valid JSON.
fn to_json(said: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(said).unwrap_or_default()
}
