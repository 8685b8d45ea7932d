//! GraphQL over server-sent events, in distinct connections
//! (<https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md>).

use axum::response::Response;
use futures_util::stream::{StreamExt, once};

use super::answer::{complete, next, streamed};
use super::server::Server;
use super::session::{Pass, Session};
use crate::graphql::{Admitted, Viewer};

/// Answers with a stream of results: a `next` for each, and `complete` after the last. A stream that ends without
/// `complete` was cut off: the token expired, the user signed out, or the server restarts. The client reconnects.
pub fn answer(server: &Server, (viewer, pass): (Viewer, Pass), session: Session, admitted: Admitted) -> Response {
    let (app, sessions) = (server.app.clone(), server.sessions.clone());
    let cut_off = async move {
        let _session = session;
        let over = async {
            tokio::time::sleep(pass.left(&app)).await;
            while pass.counts(&app).await {
                tokio::time::sleep(pass.left(&app)).await;
            }
        };
        tokio::select! {
            () = over => {}
            () = sessions.stopped() => {}
        }
    };
    let results = server.schema.stream(viewer, admitted).map(|answer| next(answer.into_text()));
    let events = results.chain(once(async { complete() }));
    streamed(events.take_until(Box::pin(cut_off)))
}
