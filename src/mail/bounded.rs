//! How much a relay may say at a time.
//!
//! lettre reads an answer of many lines from its beginning again with each line, without letting others go on meanwhile: one of 100 kB, which
//! it would take, keeps a thread busy for seconds.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use lettre::transport::smtp::client::AsyncTokioStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most bytes that come as an answer to what was said: some dozens of lines.
const ANSWER: usize = 4096;
/// The same while it proves who it is, which certificates are part of. lettre sees nothing of that.
const HANDSHAKE: usize = 64 * 1024;
/// What the records of a handshake begin with (RFC 8446, section 5.1), and no answer.
const RECORD: u8 = 22;

/// A connection over which no more than that comes.
#[derive(Debug)]
pub(super) struct Bounded<T> {
    stream: T,
    at: SocketAddr,
    /// Bytes since something was said.
    heard: usize,
    most: usize,
}

impl<T> Bounded<T> {
    pub fn new(stream: T, at: SocketAddr) -> Self {
        Self { stream, at, heard: 0, most: ANSWER }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Bounded<T> {
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

impl<T: AsyncWrite + Unpin> AsyncWrite for Bounded<T> {
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

impl<T: AsyncRead + AsyncWrite + Unpin + Send + Sync + std::fmt::Debug> AsyncTokioStream for Bounded<T> {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.at)
    }
}
