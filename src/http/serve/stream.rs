//! A TCP stream with the connection's time-outs.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::limiter::{ConnectionLimiter, ConnectionPermit};
use super::state::ConnectionState;

/// Limits the kernel's send buffer. Linux would buffer megabytes of a response and report room only after a third of it
/// was read, so a slow client would seem to read nothing for minutes.
#[cfg(target_os = "linux")]
fn limit_unsent_bytes(io: &TcpStream) {
    const UNSENT_BYTES: u32 = 16 * 1024;
    let _ = socket2::SockRef::from(io).set_tcp_notsent_lowat(UNSENT_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn limit_unsent_bytes(_io: &TcpStream) {}

/// A TCP stream that fails if its client sends or reads nothing for too long. Holds the permit, also as a WebSocket.
#[derive(Debug)]
pub struct ClientStream {
    io: TcpStream,
    state: Arc<ConnectionState>,
    limiter: Arc<ConnectionLimiter>,
    read_timer: LazyTimer,
    write_timer: LazyTimer,
    _permit: ConnectionPermit,
}

/// A timer that is created when it is first needed.
#[derive(Debug, Default)]
struct LazyTimer(Option<Pin<Box<Sleep>>>);

impl LazyTimer {
    /// Ready at the deadline. Wakes the task then.
    fn poll_until(&mut self, deadline: Instant, context: &mut Context<'_>) -> Poll<()> {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }
}

impl ClientStream {
    pub fn new(
        io: TcpStream,
        state: Arc<ConnectionState>,
        limiter: Arc<ConnectionLimiter>,
        permit: ConnectionPermit,
    ) -> Self {
        // Small responses are sent at once, not after the client has acknowledged earlier data.
        let _ = io.set_nodelay(true);
        limit_unsent_bytes(&io);
        let (read_timer, write_timer) = (LazyTimer::default(), LazyTimer::default());
        Self { io, state, limiter, read_timer, write_timer, _permit: permit }
    }

    fn timed_out<T>(&self, why: &'static str) -> Poll<io::Result<T>> {
        self.limiter.app().metrics.record_dropped_connection(why);
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }

    /// Passes on the result of a write. Fails if the client has read nothing for too long.
    fn check_write<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if self.state.is_upgraded() {
            return written;
        }
        if written.is_ready() {
            if self.state.has_had_request() {
                self.state.record_write();
            }
            self.write_timer = LazyTimer::default();
            return written;
        }
        let deadline = self.write_timer.0.as_ref().map(|sleep| sleep.deadline());
        let deadline = deadline.unwrap_or_else(|| Instant::now() + self.state.write_timeout());
        ready!(self.write_timer.poll_until(deadline, context));
        self.timed_out("taking")
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut self.io).poll_read(context, buffer) {
            read?;
            if self.state.record_read(&buffer.filled()[before..]) {
                return Poll::Ready(Ok(()));
            }
            return Poll::Ready(Err(io::Error::other("too many fragments without a message")));
        }
        let Some((deadline, why)) = self.state.read_deadline() else { return Poll::Pending };
        ready!(self.read_timer.poll_until(deadline, context));
        self.timed_out(why)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        self.check_write(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.check_write(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
