//! Answers that were made and are not taken yet: how many bytes of memory a caller may have in them.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;

use super::counts::Counts;
use crate::app::App;
use crate::graphql::{Viewer, Who};
use crate::model::network::Network;

/// An answer of up to so many bytes to a caller with a token counts for nothing.
const SMALL: usize = 16 * 1024;

/// So many of the largest answers a caller with a token may have at the same time.
const ANSWERS: usize = 4;

/// The most bytes of all callers without a token from one network, and from all networks.
const NETWORK_BYTES: usize = 4 * 1024 * 1024;
const STRANGERS_BYTES: usize = 16 * NETWORK_BYTES;

/// The bytes of each caller who has any.
#[derive(Clone, Debug)]
pub struct Unread(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    app: Arc<App>,
    held: Mutex<Counts<Whose>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Whose {
    Caller(Who),
    /// Callers without a token, by the network that they come from.
    Network(Network),
    /// All callers without a token.
    Strangers,
}

/// One answer, until the connection keeps no part of it.
struct Answer<T> {
    bytes: T,
    _held: Held,
}

/// Bytes that count until this is dropped.
#[derive(Debug)]
struct Held {
    unread: Unread,
    whose: Vec<Whose>,
    bytes: usize,
}

/// Goes with an answer that takes no memory of its own, or whose caller it was counted for.
#[derive(Clone, Copy, Debug)]
struct Uncounted;

/// An answer that takes no memory of its own: all who ask for it share its bytes.
pub fn shared(body: impl Into<Body>) -> Response {
    uncounted(Response::new(body.into()))
}

/// The answer to a caller with a token, who has an account of their own.
pub fn uncounted(mut answer: Response) -> Response {
    answer.extensions_mut().insert(Uncounted);
    answer
}

impl Unread {
    /// With no bytes yet.
    pub fn new(app: Arc<App>) -> Self {
        Self(Arc::new(Inner { app, held: Mutex::default() }))
    }

    /// An answer of at most `largest` bytes as it goes out; nothing where its caller has too many that they do not take.
    pub fn kept(&self, viewer: &Viewer, text: String, largest: usize) -> Option<Bytes> {
        if text.len() <= SMALL {
            return Some(text.into());
        }
        let held = self.hold(vec![(Whose::Caller(viewer.who()), ANSWERS * largest)], text.len())?;
        Some(Bytes::from_owner(Answer { bytes: text, _held: held }))
    }

    /// An answer of any route as it goes out to a caller from this network, whose bytes count for the network unless they are counted
    /// elsewhere; 503 where the network has too many that are not taken.
    pub async fn counted(&self, network: Network, answer: Response) -> Response {
        let length = answer.body().size_hint().exact().and_then(|length| usize::try_from(length).ok());
        let Some(length) = length.filter(|length| *length > 0) else { return answer };
        if answer.extensions().get::<Uncounted>().is_some() {
            return answer;
        }
        let bounds = vec![(Whose::Network(network), NETWORK_BYTES), (Whose::Strangers, STRANGERS_BYTES)];
        let Some(held) = self.hold(bounds, length) else {
            self.0.app.metrics.unread_refused.inc();
            let words = shared("answers that were asked for before are not taken: read them first\n");
            return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], words).into_response();
        };
        let (parts, body) = answer.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => Response::from_parts(parts, Bytes::from_owner(Answer { bytes, _held: held }).into()),
            Err(error) => {
                tracing::error!(%error, "an answer cannot be made");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }

    /// Counts bytes for each of these. `None` if one of them would exceed its bound.
    fn hold(&self, bounds: Vec<(Whose, usize)>, bytes: usize) -> Option<Held> {
        let mut held = self.0.held.lock();
        if bounds.iter().any(|(whose, most)| held.of(whose).saturating_add(bytes) > *most) {
            return None;
        }
        let whose: Vec<Whose> = bounds.into_iter().map(|(whose, _)| whose).collect();
        for whose in &whose {
            held.add(whose.clone(), bytes);
        }
        drop(held);
        self.0.app.metrics.unread_bytes.inc_by(gauged(bytes));
        Some(Held { unread: self.clone(), whose, bytes })
    }
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Answer<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Inner { app, held } = &*self.unread.0;
        let mut held = held.lock();
        for whose in &self.whose {
            held.remove(whose, self.bytes);
        }
        drop(held);
        app.metrics.unread_bytes.dec_by(gauged(self.bytes));
    }
}

fn gauged(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
