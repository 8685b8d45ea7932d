//! Bodies: how far those of requests were read, who is being answered, and what of that is not taken yet.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use futures_util::future::AbortHandle;
use hyper::body::{Frame, Incoming, SizeHint};

use super::line::{Line, UnderWay};

/// The body of a request, which says when it was read to its end.
#[derive(Debug)]
pub struct Asking {
    body: Incoming,
    is_read: Arc<AtomicBool>,
}

impl Asking {
    /// With what becomes true then.
    pub fn new(body: Incoming) -> (Self, Arc<AtomicBool>) {
        let is_read = Arc::new(AtomicBool::new(body.is_end_stream()));
        (Self { body, is_read: is_read.clone() }, is_read)
    }
}

impl HttpBody for Asking {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.is_read.store(true, Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What is handed to HTTP/2 at once: as much as one of its frames holds.
const SLICE_BYTES: usize = 16 * 1024;

/// The body of an answer. Over HTTP/1 it passes as it is, for what is not taken there shows in the stream. HTTP/2 holds what no
/// window has room for, whatever the stream does, so there it is handed out in slices that are missed until they are dropped.
#[derive(Debug)]
pub struct Answered {
    body: Body,
    under_way: UnderWay,
    /// What ends the stream, in HTTP/2.
    cut: Option<AbortHandle>,
    rest: Bytes,
}

/// A slice that was handed out.
struct Slice {
    bytes: Bytes,
    number: u64,
    line: Arc<Line>,
}

impl Answered {
    pub fn new(body: Body, under_way: UnderWay, cut: Option<AbortHandle>) -> Self {
        Self { body, under_way, cut, rest: Bytes::new() }
    }
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(cut) = self.cut.clone() else { return Pin::new(&mut self.body).poll_frame(context) };
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                other => return Poll::Ready(other),
            }
        }
        let length = self.rest.len().min(SLICE_BYTES);
        let bytes = self.rest.split_to(length);
        let line = self.under_way.0.clone();
        let slice = Slice { bytes, number: line.hand_out(cut), line };
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(slice)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower() + rest);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        self.line.taken(self.number);
    }
}
