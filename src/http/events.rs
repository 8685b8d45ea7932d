//! GraphQL over server-sent events, in distinct connections
//! (<https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md>).

use std::convert::Infallible;
use std::time::Duration;

use async_graphql::Response as GraphqlResponse;
use axum::http::header;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, StreamExt, iter, once, poll_fn};
use serde_json::json;

use super::Server;
use super::session::{Session, left};
use crate::auth::Claims;
use crate::graphql::{Admitted, Viewer};

/// A comment is sent when nothing else was for this long, so that nobody in between takes the stream for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Answers with a stream of results: `next` each, and `complete` after the last. A stream that ends without that was
/// cut off (the token has expired, or the server restarts), and its client comes back.
pub fn answer(server: &Server, (viewer, claims): (Viewer, Claims), session: Session, admitted: Admitted) -> Response {
    let left = left(&server.app, &claims);
    let sessions = server.sessions.clone();
    let cut_off = async move {
        let _session = session;
        tokio::select! {
            () = tokio::time::sleep(left) => {}
            () = sessions.stopped() => {}
        }
    };
    let results = server.schema.stream(viewer, admitted).map(|answer| next(answer.into_text()));
    let events = results.chain(once(async { complete() }));
    sent(events.take_until(Box::pin(cut_off)))
}

/// Answers what was never executed with a stream too, for a client cannot read the body of anything else.
pub fn refused(response: &GraphqlResponse) -> Response {
    let errors = next(json!({ "errors": response.errors }).to_string());
    sent(iter([errors, complete()]))
}

fn sent(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let mut events = events.map(Ok::<_, Infallible>).boxed();
    // What is logged of the stream goes by the id of the request that began it.
    let span = tracing::Span::current();
    let events = poll_fn(move |context| span.in_scope(|| events.poll_next_unpin(context)));
    let mut answer = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // Proxies that gather an answer before they pass it on (nginx) are told not to.
    answer.headers_mut().insert("x-accel-buffering", header::HeaderValue::from_static("no"));
    answer
}

fn next(data: String) -> Event {
    Event::default().event("next").data(data)
}

fn complete() -> Event {
    Event::default().event("complete").data("")
}
