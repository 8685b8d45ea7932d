//! GraphQL over HTTP (<https://graphql.github.io/graphql-over-http/draft/>): one request, one answer.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use axum::extract::ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection};
use axum::extract::{Extension, FromRequest, Request as HttpRequest, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::answer::{self, EVENTS, refusal};
use super::caller::unknown;
use super::request::Asked;
use super::serve::Line;
use super::server::Server;
use super::tag::{is_among, not_modified, tagged};
use super::{events, socket};
use crate::auth::Claims;
use crate::error::Error;
use crate::graphql::{Admitted, Poll, Viewer};
use crate::model::fingerprint::fingerprint;

/// Queries only: whatever changes something must not be in an address. Sockets come this way, too.
pub async fn get(
    State(server): State<Server>,
    line: Option<Extension<Arc<Line>>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    request: HttpRequest,
) -> Response {
    if request.headers().contains_key(header::UPGRADE) {
        // With how the client has written the names of headers: the answer's are written in the same way.
        let written = request.extensions().clone();
        let mut answer = socket::upgrade(server, request.headers(), line.map(|Extension(line)| line), upgrade);
        answer.extensions_mut().extend(written);
        return answer;
    }
    let address = request.uri().query().unwrap_or_default().to_owned();
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let asked = match Asked::from_request(request, &server).await {
        Ok(asked) => asked,
        Err(refusal) => return refusal,
    };
    let Asked { media, caller, request } = asked;
    let viewer = caller.as_ref().map(|(viewer, _)| viewer);
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
    let viewer = caller.as_ref().map(|(viewer, _)| viewer);
    let asked = format!("{media} {address}");
    match viewer.filter(|_| media != EVENTS).and_then(|viewer| Poll::of(viewer, &mut admitted, asked.as_bytes())) {
        Some(poll) => conditional(&server, media, (caller, admitted), &poll, known.as_ref()).await,
        None => execute(&server, media, caller, admitted).await,
    }
}

/// The answer to a poll, or that it is the one that the client knows (RFC 9110, section 13.1.2). Where that is known without making it,
/// nothing is executed.
async fn conditional(
    server: &Server,
    media: &'static str,
    (caller, mut admitted): (Option<(Viewer, Claims)>, Admitted),
    poll: &Poll,
    known: Option<&HeaderValue>,
) -> Response {
    let known = known.and_then(|known| known.to_str().ok());
    // What fails is told by the answer.
    if let Some(known) = known
        && let Ok(Some(tag)) = poll.unchanged(&server.schema).await
        && is_among(tag, known)
    {
        admitted.flight.went_well();
        let mut answer = not_modified(tag);
        answer.extensions_mut().insert(admitted.operation.clone());
        return answer;
    }
    let operation = admitted.operation.clone();
    let viewer = caller.map(|(viewer, _)| viewer);
    let budget = server.schema.budget(viewer.as_ref());
    let response = server.schema.run(viewer.clone(), admitted).await;
    let mut tag = None;
    let keep = |text: String| {
        tag = response.errors.is_empty().then(|| fingerprint(text.as_bytes()));
        server.unread.kept(viewer.as_ref(), text, budget.most())
    };
    let mut answer = answer::answer(media, &response, &budget, keep);
    if let Some(tag) = tag.filter(|_| answer.status() == StatusCode::OK) {
        poll.answered(&server.schema, tag).await;
        answer = match known {
            Some(known) if is_among(tag, known) => not_modified(tag),
            _ => tagged(answer, tag),
        };
    }
    answer.extensions_mut().insert(operation);
    answer
}

/// A request in a body.
pub async fn post(State(server): State<Server>, asked: Asked) -> Response {
    let Asked { media, caller, request } = asked;
    let viewer = caller.as_ref().map(|(viewer, _)| viewer);
    match server.schema.admit(viewer, request).await {
        Ok(admitted) => execute(&server, media, caller, admitted).await,
        Err(response) => answer::refused(media, &response),
    }
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
