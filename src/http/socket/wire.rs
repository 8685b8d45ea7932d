//! A socket on the network (RFC 6455).
//!
//! A library reads what comes, keeps to the protocol, and writes what that wants. The texts that a client is told are written past
//! it, in one piece: what it keeps for each socket, a buffer and wakers, would have to be fetched from memory for each of them, and
//! there is mostly nothing in it.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::mem::take;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::upgrade::downcast;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::either::Either;

use crate::http::serve::Stream as Served;

/// The most bytes of a frame's header that is not masked.
const HEADER_BYTES: usize = 10;

/// What messages come from, and what is told goes to.
pub struct Wire<T = Either<Served, TokioIo<Upgraded>>>(WebSocketStream<Watched<T>>);

thread_local! {
    /// What texts were last written from: it is still near, and need not be fetched from memory for the next.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The most bytes that are kept to be used again, by each thread.
const SPARE_BYTES: usize = 32 * 1024;

/// A part of a text.
pub trait Part {
    /// How long it is.
    fn bytes(&self) -> usize;

    /// Adds it to a text.
    fn write(&self, text: &mut Vec<u8>);
}

/// Texts on their way to a client, in frames of their own.
#[derive(Debug)]
pub struct Texts {
    bytes: Vec<u8>,
    /// So many of them were written.
    written: usize,
}

/// A stream of bytes of which it is known whether the library has more to write.
#[derive(Debug)]
struct Watched<T> {
    io: T,
    is_owed_more: bool,
}

impl Wire {
    /// Of a connection that has become a socket. One of this server's own is taken out of its box.
    pub async fn new(upgraded: Upgraded, config: WebSocketConfig) -> Self {
        match downcast::<TokioIo<Served>>(upgraded) {
            // Copied, for what hyper has read into is 8 KiB long, and would be kept.
            Ok(parts) => Self::over(Either::Left(parts.io.into_inner()), parts.read_buf.to_vec(), config).await,
            Err(upgraded) => Self::over(Either::Right(TokioIo::new(upgraded)), Vec::new(), config).await,
        }
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> Wire<T> {
    /// Over bytes, of which these were read already.
    async fn over(io: T, read: Vec<u8>, config: WebSocketConfig) -> Self {
        let io = Watched { io, is_owed_more: false };
        Self(WebSocketStream::from_partially_read(io, read, Role::Server, Some(config)).await)
    }

    /// The next message of the client.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Message, Error>>> {
        self.0.poll_next_unpin(context)
    }

    /// Writes texts, after whatever the library has begun to write. To be polled to its end: nothing else may be written before that.
    pub fn poll_tell(&mut self, context: &mut Context<'_>, texts: &mut Texts) -> Poll<Result<(), Error>> {
        if self.0.get_ref().is_owed_more {
            ready!(self.0.poll_flush_unpin(context))?;
        }
        let mut io = Pin::new(&mut self.0.get_mut().io);
        while texts.written < texts.bytes.len() {
            match ready!(io.as_mut().poll_write(context, &texts.bytes[texts.written..]))? {
                0 => return Poll::Ready(Err(io::Error::from(io::ErrorKind::WriteZero).into())),
                written => texts.written += written,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The same, to its end.
    pub async fn tell(&mut self, mut texts: Texts) -> Result<(), Error> {
        poll_fn(|context| self.poll_tell(context, &mut texts)).await
    }

    /// Writes what is no text.
    pub async fn send(&mut self, message: Message) -> Result<(), Error> {
        self.0.send(message).await
    }

    /// Writes what the protocol wants.
    pub async fn flush(&mut self) -> Result<(), Error> {
        self.0.flush().await
    }
}

impl Texts {
    /// Of one text, in parts.
    pub fn of(parts: &[&dyn Part]) -> Self {
        let mut texts = Self::default();
        texts.push(parts);
        texts
    }

    /// Adds a text, in parts.
    pub fn push(&mut self, parts: &[&dyn Part]) {
        let bytes = parts.iter().map(|part| part.bytes()).sum::<usize>();
        self.bytes.reserve(HEADER_BYTES + bytes);
        let header = FrameHeader { opcode: OpCode::Data(Data::Text), ..FrameHeader::default() };
        // There is always room in a vector.
        let _ = header.format(bytes as u64, &mut self.bytes);
        for part in parts {
            part.write(&mut self.bytes);
        }
    }

    /// How long they are by now.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

impl Default for Texts {
    fn default() -> Self {
        Self { bytes: SPARE.take(), written: 0 }
    }
}

impl Drop for Texts {
    fn drop(&mut self) {
        if self.bytes.capacity() <= SPARE_BYTES {
            self.bytes.clear();
            // There is none where the thread ends.
            let _ = SPARE.try_with(|spare| spare.set(take(&mut self.bytes)));
        }
    }
}

impl<T: AsRef<[u8]>> Part for T {
    fn bytes(&self) -> usize {
        self.as_ref().len()
    }

    fn write(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(self.as_ref());
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        self.is_owed_more = !matches!(written, Poll::Ready(Ok(count)) if count == bytes.len());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::poll_immediate;
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    /// More than the pipe holds.
    const LONG: usize = 1_000;

    async fn pipe() -> (Wire<DuplexStream>, WebSocketStream<DuplexStream>) {
        let (server, client) = duplex(64);
        let client = WebSocketStream::from_raw_socket(client, Role::Client, None);
        (Wire::over(server, Vec::new(), WebSocketConfig::default()).await, client.await)
    }

    #[tokio::test]
    async fn texts_of_any_length_arrive_as_they_are() {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536, 200_000] {
            let (mut server, mut client) = pipe().await;
            let text = "a".repeat(length);
            let mut texts = Texts::of(&[&text]);
            texts.push(&[b"next ", &text, b"!"]);
            assert!(texts.bytes() > 2 * length);
            let heard = async { [client.next().await, client.next().await].map(|heard| heard.unwrap().unwrap()) };
            let (told, heard) = tokio::join!(server.tell(texts), heard);
            told.unwrap();
            assert!(heard == [text.clone(), format!("next {text}!")].map(|text| Message::Text(text.into())));
        }
    }

    #[tokio::test]
    async fn a_text_does_not_come_into_the_middle_of_what_the_library_writes() {
        let (mut server, mut client) = pipe().await;
        // Pongs of which the pipe holds a part, since the client takes nothing.
        let pings: Vec<Message> = (0..5).map(|number| Message::Ping(vec![number; 100].into())).collect();
        for ping in &pings {
            let heard = async {
                let heard = poll_fn(|cx| server.poll_next(cx)).await;
                // Answered while the next is waited for.
                assert!(poll_immediate(poll_fn(|cx| server.poll_next(cx))).await.is_none());
                heard
            };
            let (sent, heard) = tokio::join!(client.send(ping.clone()), heard);
            sent.unwrap();
            assert!(heard.unwrap().unwrap() == *ping);
        }
        assert!(server.0.get_ref().is_owed_more);
        let text = "a".repeat(LONG);
        let told = async {
            server.tell(Texts::of(&[&text])).await.unwrap();
            assert!(!server.0.get_ref().is_owed_more);
            server.send(Message::Ping(vec![9].into())).await.unwrap();
            server.tell(Texts::of(&[&text])).await.unwrap();
        };
        let heard = async {
            let mut all = Vec::new();
            while all.iter().filter(|heard: &&Message| heard.is_text()).count() < 2 {
                all.push(client.next().await.unwrap().unwrap());
            }
            all
        };
        let ((), heard) = tokio::join!(told, heard);
        let mut all: Vec<Message> = (0..5).map(|number| Message::Pong(vec![number; 100].into())).collect();
        all.extend([Message::Text(text.clone().into()), Message::Ping(vec![9].into()), Message::Text(text.into())]);
        assert!(heard == all);
    }
}
