//! GraphQL over WebSocket (<https://github.com/graphql/graphql-over-http/blob/main/rfcs/GraphQLOverWebSocket.md>,
//! the sub-protocol `graphql-transport-ws`).
//!
//! One task a socket. What it waits for besides its client are its operations, the end of its token, and the end of
//! the server.

mod client;
mod close;
mod handshake;
mod message;
mod operations;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_graphql::Request;
use async_graphql::parser::types::OperationType;
use axum::extract::Request as HttpRequest;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::future::{FutureExt, poll_immediate};
use futures_util::sink::SinkExt;
use futures_util::stream::{StreamExt, once};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};
use tracing::{Instrument, Span};

use super::answer::{JSON, described, refusal};
use super::caller::{Shown, by_socket, origin};
use super::serve::ConnectionState;
use super::server::Server;
use super::session::Place;
use super::{cors, observe};
use crate::error::{Error, Result};
use crate::graphql::{Allowance, Bucket};
use crate::model::actor::Origin;
use crate::text::first_bytes;
use client::{Client, admit, check};
use close::{Close, Ending, end};
use message::{Id, Output, Received, complete, error, next};
use operations::Operations;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

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
pub fn upgrade(server: Server, state: Option<Arc<ConnectionState>>, request: &mut HttpRequest) -> Response {
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
    let origin = origin(&server, state.as_deref(), headers);
    // The session goes by the id of the request that began it.
    let span = observe::span(headers);
    let config = WebSocketConfig::default()
        .max_message_size(Some(2 * MESSAGE_BYTES))
        .max_frame_size(Some(2 * MESSAGE_BYTES))
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES);
    tokio::spawn(async move {
        // Where it does not become one, the client has gone.
        if let Ok(upgraded) = upgrade.await {
            let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
            Connection::new(server, socket, (state, origin), (place, span)).serve(shown).await;
        }
    });
    answer
}

/// A socket: what its one task knows.
struct Connection {
    server: Server,
    socket: Socket,
    /// Counts the bytes that come. `None` if the server is mounted without its own listener.
    state: Option<Arc<ConnectionState>>,
    /// From what kind of address it comes.
    origin: Origin,
    operations: Operations,
    /// The socket's place among the sessions, until a token decides whose it is.
    place: Option<Place>,
    client: Option<Client>,
    heard_at: Instant,
    is_pinged: bool,
    /// Messages that the client may still send.
    messages: Bucket,
    /// What is logged about the client's messages belongs to this span. Events enter no span, because entering costs more than they do.
    span: Span,
}

/// What happens to a connection.
enum Event {
    Output(Id, Output),
    Message(Message),
    ClientLeft,
    Deadline,
    ServerStops,
}

impl Connection {
    fn new(
        server: Server,
        socket: Socket,
        (state, origin): (Option<Arc<ConnectionState>>, Origin),
        (place, span): (Place, Span),
    ) -> Self {
        if let Some(state) = &state {
            state.set_upgraded();
        }
        let messages = Bucket::full(Allowance::a_minute(server.app.config.limits.socket_rate), server.app.now());
        let (operations, heard_at) = (Operations::default(), Instant::now());
        Self {
            server,
            socket,
            state,
            origin,
            operations,
            place: Some(place),
            client: None,
            heard_at,
            is_pinged: false,
            messages,
            span,
        }
    }

    /// From the upgrade to the close. A token shown with the upgrade counts if the init has none.
    async fn serve(mut self, shown: Shown) {
        let began_at = Instant::now();
        let ending = self.run(shown).await;
        let code = ending.as_ref().map(|(code, _)| *code as u16);
        let seconds = began_at.elapsed().as_secs();
        tracing::debug!(target: "tidings::request", parent: &self.span, code, seconds, "session ended");
        // No operation waits for the client to take the close frame.
        self.operations = Operations::default();
        if let Some((code, reason)) = ending {
            let reason = first_bytes(&reason, REASON_BYTES);
            let frame = CloseFrame { code: (code as u16).into(), reason: reason.into() };
            let _ = timeout(WRITE_WITHIN, self.socket.send(Message::Close(Some(frame)))).await;
        }
    }

    async fn run(&mut self, shown: Shown) -> Ending {
        let begin_by = Instant::now() + INIT_WITHIN;
        let sessions = self.server.sessions.clone();
        let stopped = sessions.stopped();
        let deadline = sleep_until(begin_by);
        tokio::pin!(stopped, deadline);
        loop {
            let until = self.limit(begin_by).min(self.patience());
            if deadline.deadline() != until {
                deadline.as_mut().reset(until);
            }
            let event = tokio::select! {
                (id, output) = self.operations.next() => Event::Output(id, output),
                message = self.socket.next() => message.and_then(Result::ok).map_or(Event::ClientLeft, Event::Message),
                () = deadline.as_mut() => Event::Deadline,
                () = stopped.as_mut() => Event::ServerStops,
            };
            let outcome = match event {
                Event::Output(id, output) => self.deliver(id, output).await,
                // Boxed, so that a resting socket keeps no room for it.
                Event::Message(message) => {
                    let span = self.span.clone();
                    Box::pin(self.hear(message, &shown)).instrument(span).await
                }
                Event::ClientLeft => Err(None),
                Event::Deadline => match self.client {
                    _ if self.limit(begin_by) > Instant::now() => self.ping().await,
                    None => end(Close::InitTimeout, "connection_init did not come within 10 seconds"),
                    // Boxed as well.
                    Some(_) => Box::pin(self.look_again()).await,
                },
                Event::ServerStops => end(Close::ServiceRestart, "the server is restarting"),
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

    async fn hear(&mut self, message: Message, shown: &Shown) -> Result<(), Ending> {
        self.heard_at = Instant::now();
        self.is_pinged = false;
        let rate = Allowance::a_minute(self.server.app.config.limits.socket_rate);
        // Of what comes in fragments, frames are as many as one likes: what a message took on the wire counts, too.
        let bytes = self.state.as_ref().map_or(0, |state| state.take_heard_bytes());
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
                let _ = in_time(&mut self.operations, self.socket.flush()).await;
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
            Received::Subscribe { id, request } => self.begin(&id, request).await,
            Received::Complete { id } => {
                self.operations.remove(&Id::of(&id));
                Ok(())
            }
        }
    }

    /// A client whose time is up stays where that was the time until another look.
    async fn look_again(&mut self) -> Result<(), Ending> {
        match &mut self.client {
            Some(client) if client.pass.counts(&self.server.app).await => {
                client.stay(&self.server.app, client.pass.clone());
                Ok(())
            }
            Some(client) => end(Close::Forbidden, client.pass.ended()),
            None => Ok(()),
        }
    }

    /// A client that shows a newer token of its user may stay longer.
    async fn renew(&mut self, token: String) -> Result<(), Ending> {
        let (viewer, pass) = check(&self.server, Shown::Token(token)).await?;
        let Some(client) = &mut self.client else { return end(Close::Unauthorized, "send connection_init first") };
        let own = &client.viewer;
        if own.who() != viewer.who() {
            return end(Close::Forbidden, "the token is somebody else's");
        }
        client.stay(&self.server.app, pass);
        Ok(())
    }

    async fn begin(&mut self, name: &str, request: Result<Box<Request>, Error>) -> Result<(), Ending> {
        let Some(client) = &mut self.client else { return end(Close::Unauthorized, "send connection_init first") };
        let id = Id::of(name);
        if self.operations.has(&id) {
            return end(Close::SubscriberExists, &format!("Subscriber for {name} already exists"));
        }
        if self.operations.len() >= OPERATIONS {
            let refusal = Error::Unavailable(format!("at most {OPERATIONS} operations of a socket at the same time"));
            return self.send(error(&id, &[described(&refusal)])).await;
        }
        let viewer = match client.viewer.renewed(&self.server.app).await {
            Ok(viewer) => viewer,
            Err(refusal) => return self.send(error(&id, &[described(&refusal)])).await,
        };
        client.viewer = viewer.clone();
        if let Err(refusal) = self.server.schema.knock(&viewer).await {
            return self.send(error(&id, &refusal.errors)).await;
        }
        let request = match request {
            Ok(request) => *request,
            Err(refusal) => return self.send(error(&id, &[described(&refusal)])).await,
        };
        let admitted = match self.server.schema.admit(Some(&viewer), request).await {
            Ok(admitted) => admitted,
            Err(refusal) => return self.send(error(&id, &refusal.errors)).await,
        };
        let is_subscription = admitted.operation.kind == OperationType::Subscription;
        let answers = self.server.schema.stream(viewer, admitted);
        let outputs = answers.map(move |answer| Output::of(answer, is_subscription)).chain(once(async { Output::End }));
        self.operations.insert(id, outputs.boxed());
        Ok(())
    }

    /// Sends an output, and with it in one write the others that are there, up to about 16 KiB.
    async fn deliver(&mut self, id: Id, output: Output) -> Result<(), Ending> {
        let mut texts = vec![self.text_of(&id, output)];
        let mut bytes = texts[0].len();
        while bytes < WRITE_BYTES {
            let Some((id, output)) = self.operations.next().now_or_never() else { break };
            let text = self.text_of(&id, output);
            bytes += text.len();
            texts.push(text);
        }
        self.send_all(texts).await
    }

    /// The message for an output. An operation that has ended is removed.
    fn text_of(&mut self, id: &Id, output: Output) -> String {
        match output {
            Output::Next(answer) => next(id, answer),
            Output::Failed(errors) => {
                self.operations.remove(id);
                error(id, &errors)
            }
            Output::End => {
                self.operations.remove(id);
                complete(id)
            }
        }
    }

    async fn ping(&mut self) -> Result<(), Ending> {
        if self.is_pinged {
            return Err(None);
        }
        self.is_pinged = true;
        in_time(&mut self.operations, self.socket.send(Message::Ping(Vec::new().into()))).await
    }

    async fn send(&mut self, text: impl Into<String>) -> Result<(), Ending> {
        self.send_all(vec![text.into()]).await
    }

    async fn send_all(&mut self, texts: Vec<String>) -> Result<(), Ending> {
        let Self { socket, operations, .. } = self;
        let sending = async {
            for text in texts {
                socket.feed(Message::Text(text.into())).await?;
            }
            socket.flush().await
        };
        in_time(operations, sending).await
    }
}

/// Writes, for 30 s at most. Meanwhile each operation goes on to its next output: it may be in a transaction, and other requests must not
/// wait because a client takes nothing.
async fn in_time<E>(operations: &mut Operations, writing: impl Future<Output = Result<(), E>>) -> Result<(), Ending> {
    let mut writing = pin!(writing);
    // Mostly there is room, and no timer is needed.
    if let Some(written) = poll_immediate(writing.as_mut()).await {
        return written.map_err(|_| None);
    }
    let written = poll_fn(|cx| {
        operations.poll_progress(cx);
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
        assert!(in_time(&mut operations, taken).await.is_ok(), "the operation did not go on");
        let (id, output) = operations.next().await;
        assert!(id == Id::of("a") && matches!(output, Output::Failed(_)));
    }
}
