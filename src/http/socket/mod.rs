//! GraphQL over WebSocket (<https://github.com/graphql/graphql-over-http/blob/main/rfcs/GraphQLOverWebSocket.md>,
//! the sub-protocol `graphql-transport-ws`).
//!
//! Each WebSocket has one task. It waits for the client, for its operations, for the end of its token, and for the
//! server's shutdown.

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

use super::credentials::{RequestCredentials, client_origin, read_socket_credentials};
use super::middleware;
use super::response::{JSON, error_json, error_response};
use super::serve::ConnectionState;
use super::server::Server;
use super::session::SessionPermit;
use crate::graphql::{RateLimit, TokenBucket};
use base::error::{Error, Result};
use base::text::first_bytes;
use client::{SocketClient, admit_client, check_credentials};
use close::{CloseReason, CloseStatus, close_with};
use message::{ClientMessage, OperationId, OperationOutput, complete_message, error_message, next_message};
use model::actor::NetworkClass;
use operations::ActiveOperations;

type ServerSocket = WebSocketStream<TokioIo<Upgraded>>;

/// The most bytes of a message from a client. Up to twice as many close with a reason; a longer message is not read.
const MESSAGE_BYTES: usize = 64 * 1024;

/// Each KiB of a message, or part of one, counts as a message towards the rate.
const KIB: u64 = 1024;

/// The most bytes of the reason in a close frame (RFC 6455, section 5.5).
const REASON_BYTES: usize = 123;

/// The size of the read buffer of each WebSocket. Clients seldom send longer messages.
const READ_BYTES: usize = 1024;

/// About this much is written to a client at once.
const WRITE_BYTES: usize = 16 * 1024;

/// How long a client may take to send `connection_init`.
const INIT_WITHIN: Duration = Duration::from_secs(10);

/// How long a client may take to accept a message.
const WRITE_WITHIN: Duration = Duration::from_secs(30);

/// A client that was silent for this long is pinged, and disconnected after as long again.
const PING_AFTER: Duration = Duration::from_secs(25);

/// The most operations of a WebSocket at the same time.
const OPERATIONS: usize = 32;

/// Upgrades a request to a WebSocket, if it asks for the sub-protocol.
pub fn upgrade(server: Server, state: Option<Arc<ConnectionState>>, request: &mut HttpRequest) -> Response {
    let (upgrade, answer) = match handshake::accept_upgrade(request) {
        Ok(shaken) => shaken,
        Err(refusal) => return *refusal,
    };
    let headers = request.headers();
    if !middleware::is_origin_allowed(&server.app.config, headers) {
        return (StatusCode::FORBIDDEN, "pages of this origin may not open WebSockets here\n").into_response();
    }
    // A client without a token takes as much room as any other.
    let place = match server.sessions.reserve_newcomer() {
        Ok(place) => place,
        Err(error) => return error_response(JSON, StatusCode::SERVICE_UNAVAILABLE, &error),
    };
    let shown = read_socket_credentials(&server, headers);
    let origin = client_origin(&server, state.as_deref(), headers);
    // Log lines of the session carry the id of the request that began it.
    let span = middleware::request_span(headers);
    let config = WebSocketConfig::default()
        .max_message_size(Some(2 * MESSAGE_BYTES))
        .max_frame_size(Some(2 * MESSAGE_BYTES))
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(WRITE_BYTES);
    tokio::spawn(async move {
        // If the upgrade fails, the client is gone.
        if let Ok(upgraded) = upgrade.await {
            let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
            SocketConnection::new(server, socket, (state, origin), (place, span)).serve(shown).await;
        }
    });
    answer
}

/// A WebSocket: the state of its task.
struct SocketConnection {
    server: Server,
    socket: ServerSocket,
    /// Counts the received bytes. `None` if the server is mounted without its own listener.
    state: Option<Arc<ConnectionState>>,
    /// The class of the client's address.
    origin: NetworkClass,
    operations: ActiveOperations,
    /// The session reserved for the client, until a token shows the user.
    place: Option<SessionPermit>,
    client: Option<SocketClient>,
    heard_at: Instant,
    is_pinged: bool,
    /// The rate of the client's messages.
    messages: TokenBucket,
    /// The span of log lines about the client's messages. Events enter no span: that would cost more than they do.
    span: Span,
}

/// An event of a connection.
enum ConnectionEvent {
    Output(OperationId, OperationOutput),
    Message(Message),
    ClientLeft,
    Deadline,
    ServerStops,
}

impl SocketConnection {
    fn new(
        server: Server,
        socket: ServerSocket,
        (state, origin): (Option<Arc<ConnectionState>>, NetworkClass),
        (place, span): (SessionPermit, Span),
    ) -> Self {
        if let Some(state) = &state {
            state.set_upgraded();
        }
        let messages =
            TokenBucket::new_full(RateLimit::per_minute(server.app.config.limits.socket_rate), server.app.now());
        let (operations, heard_at) = (ActiveOperations::default(), Instant::now());
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

    /// Serves from the upgrade to the close. A token sent with the upgrade is used if the init has none.
    async fn serve(mut self, shown: RequestCredentials) {
        let began_at = Instant::now();
        let ending = self.run(shown).await;
        let code = ending.as_ref().map(|(code, _)| *code as u16);
        let seconds = began_at.elapsed().as_secs();
        tracing::debug!(target: "tidings::request", parent: &self.span, code, seconds, "session ended");
        // No operation waits for the client to take the close frame.
        self.operations = ActiveOperations::default();
        if let Some((code, reason)) = ending {
            let reason = first_bytes(&reason, REASON_BYTES);
            let frame = CloseFrame { code: (code as u16).into(), reason: reason.into() };
            let _ = timeout(WRITE_WITHIN, self.socket.send(Message::Close(Some(frame)))).await;
        }
    }

    async fn run(&mut self, shown: RequestCredentials) -> CloseReason {
        let begin_by = Instant::now() + INIT_WITHIN;
        let sessions = self.server.sessions.clone();
        let stopped = sessions.wait_for_close();
        let deadline = sleep_until(begin_by);
        tokio::pin!(stopped, deadline);
        loop {
            let until = self.credential_deadline(begin_by).min(self.ping_deadline());
            if deadline.deadline() != until {
                deadline.as_mut().reset(until);
            }
            let event = tokio::select! {
                (id, output) = self.operations.next_output() => ConnectionEvent::Output(id, output),
                message = self.socket.next() => message.and_then(Result::ok).map_or(ConnectionEvent::ClientLeft, ConnectionEvent::Message),
                () = deadline.as_mut() => ConnectionEvent::Deadline,
                () = stopped.as_mut() => ConnectionEvent::ServerStops,
            };
            let outcome = match event {
                ConnectionEvent::Output(id, output) => self.send_outputs(id, output).await,
                // Boxed, so that an idle WebSocket needs no memory for it.
                ConnectionEvent::Message(message) => {
                    let span = self.span.clone();
                    Box::pin(self.on_message(message, &shown)).instrument(span).await
                }
                ConnectionEvent::ClientLeft => Err(None),
                ConnectionEvent::Deadline => match self.client {
                    _ if self.credential_deadline(begin_by) > Instant::now() => self.send_ping().await,
                    None => close_with(CloseStatus::InitTimeout, "connection_init did not come within 10 seconds"),
                    // Boxed as well.
                    Some(_) => Box::pin(self.recheck_credential()).await,
                },
                ConnectionEvent::ServerStops => close_with(CloseStatus::ServiceRestart, "the server is restarting"),
            };
            if let Err(ending) = outcome {
                return ending;
            }
        }
    }

    /// When the connection ends or its credential must be checked.
    fn credential_deadline(&self, begin_by: Instant) -> Instant {
        self.client.as_ref().map_or(begin_by, |client| client.expires_at)
    }

    /// When the client must be pinged, or disconnected if it was pinged already.
    fn ping_deadline(&self) -> Instant {
        self.heard_at + if self.is_pinged { 2 * PING_AFTER } else { PING_AFTER }
    }

    async fn on_message(&mut self, message: Message, shown: &RequestCredentials) -> Result<(), CloseReason> {
        self.heard_at = Instant::now();
        self.is_pinged = false;
        let rate = RateLimit::per_minute(self.server.app.config.limits.socket_rate);
        // A client may send any number of fragments in a message, so the bytes of all its frames count.
        let bytes = self.state.as_ref().map_or(0, |state| state.take_received_bytes());
        let count = i64::try_from(bytes.div_ceil(KIB)).unwrap_or(i64::MAX).max(1);
        if rate.many > 0 && self.messages.try_take(rate, count, self.server.app.now()) > 0 {
            return close_with(CloseStatus::TooMany, "too many messages a minute");
        }
        let text = match message {
            Message::Text(text) if text.len() > MESSAGE_BYTES => {
                return close_with(CloseStatus::TooBig, "a message must have at most 64 KiB");
            }
            Message::Text(text) => text,
            Message::Binary(_) => return close_with(CloseStatus::BadRequest, "messages must be text"),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Ok(()),
            Message::Close(_) => {
                // The library has queued the answer; this writes it.
                let _ = write_in_time(&mut self.operations, self.socket.flush()).await;
                return Err(None);
            }
        };
        match message::parse_message(&text).map_err(|why| Some((CloseStatus::BadRequest, why)))? {
            ClientMessage::Init(payload) => {
                let Some(place) = self.place.take() else {
                    return close_with(CloseStatus::TooMany, "too many initialisation requests");
                };
                let shown = payload.find_token().map_or_else(|| shown.clone(), RequestCredentials::Token);
                let mut client = admit_client(&self.server, place, shown).await?;
                client.viewer.origin = self.origin;
                self.client = Some(client);
                self.send_text(message::ACK).await
            }
            ClientMessage::Ping(payload) => {
                if let Some(token) = payload.find_token() {
                    self.renew_token(token).await?;
                }
                self.send_text(message::PONG).await
            }
            ClientMessage::Pong => Ok(()),
            ClientMessage::Subscribe { id, request } => self.begin_operation(&id, request).await,
            ClientMessage::Complete { id } => {
                self.operations.remove(&OperationId::from_client(&id));
                Ok(())
            }
        }
    }

    /// Checks the credential again. A sign-in session that is still valid goes on.
    async fn recheck_credential(&mut self) -> Result<(), CloseReason> {
        match &mut self.client {
            Some(client) if client.pass.is_still_valid(&self.server.app).await => {
                client.set_credential(&self.server.app, client.pass.clone());
                Ok(())
            }
            Some(client) => close_with(CloseStatus::Forbidden, client.pass.end_reason()),
            None => Ok(()),
        }
    }

    /// Extends the connection with a newer token of the same user.
    async fn renew_token(&mut self, token: String) -> Result<(), CloseReason> {
        let (viewer, pass) = check_credentials(&self.server, RequestCredentials::Token(token)).await?;
        let Some(client) = &mut self.client else {
            return close_with(CloseStatus::Unauthorized, "send connection_init first");
        };
        let own = &client.viewer;
        if own.identity() != viewer.identity() {
            return close_with(CloseStatus::Forbidden, "the token belongs to another user");
        }
        client.set_credential(&self.server.app, pass);
        Ok(())
    }

    async fn begin_operation(&mut self, name: &str, request: Result<Box<Request>, Error>) -> Result<(), CloseReason> {
        let Some(client) = &mut self.client else {
            return close_with(CloseStatus::Unauthorized, "send connection_init first");
        };
        let id = OperationId::from_client(name);
        if self.operations.contains(&id) {
            return close_with(CloseStatus::SubscriberExists, &format!("Subscriber for {name} already exists"));
        }
        if self.operations.len() >= OPERATIONS {
            let refusal =
                Error::Unavailable(format!("a socket can have at most {OPERATIONS} operations at the same time"));
            return self.send_text(error_message(&id, &[error_json(&refusal)])).await;
        }
        let viewer = match client.viewer.refresh_tenant(&self.server.app).await {
            Ok(viewer) => viewer,
            Err(refusal) => return self.send_text(error_message(&id, &[error_json(&refusal)])).await,
        };
        client.viewer = viewer.clone();
        if let Err(refusal) = self.server.schema.charge(&viewer).await {
            return self.send_text(error_message(&id, &refusal.errors)).await;
        }
        let request = match request {
            Ok(request) => *request,
            Err(refusal) => return self.send_text(error_message(&id, &[error_json(&refusal)])).await,
        };
        let admitted = match self.server.schema.admit(Some(&viewer), request).await {
            Ok(admitted) => admitted,
            Err(refusal) => return self.send_text(error_message(&id, &refusal.errors)).await,
        };
        let is_subscription = admitted.operation.kind == OperationType::Subscription;
        let answers = self.server.schema.stream(viewer, admitted);
        let outputs = answers
            .map(move |answer| OperationOutput::from_response(answer, is_subscription))
            .chain(once(async { OperationOutput::End }));
        self.operations.insert(id, outputs.boxed());
        Ok(())
    }

    /// Sends an output together with other outputs that are ready, up to about 16 KiB in one write.
    async fn send_outputs(&mut self, id: OperationId, output: OperationOutput) -> Result<(), CloseReason> {
        let mut texts = vec![self.output_text(&id, output)];
        let mut bytes = texts[0].len();
        while bytes < WRITE_BYTES {
            let Some((id, output)) = self.operations.next_output().now_or_never() else { break };
            let text = self.output_text(&id, output);
            bytes += text.len();
            texts.push(text);
        }
        self.send_all(texts).await
    }

    /// The message for an output. Removes an operation that has ended.
    fn output_text(&mut self, id: &OperationId, output: OperationOutput) -> String {
        match output {
            OperationOutput::Next(answer) => next_message(id, answer),
            OperationOutput::Failed(errors) => {
                self.operations.remove(id);
                error_message(id, &errors)
            }
            OperationOutput::End => {
                self.operations.remove(id);
                complete_message(id)
            }
        }
    }

    async fn send_ping(&mut self) -> Result<(), CloseReason> {
        if self.is_pinged {
            return Err(None);
        }
        self.is_pinged = true;
        write_in_time(&mut self.operations, self.socket.send(Message::Ping(Vec::new().into()))).await
    }

    async fn send_text(&mut self, text: impl Into<String>) -> Result<(), CloseReason> {
        self.send_all(vec![text.into()]).await
    }

    async fn send_all(&mut self, texts: Vec<String>) -> Result<(), CloseReason> {
        let Self { socket, operations, .. } = self;
        let sending = async {
            for text in texts {
                socket.feed(Message::Text(text.into())).await?;
            }
            socket.flush().await
        };
        write_in_time(operations, sending).await
    }
}

/// Writes, for 30 s at most. Meanwhile each operation proceeds to its next output: it may be in a transaction, and
/// other requests must not wait because a client reads nothing.
async fn write_in_time<E>(
    operations: &mut ActiveOperations,
    writing: impl Future<Output = Result<(), E>>,
) -> Result<(), CloseReason> {
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
        let (mut operations, (sender, taken)) = (ActiveOperations::default(), oneshot::channel());
        let transaction = async move {
            yield_now().await;
            let _ = sender.send(());
            OperationOutput::Failed(Vec::new())
        };
        let after = async { panic!("the next value is polled only after this one was sent") };
        operations.insert(OperationId::from_client("a"), once(transaction).chain(once(after)).boxed());
        assert!(write_in_time(&mut operations, taken).await.is_ok(), "the operation did not go on");
        let (id, output) = operations.next_output().await;
        assert!(id == OperationId::from_client("a") && matches!(output, OperationOutput::Failed(_)));
    }
}
