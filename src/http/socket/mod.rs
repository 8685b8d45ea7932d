//! GraphQL over WebSocket (<https://github.com/graphql/graphql-over-http/blob/main/rfcs/GraphQLOverWebSocket.md>,
//! the sub-protocol `graphql-transport-ws`).
//!
//! One task a socket. What it waits for besides its client are its operations, the end of its token, and the end of
//! the server.

mod bell;
mod client;
mod close;
mod handshake;
mod message;
mod operations;
mod wire;

use std::future::poll_fn;
use std::mem::take;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_graphql::Request;
use async_graphql::parser::types::OperationType;
use axum::extract::Request as HttpRequest;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::future::poll_immediate;
use futures_util::stream::{StreamExt, once};
use tokio::time::{Instant, Sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, WebSocketConfig};
use tracing::{Instrument, Span};

use super::answer::{JSON, described, refusal};
use super::caller::{Shown, by_socket, origin};
use super::serve::Line;
use super::server::Server;
use super::session::{Place, left};
use super::{cors, observe};
use crate::domain::live::without_news;
use crate::error::{Error, Result};
use crate::graphql::{Allowance, Answer, Bucket};
use crate::model::actor::Origin;
use bell::Bell;
use client::{Client, admit, check};
use close::{Close, Ending, end};
use message::{Id, Output, Received, complete, error, next};
use operations::Operations;
use wire::{Texts, Wire};

/// The most bytes of a message from a client. One of up to twice as many is told so, a longer one is not even read.
const MESSAGE_BYTES: usize = 64 * 1024;

/// A message counts one towards the rate for each of these that it begins.
const KIB: u64 = 1024;

/// The most bytes that a close frame holds besides its code (RFC 6455 §5.5).
const REASON_BYTES: usize = 123;

/// What is read from a client at once. Each socket keeps as much; what clients send is seldom longer.
const READ_BYTES: usize = 1024;

/// About as much is written to a client at once.
const WRITE_BYTES: usize = 16 * 1024;

/// How long a client may take to begin.
const INIT_WITHIN: Duration = Duration::from_secs(10);

/// How long a client may take to accept a message.
const WRITE_WITHIN: Duration = Duration::from_secs(30);

/// A client of whom nothing is heard for this long is pinged, and after as long again given up.
const PING_AFTER: Duration = Duration::from_secs(25);

/// The most operations of a socket at the same time.
const OPERATIONS: usize = 32;

/// Switches to the protocol, if that is what the client asks for.
pub fn upgrade(server: Server, line: Option<Arc<Line>>, request: &mut HttpRequest) -> Response {
    let (upgrade, answer) = match handshake::shake(request) {
        Ok(shaken) => shaken,
        Err(refusal) => return *refusal,
    };
    let headers = request.headers();
    if !cors::origin_allowed(&server.app.config, headers) {
        return (StatusCode::FORBIDDEN, "pages of this origin may not open sockets here\n").into_response();
    }
    // Whoever has not shown a token yet takes up as much as anybody else.
    let place = match server.sessions.place_of_newcomer() {
        Ok(place) => place,
        Err(error) => return refusal(JSON, StatusCode::SERVICE_UNAVAILABLE, &error),
    };
    let shown = by_socket(&server, headers);
    let origin = origin(&server, line.as_deref(), headers);
    // The session goes by the id of the request that began it.
    let span = observe::span(headers);
    let config = WebSocketConfig::default()
        .max_message_size(Some(2 * MESSAGE_BYTES))
        .max_frame_size(Some(2 * MESSAGE_BYTES))
        .read_buffer_size(READ_BYTES);
    tokio::spawn(async move {
        // Where it does not become one, the client has gone.
        if let Ok(upgraded) = upgrade.await {
            let wire = Wire::new(upgraded, config).await;
            Connection::new(server, wire, (line, origin), (place, span)).serve(shown).await;
        }
    });
    answer
}

struct Connection {
    server: Server,
    wire: Wire,
    /// Counts what is read; there is none where no network is.
    line: Option<Arc<Line>>,
    /// From what kind of address it comes.
    origin: Origin,
    operations: Operations,
    /// For whatever is not to be told.
    bell: Bell,
    /// Until somebody shows a token, whose session it then is.
    place: Option<Place>,
    client: Option<Client>,
    heard_at: Instant,
    is_pinged: bool,
    /// Messages that the client may still send.
    messages: Bucket,
    /// What is logged of what a client says stands in it. What is only told to them is not, so that nobody enters it for that.
    span: Span,
}

/// What happens to a connection.
enum Next {
    /// The rest of what they are told is still to be written.
    Late(Texts),
    /// A message of the client.
    Heard(Message),
    /// The client.
    Gone,
    /// It has waited as long as it may, for what it knows itself.
    Woken,
    Stopped,
}

/// What was told of what there was to be told.
enum Told {
    /// The operations wake the task when there is more.
    All,
    Part,
    /// All of this, but for what there was no room for.
    Late(Texts),
    /// Nothing, for the client has gone.
    Nothing,
}

impl Connection {
    fn new(
        server: Server,
        wire: Wire,
        (line, origin): (Option<Arc<Line>>, Origin),
        (place, span): (Place, Span),
    ) -> Self {
        if let Some(line) = &line {
            line.upgraded();
        }
        let messages = Bucket::full(Allowance::a_minute(server.app.config.limits.socket_rate), server.app.now());
        let (operations, heard_at) = (Operations::default(), Instant::now());
        Self {
            server,
            wire,
            line,
            origin,
            operations,
            bell: Bell::new(),
            place: Some(place),
            client: None,
            heard_at,
            is_pinged: false,
            messages,
            span,
        }
    }

    /// From the upgrade to the close. What was shown with the upgrade counts where the init has no token.
    async fn serve(mut self, shown: Shown) {
        let began_at = Instant::now();
        let ending = self.converse(shown).await;
        let code = ending.as_ref().map(|(code, _)| *code as u16);
        let seconds = began_at.elapsed().as_secs();
        tracing::debug!(target: "tidings::request", parent: &self.span, code, seconds, "session ended");
        // Whatever they are at is over: nothing is to wait for the client.
        self.operations = Operations::default();
        if let Some((code, reason)) = ending {
            let reason = &reason[..reason.floor_char_boundary(REASON_BYTES)];
            let frame = CloseFrame { code: (code as u16).into(), reason: reason.into() };
            let _ = timeout(WRITE_WITHIN, self.wire.send(Message::Close(Some(frame)))).await;
        }
    }

    async fn converse(&mut self, shown: Shown) -> Ending {
        let begin_by = Instant::now() + INIT_WITHIN;
        let sessions = self.server.sessions.clone();
        let stopped = sessions.stopped();
        let wake = sleep_until(begin_by);
        tokio::pin!(stopped, wake);
        let mut hears_first = false;
        loop {
            let until = self.limit(begin_by).min(self.patience());
            if wake.deadline() != until {
                wake.as_mut().reset(until);
                self.bell.ring();
            }
            let next = self.next(hears_first, wake.as_mut(), stopped.as_mut()).await;
            hears_first = matches!(next, Next::Late(_));
            let outcome = match next {
                Next::Late(texts) => in_time(&mut self.operations, self.wire.tell(texts)).await,
                // Boxed, so that a socket at rest does not keep room for it.
                Next::Heard(message) => {
                    let span = self.span.clone();
                    Box::pin(self.hear(message, &shown)).instrument(span).await
                }
                Next::Gone => Err(None),
                Next::Woken => match self.client {
                    _ if self.limit(begin_by) > Instant::now() => self.ping().await,
                    None => end(Close::InitTimeout, "connection_init did not come within 10 seconds"),
                    Some(_) => end(Close::Forbidden, "the token has expired"),
                },
                Next::Stopped => end(Close::ServiceRestart, "the server is restarting"),
            };
            if let Err(ending) = outcome {
                return ending;
            }
        }
    }

    /// How long it may go on as it is.
    fn limit(&self, begin_by: Instant) -> Instant {
        self.client.as_ref().map_or(begin_by, |client| client.expires_at)
    }

    /// How long the client may be silent.
    fn patience(&self) -> Instant {
        self.heard_at + if self.is_pinged { 2 * PING_AFTER } else { PING_AFTER }
    }

    /// Tells the client what there is to be told, until something else comes. Mostly nothing else does, and all of it is done on the stack:
    /// what is kept of the socket meanwhile would be fetched from memory. Who has more to be told than is written at once is heard in
    /// between; so is, if `hears_first`, who has just taken what they were told.
    async fn next(
        &mut self,
        mut hears_first: bool,
        mut wake: Pin<&mut Sleep>,
        mut stopped: Pin<&mut impl Future<Output = ()>>,
    ) -> Next {
        poll_fn(|cx| {
            loop {
                let told = if take(&mut hears_first) { Told::Part } else { self.tell_all(cx) };
                let has_more = match told {
                    Told::All => false,
                    Told::Part => true,
                    Told::Late(texts) => return Poll::Ready(Next::Late(texts)),
                    Told::Nothing => return Poll::Ready(Next::Gone),
                };
                let elsewhere = self.bell.poll(cx, |cx| {
                    if wake.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(Next::Woken);
                    }
                    if stopped.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(Next::Stopped);
                    }
                    self.wire.poll_next(cx).map(|heard| heard.and_then(Result::ok).map_or(Next::Gone, Next::Heard))
                });
                if elsewhere.is_ready() || !has_more {
                    return elsewhere;
                }
            }
        })
        .await
    }

    async fn hear(&mut self, message: Message, shown: &Shown) -> Result<(), Ending> {
        self.heard_at = Instant::now();
        self.is_pinged = false;
        let rate = Allowance::a_minute(self.server.app.config.limits.socket_rate);
        // Of what comes in fragments, frames are as many as one likes: what a message took on the wire counts, too.
        let bytes = self.line.as_ref().map_or(0, |line| line.heard());
        let count = i64::try_from(bytes.div_ceil(KIB)).unwrap_or(i64::MAX).max(1);
        if rate.many > 0 && self.messages.take(rate, count, self.server.app.now()) > 0 {
            return end(Close::TooMany, "too many messages a minute");
        }
        let text = match message {
            Message::Text(text) if text.len() > MESSAGE_BYTES => {
                return end(Close::TooBig, "a message has at most 64 KiB");
            }
            Message::Text(text) => text,
            Message::Binary(_) => return end(Close::BadRequest, "messages are text"),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Ok(()),
            Message::Close(_) => {
                // Which was answered, but for the writing.
                let _ = in_time(&mut self.operations, self.wire.flush()).await;
                return Err(None);
            }
        };
        match message::parse(&text).map_err(|why| Some((Close::BadRequest, why)))? {
            Received::Init(payload) => {
                let Some(place) = self.place.take() else {
                    return end(Close::TooMany, "too many initialisation requests");
                };
                let shown = payload.token().map_or_else(|| shown.clone(), Shown::Token);
                let mut client = admit(&self.server, place, shown).await?;
                client.viewer.origin = self.origin;
                self.client = Some(client);
                self.send(message::ACK).await
            }
            Received::Ping(payload) => {
                if let Some(token) = payload.token() {
                    self.renew(token).await?;
                }
                self.send(message::PONG).await
            }
            Received::Pong => Ok(()),
            Received::Subscribe { id, request } => self.begin(&id, *request).await,
            Received::Complete { id } => {
                self.operations.remove(&Id::of(&id));
                Ok(())
            }
        }
    }

    /// A client that shows a newer token of its user may stay longer.
    async fn renew(&mut self, token: String) -> Result<(), Ending> {
        let (viewer, claims) = check(&self.server, Shown::Token(token)).await?;
        let expires_at = Instant::now() + left(&self.server.app, &claims);
        let Some(client) = &mut self.client else { return end(Close::Unauthorized, "send connection_init first") };
        let own = &client.viewer;
        if own.who() != viewer.who() {
            return end(Close::Forbidden, "the token is somebody else's");
        }
        client.expires_at = expires_at;
        Ok(())
    }

    async fn begin(&mut self, name: &str, request: Request) -> Result<(), Ending> {
        let Some(client) = &mut self.client else { return end(Close::Unauthorized, "send connection_init first") };
        let id = Id::of(name);
        if self.operations.has(&id) {
            return end(Close::SubscriberExists, &format!("Subscriber for {name} already exists"));
        }
        if self.operations.len() >= OPERATIONS {
            let refusal = Error::Unavailable(format!("at most {OPERATIONS} operations of a socket at the same time"));
            return self.send(&error(&id, &[described(&refusal)])).await;
        }
        let viewer = match client.viewer.renewed(&self.server.app).await {
            Ok(viewer) => viewer,
            Err(refusal) => return self.send(&error(&id, &[described(&refusal)])).await,
        };
        client.viewer = viewer.clone();
        if let Err(refusal) = self.server.schema.knock(Some(&viewer)).await {
            return self.send(&error(&id, &refusal.errors)).await;
        }
        let admitted = match self.server.schema.admit(Some(&viewer), request).await {
            Ok(admitted) => admitted,
            Err(refusal) => return self.send(&error(&id, &refusal.errors)).await,
        };
        let is_subscription = admitted.operation.kind == OperationType::Subscription;
        let answers = self.server.schema.stream(viewer, admitted);
        let outputs = answers.map(move |answer| Output::of(answer, is_subscription)).chain(once(async { Output::End }));
        self.operations.insert(id, outputs.boxed());
        Ok(())
    }

    /// Tells what there is to be told, in one write to the network.
    fn tell_all(&mut self, cx: &mut Context<'_>) -> Told {
        let (mut texts, mut told) = (Texts::default(), Told::All);
        while let Poll::Ready((id, output)) = self.operations.poll_next(cx) {
            self.tell(&mut texts, &id, output);
            if texts.bytes() >= WRITE_BYTES {
                told = Told::Part;
                break;
            }
        }
        if texts.bytes() == 0 {
            return told;
        }
        match self.wire.poll_tell(cx, &mut texts) {
            Poll::Ready(Ok(())) => told,
            Poll::Ready(Err(_)) => Told::Nothing,
            Poll::Pending => Told::Late(texts),
        }
    }

    /// Adds what an operation gives to what is told.
    fn tell(&mut self, texts: &mut Texts, id: &Id, output: Output) {
        match output {
            Output::Failed(errors) => {
                self.operations.remove(id);
                texts.push(&[&error(id, &errors)]);
            }
            Output::Next(Answer::Common(answer)) => texts.push(&next(id, &answer)),
            Output::Next(answer) => texts.push(&next(id, &answer.into_text())),
            Output::End => {
                self.operations.remove(id);
                texts.push(&[&complete(id)]);
            }
        }
    }

    async fn ping(&mut self) -> Result<(), Ending> {
        if self.is_pinged {
            return Err(None);
        }
        self.is_pinged = true;
        in_time(&mut self.operations, self.wire.send(Message::Ping(Vec::new().into()))).await
    }

    async fn send(&mut self, text: impl AsRef<[u8]>) -> Result<(), Ending> {
        let texts = Texts::of(&[&text]);
        in_time(&mut self.operations, self.wire.tell(texts)).await
    }
}

/// Writes, for as long as that may take. Meanwhile each operation goes on with what it is at: it may be in a transaction, in whose way nobody is
/// to be because a client takes nothing. Operations are to be polled after that, for what has come meanwhile wakes nobody.
async fn in_time<E>(operations: &mut Operations, writing: impl Future<Output = Result<(), E>>) -> Result<(), Ending> {
    let mut writing = pin!(writing);
    // There is mostly room for it, and so no need of a timer.
    if let Some(written) = poll_immediate(writing.as_mut()).await {
        return written.map_err(|_| None);
    }
    let written = poll_fn(|cx| {
        without_news(|| operations.go_on(cx));
        writing.as_mut().poll(cx)
    });
    timeout(WRITE_WITHIN, written).await.map_err(|_| None)?.map_err(|_| None)
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn operations_go_on_to_their_next_output_while_their_client_takes_nothing() {
        let (mut operations, (sender, taken)) = (Operations::default(), oneshot::channel());
        let transaction = async move {
            yield_now().await;
            let _ = sender.send(());
            Output::Failed(Vec::new())
        };
        let after = async { panic!("this is asked for once what came before it was told") };
        operations.insert(Id::of("a"), once(transaction).chain(once(after)).boxed());
        assert!(in_time(&mut operations, taken).await.is_ok(), "nobody went on");
        let (id, output) = poll_fn(|cx| operations.poll_next(cx)).await;
        assert!(id == Id::of("a") && matches!(output, Output::Failed(_)));
    }
}
