//! Limits the memory of responses that clients have not read yet, by caller.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;

use super::key_counters::KeyCounts;
use crate::app::App;
use crate::graphql::{CallerIdentity, Viewer};
use model::network::CallerNetwork;

/// Responses of up to this many bytes to a caller with a token do not count.
const SMALL: usize = 16 * 1024;

/// How many of the largest responses a caller with a token may leave unread.
const ANSWERS: usize = 4;

/// The most unread bytes of all callers without a token: from one network, and from all networks.
const NETWORK_BYTES: usize = 4 * 1024 * 1024;
const STRANGERS_BYTES: usize = 16 * NETWORK_BYTES;

/// The unread bytes of each caller.
#[derive(Clone, Debug)]
pub struct ResponseMemoryLimiter(Arc<MemoryUsage>);

#[derive(Debug)]
struct MemoryUsage {
    app: Arc<App>,
    held: Mutex<KeyCounts<MemoryOwner>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum MemoryOwner {
    Caller(CallerIdentity),
    /// Callers without a token, by network.
    Network(CallerNetwork),
    /// All callers without a token.
    Strangers,
}

/// A response, until the connection has dropped all of it.
struct CountedBytes<T> {
    bytes: T,
    _held: MemoryPermit,
}

/// Bytes that count until this is dropped.
#[derive(Debug)]
struct MemoryPermit {
    unread: ResponseMemoryLimiter,
    whose: Vec<MemoryOwner>,
    bytes: usize,
}

/// Marks a response that needs no memory of its own, or that is counted for its caller already.
#[derive(Clone, Copy, Debug)]
struct UncountedMarker;

/// A response that needs no memory of its own: all clients share its bytes.
pub fn shared_response(body: impl Into<Body>) -> Response {
    mark_uncounted(Response::new(body.into()))
}

/// A response to a caller with a token, which is counted for that caller.
pub fn mark_uncounted(mut answer: Response) -> Response {
    answer.extensions_mut().insert(UncountedMarker);
    answer
}

impl ResponseMemoryLimiter {
    /// Without unread bytes.
    pub fn new(app: Arc<App>) -> Self {
        Self(Arc::new(MemoryUsage { app, held: Mutex::default() }))
    }

    /// Counts a response for its caller. `None` if the caller has too many unread bytes. `largest` bounds a response.
    pub fn count_for_viewer(&self, viewer: &Viewer, text: String, largest: usize) -> Option<Bytes> {
        if text.len() <= SMALL {
            return Some(text.into());
        }
        let held = self.try_reserve(vec![(MemoryOwner::Caller(viewer.identity()), ANSWERS * largest)], text.len())?;
        Some(Bytes::from_owner(CountedBytes { bytes: text, _held: held }))
    }

    /// Counts a response of any route for the client's network, unless it is counted elsewhere. 503 if the network, or
    /// all of them, have too many unread bytes.
    pub async fn count_for_network(&self, network: CallerNetwork, answer: Response) -> Response {
        let length = answer.body().size_hint().exact().and_then(|length| usize::try_from(length).ok());
        let Some(length) = length.filter(|length| *length > 0) else { return answer };
        if answer.extensions().get::<UncountedMarker>().is_some() {
            return answer;
        }
        let bounds = vec![(MemoryOwner::Network(network), NETWORK_BYTES), (MemoryOwner::Strangers, STRANGERS_BYTES)];
        let Some(held) = self.try_reserve(bounds, length) else {
            self.0.app.metrics.unread_refused.inc();
            let words = shared_response("too many earlier responses are unread: read them first\n");
            return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], words).into_response();
        };
        let (parts, body) = answer.into_parts();
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => Response::from_parts(parts, Bytes::from_owner(CountedBytes { bytes, _held: held }).into()),
            Err(error) => {
                tracing::error!(%error, "a response cannot be built");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }

    /// Counts bytes for each of these. `None` if one of them would exceed its limit.
    fn try_reserve(&self, bounds: Vec<(MemoryOwner, usize)>, bytes: usize) -> Option<MemoryPermit> {
        let mut held = self.0.held.lock();
        if bounds.iter().any(|(whose, most)| held.get(whose).saturating_add(bytes) > *most) {
            return None;
        }
        let whose: Vec<MemoryOwner> = bounds.into_iter().map(|(whose, _)| whose).collect();
        for whose in &whose {
            held.add(whose.clone(), bytes);
        }
        drop(held);
        self.0.app.metrics.unread_bytes.inc_by(to_gauge(bytes));
        Some(MemoryPermit { unread: self.clone(), whose, bytes })
    }
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for CountedBytes<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        let MemoryUsage { app, held } = &*self.unread.0;
        let mut held = held.lock();
        for whose in &self.whose {
            held.remove(whose, self.bytes);
        }
        drop(held);
        app.metrics.unread_bytes.dec_by(to_gauge(self.bytes));
    }
}

fn to_gauge(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
