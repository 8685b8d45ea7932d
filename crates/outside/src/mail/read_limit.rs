//! Limits how many bytes a relay may send at a time.
//!
//! lettre parses a multi-line reply from its beginning again for each line, without yielding: a reply of 100 kB, which
//! it would accept, blocks a thread for seconds.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum bytes of a reply to a command: some dozens of lines.
const ANSWER: usize = 4096;
/// Maximum bytes during the TLS handshake, which includes certificates. lettre does not parse these.
const HANDSHAKE: usize = 64 * 1024;
/// First byte of TLS handshake records (RFC 8446, section 5.1); no SMTP reply begins with it.
const RECORD: u8 = 22;

/// A connection that limits the bytes received.
#[derive(Debug)]
pub(super) struct BoundedStream<T> {
    stream: T,
    at: SocketAddr,
    /// Bytes received since the last command.
    heard: usize,
    most: usize,
}

impl<T> BoundedStream<T> {
    pub fn new(stream: T, at: SocketAddr) -> Self {
        Self { stream, at, heard: 0, most: ANSWER }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for BoundedStream<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let new = &buf.filled()[before..];
        if self.heard == 0 {
            self.most = if new.first() == Some(&RECORD) { HANDSHAKE } else { ANSWER };
        }
        self.heard += new.len();
        if self.heard > self.most {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "its answer is too long")));
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for BoundedStream<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.heard = 0;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + Sync + std::fmt::Debug> AsyncTokioStream for BoundedStream<T> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.at)
    }
}
