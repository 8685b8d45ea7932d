//! GraphQL over server-sent events, in distinct connections
//! (<https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md>).

use axum::response::Response;
use futures_util::stream::{StreamExt, once};

use super::response::{complete_event, event_stream, next_event};
use super::server::Server;
use super::session::{OpenSession, SessionCredential};
use crate::graphql::{AdmittedRequest, Viewer};

/// Answers with a stream of results: a `next` for each, and `complete` after the last. A stream that ends without
/// `complete` was cut off: the token expired, the user signed out, or the server restarts. The client reconnects.
pub fn stream_response(
    server: &Server,
    (viewer, pass): (Viewer, SessionCredential),
    session: OpenSession,
    admitted: AdmittedRequest,
) -> Response {
    let (app, sessions) = (server.app.clone(), server.sessions.clone());
    let cut_off = async move {
        let _session = session;
        let over = async {
            tokio::time::sleep(pass.time_left(&app)).await;
            while pass.is_still_valid(&app).await {
                tokio::time::sleep(pass.time_left(&app)).await;
            }
        };
        tokio::select! {
            () = over => {}
            () = sessions.wait_for_close() => {}
        }
    };
    let results = server.schema.stream(viewer, admitted).map(|answer| next_event(answer.into_text()));
    let events = results.chain(once(async { complete_event() }));
    event_stream(events.take_until(Box::pin(cut_off)))
}
