//! GraphQL over HTTP (<https://graphql.github.io/graphql-over-http/draft/>): one request, one answer.

use std::sync::Arc;

use async_graphql::Response as GraphqlResponse;
use async_graphql::parser::types::OperationType;
use axum::extract::{Extension, FromRequest, Request as HttpRequest, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;

use super::credentials::unauthenticated_response;
use super::request::IncomingRequest;
use super::response::{self, EVENTS, error_response, is_listed, not_modified, with_etag};
use super::response_memory::mark_uncounted;
use super::serve::ConnectionState;
use super::server::Server;
use super::session::SessionCredential;
use super::{events, socket};
use crate::graphql::{AdmittedRequest, CacheableQuery, ReusableResponse, Viewer};
use base::error::Error;
use model::fingerprint::fingerprint;

/// Queries only: a request that changes something must not be in a URL. WebSocket upgrades arrive here, too.
pub async fn handle_get(
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
    let asked = match IncomingRequest::from_request(request, &server).await {
        Ok(asked) => asked,
        Err(refusal) => return refusal,
    };
    handle_request(&server, asked, RequestMethod::Get { known }).await
}

/// A request in a body.
pub async fn handle_post(State(server): State<Server>, asked: IncomingRequest) -> Response {
    handle_request(&server, asked, RequestMethod::Post).await
}

/// The HTTP method of a request.
enum RequestMethod {
    /// Has the tags of the responses that the client holds.
    Get {
        known: Vec<HeaderValue>,
    },
    Post,
}

impl RequestMethod {
    fn name(&self) -> &'static str {
        match self {
            Self::Get { .. } => "GET",
            Self::Post => "POST",
        }
    }

    /// Whether the client holds the response with this tag (RFC 9110, section 13.1.2).
    fn has_tag(&self, tag: Option<i64>) -> bool {
        let (Self::Get { known }, Some(tag)) = (self, tag) else { return false };
        known.iter().any(|known| known.to_str().is_ok_and(|known| is_listed(tag, known)))
    }

    /// The response with this tag, or 304 if the client holds it.
    fn respond_with(&self, tag: Option<i64>, answer: impl FnOnce() -> Response) -> Response {
        match tag {
            Some(tag) if self.has_tag(Some(tag)) => not_modified(tag),
            Some(tag) => with_etag(answer(), tag),
            None => answer(),
        }
    }
}

async fn handle_request(server: &Server, asked: IncomingRequest, method: RequestMethod) -> Response {
    let IncomingRequest { media, caller, request, said } = asked;
    let (viewer, has_token) = (caller.as_ref().map(|(viewer, _)| viewer), caller.is_some());
    let mut admitted = match server.schema.admit(viewer, request).await {
        Ok(admitted) => admitted,
        Err(response) => return response::refused_response(media, &response),
    };
    let is_get = matches!(method, RequestMethod::Get { .. });
    if admitted.operation.kind == OperationType::Mutation && is_get {
        admitted.flight.record_code("BAD_USER_INPUT");
        let error = Error::bad_input("query", "must be a query: mutations are sent by POST");
        let mut answer = error_response(media, StatusCode::METHOD_NOT_ALLOWED, &error);
        answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        return answer;
    }
    let operation = admitted.operation.clone();
    let name = method.name();
    let print = move || fingerprint(&[name.as_bytes(), media.as_bytes(), &said].join(&b' '));
    // Otherwise no later request could reuse the response.
    let polling = viewer.filter(|_| media != EVENTS && (is_get || server.schema.has_response_cache()));
    let mut answer = match polling.and_then(|viewer| CacheableQuery::from_request(viewer, &mut admitted, is_get, print))
    {
        Some(poll) => respond_cached(server, media, (caller, admitted), &poll, &method).await,
        None => execute_or_stream(server, media, caller, admitted).await,
    };
    answer.extensions_mut().insert(operation);
    if has_token { mark_uncounted(answer) } else { answer }
}

/// The response to a cacheable query. Executes nothing if the cached response is still valid.
async fn respond_cached(
    server: &Server,
    media: &'static str,
    (caller, mut admitted): (Option<(Viewer, SessionCredential)>, AdmittedRequest),
    poll: &CacheableQuery,
    method: &RequestMethod,
) -> Response {
    match server.schema.cached_response(poll).await {
        Ok(Some(ReusableResponse { tag, text })) if text.is_some() || method.has_tag(tag) => {
            admitted.flight.record_success();
            return method.respond_with(tag, || response::cached_response(media, text.unwrap_or_default()));
        }
        Ok(_) => {}
        Err(response) => {
            admitted.flight.record_response(&response);
            return response::refused_response(media, &response);
        }
    }
    let mut made = None;
    let seen =
        |response: &GraphqlResponse, text: &str| made = response.errors.is_empty().then(|| poll.prepare_entry(text));
    let answer = execute_once(server, media, caller.map(|(viewer, _)| viewer), admitted, seen).await;
    match made.filter(|_| answer.status() == StatusCode::OK) {
        Some(made) => {
            let tag = made.tag;
            poll.store_entry(&server.schema, made);
            method.respond_with(tag, || answer)
        }
        None => answer,
    }
}

/// One response, or a stream if the client asks for one.
async fn execute_or_stream(
    server: &Server,
    media: &'static str,
    caller: Option<(Viewer, SessionCredential)>,
    admitted: AdmittedRequest,
) -> Response {
    match caller {
        Some((viewer, pass)) if media == EVENTS => {
            match server.sessions.reserve().and_then(|place| place.into_session(&viewer)) {
                Ok(session) => events::stream_response(server, (viewer, pass), session, admitted),
                Err(error) => unauthenticated_response(media, &error),
            }
        }
        caller => execute_once(server, media, caller.map(|(viewer, _)| viewer), admitted, |_, _| {}).await,
    }
}

/// Executes a request. `seen` gets the response's text before it is sent.
async fn execute_once(
    server: &Server,
    media: &'static str,
    viewer: Option<Viewer>,
    admitted: AdmittedRequest,
    seen: impl FnOnce(&GraphqlResponse, &str),
) -> Response {
    let budget = server.schema.response_budget(viewer.as_ref());
    let response = server.schema.run(viewer.clone(), admitted).await;
    let keep = |text: String| {
        seen(&response, &text);
        match &viewer {
            Some(viewer) => server.unread.count_for_viewer(viewer, text, budget.max_bytes()),
            // `unread` counts responses without a token by network.
            None => Some(text.into()),
        }
    };
    response::graphql_response(media, &response, &budget, keep)
}
