//! The bytes of a connection, counted.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::door::Place;
use super::line::Line;

/// What Linux keeps to be sent of a connection. It would keep megabytes, and say that there is room for more only when a third of
/// them was taken: a slow client would look for minutes as if it took nothing.
#[cfg(target_os = "linux")]
fn tune(io: &TcpStream) {
    const UNSENT_BYTES: u32 = 16 * 1024;
    let _ = socket2::SockRef::from(io).set_tcp_notsent_lowat(UNSENT_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn tune(_io: &TcpStream) {}

/// What comes and goes over a connection. It holds the connection's place, also when it has become a socket.
#[derive(Debug)]
pub struct Stream {
    io: TcpStream,
    line: Arc<Line>,
    /// A socket looks after itself: nobody asks its line when something was written.
    is_socket: bool,
    _place: Place,
}

impl Stream {
    pub fn new(io: TcpStream, line: Arc<Line>, place: Place) -> Self {
        // What is small goes out at once, rather than when what went before it was acknowledged.
        let _ = io.set_nodelay(true);
        tune(&io);
        Self { io, line, is_socket: false, _place: place }
    }

    fn written<T>(&self, written: Poll<T>) -> Poll<T> {
        if !self.is_socket {
            self.line.has_written(written.is_pending());
        }
        written
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        // Between requests there may be an empty line or two (RFC 9112, section 2.2).
        let says = read.iter().any(|byte| !matches!(byte, b'\r' | b'\n'));
        let is_right = self.line.has_read(read.len(), says);
        self.is_socket = self.line.is_upgraded();
        if is_right {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(Err(io::Error::other("too many fragments without a message")))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        self.written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.written(written)
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
