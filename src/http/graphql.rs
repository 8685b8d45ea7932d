//! GraphQL over HTTP (<https://graphql.github.io/graphql-over-http/draft/>): one request, one answer.

use std::sync::Arc;

use async_graphql::Response as GraphqlResponse;
use async_graphql::parser::types::OperationType;
use axum::extract::{Extension, FromRequest, Request as HttpRequest, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::answer::{self, EVENTS, refusal};
use super::caller::unknown;
use super::request::Asked;
use super::serve::ConnectionState;
use super::server::Server;
use super::session::Pass;
use super::tag::{is_among, not_modified, tagged};
use super::unread::uncounted;
use super::{events, socket};
use crate::error::Error;
use crate::graphql::{Admitted, Known, Poll, Viewer};
use crate::model::fingerprint::fingerprint;

/// Queries only: a request that changes something must not be in a URL. WebSocket upgrades arrive here, too.
pub async fn get(
    State(server): State<Server>,
    connection: Option<Extension<Arc<ConnectionState>>>,
    mut request: HttpRequest,
) -> Response {
    if request.headers().contains_key(header::UPGRADE) {
        let mut answer = socket::upgrade(server, connection.map(|Extension(state)| state), &mut request);
        // With the client's spelling of header names, which the response repeats.
        answer.extensions_mut().extend(request.extensions().clone());
        return answer;
    }
    let known = request.headers().get_all(header::IF_NONE_MATCH).into_iter().cloned().collect();
    let asked = match Asked::from_request(request, &server).await {
        Ok(asked) => asked,
        Err(refusal) => return refusal,
    };
    answer_to(&server, asked, Method::Get { known }).await
}

/// A request in a body.
pub async fn post(State(server): State<Server>, asked: Asked) -> Response {
    answer_to(&server, asked, Method::Post).await
}

/// The HTTP method of a request.
enum Method {
    /// Has the tags of the responses that the client holds.
    Get {
        known: Vec<HeaderValue>,
    },
    Post,
}

impl Method {
    fn name(&self) -> &'static str {
        match self {
            Self::Get { .. } => "GET",
            Self::Post => "POST",
        }
    }

    /// Whether the client holds the response with this tag (RFC 9110, section 13.1.2).
    fn knows(&self, tag: Option<i64>) -> bool {
        let (Self::Get { known }, Some(tag)) = (self, tag) else { return false };
        known.iter().any(|known| known.to_str().is_ok_and(|known| is_among(tag, known)))
    }

    /// The response with this tag, or 304 if the client holds it.
    fn answer(&self, tag: Option<i64>, answer: impl FnOnce() -> Response) -> Response {
        match tag {
            Some(tag) if self.knows(Some(tag)) => not_modified(tag),
            Some(tag) => tagged(answer(), tag),
            None => answer(),
        }
    }
}

async fn answer_to(server: &Server, asked: Asked, method: Method) -> Response {
    let Asked { media, caller, request, said } = asked;
    let (viewer, has_token) = (caller.as_ref().map(|(viewer, _)| viewer), caller.is_some());
    let mut admitted = match server.schema.admit(viewer, request).await {
        Ok(admitted) => admitted,
        Err(response) => return answer::refused(media, &response),
    };
    let is_get = matches!(method, Method::Get { .. });
    if admitted.operation.kind == OperationType::Mutation && is_get {
        admitted.flight.ended("BAD_USER_INPUT");
        let error = Error::bad_input("query", "must be a query: mutations are sent by POST");
        let mut answer = refusal(media, StatusCode::METHOD_NOT_ALLOWED, &error);
        answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return answer;
    }
    let operation = admitted.operation.clone();
    let name = method.name();
    let print = move || fingerprint(&[name.as_bytes(), media.as_bytes(), &said].join(&b' '));
    // Otherwise no later request could reuse the response.
    let polling = viewer.filter(|_| media != EVENTS && (is_get || server.schema.remembers()));
    let mut answer = match polling.and_then(|viewer| Poll::of(viewer, &mut admitted, is_get, print)) {
        Some(poll) => polled(server, media, (caller, admitted), &poll, &method).await,
        None => execute(server, media, caller, admitted).await,
    };
    answer.extensions_mut().insert(operation);
    if has_token { uncounted(answer) } else { answer }
}

/// The response to a cacheable query. Executes nothing if the cached response is still valid.
async fn polled(
    server: &Server,
    media: &'static str,
    (caller, mut admitted): (Option<(Viewer, Pass)>, Admitted),
    poll: &Poll,
    method: &Method,
) -> Response {
    match server.schema.known(poll).await {
        Ok(Some(Known { tag, text })) if text.is_some() || method.knows(tag) => {
            admitted.flight.went_well();
            return method.answer(tag, || answer::known(media, text.unwrap_or_default()));
        }
        Ok(_) => {}
        Err(response) => {
            admitted.flight.answered(&response);
            return answer::refused(media, &response);
        }
    }
    let mut made = None;
    let seen = |response: &GraphqlResponse, text: &str| made = response.errors.is_empty().then(|| poll.made(text));
    let answer = executed(server, media, caller.map(|(viewer, _)| viewer), admitted, seen).await;
    match made.filter(|_| answer.status() == StatusCode::OK) {
        Some(made) => {
            let tag = made.tag;
            poll.answered(&server.schema, made);
            method.answer(tag, || answer)
        }
        None => answer,
    }
}

/// One response, or a stream if the client asks for one.
async fn execute(server: &Server, media: &'static str, caller: Option<(Viewer, Pass)>, admitted: Admitted) -> Response {
    match caller {
        Some((viewer, pass)) if media == EVENTS => {
            match server.sessions.place().and_then(|place| place.taken(&viewer)) {
                Ok(session) => events::answer(server, (viewer, pass), session, admitted),
                Err(error) => unknown(media, &error),
            }
        }
        caller => executed(server, media, caller.map(|(viewer, _)| viewer), admitted, |_, _| {}).await,
    }
}

/// Executes a request. `seen` gets the response's text before it is sent.
async fn executed(
    server: &Server,
    media: &'static str,
    viewer: Option<Viewer>,
    admitted: Admitted,
    seen: impl FnOnce(&GraphqlResponse, &str),
) -> Response {
    let budget = server.schema.budget(viewer.as_ref());
    let response = server.schema.run(viewer.clone(), admitted).await;
    let keep = |text: String| {
        seen(&response, &text);
        match &viewer {
            Some(viewer) => server.unread.kept(viewer, text, budget.most()),
            // `unread` counts responses without a token by network.
            None => Some(text.into()),
        }
    };
    answer::answer(media, &response, &budget, keep)
}
