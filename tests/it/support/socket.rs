//! A WebSocket client that uses a real socket.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

/// The time limit for each step of a test.
pub const PATIENCE: Duration = Duration::from_mins(1);

pub const ITEMS: &str = "subscription($after: String, $types: [String!]) { itemReceived(after: $after, types: $types) { \
    cursor node { title type { code } } } }";
pub const OVERVIEWS: &str = "subscription { overviewChanged { overview { unread { count } types { type { code } unread { count } \
    latest { title } } cursor } } }";
pub const VIEWS: &str = "subscription($keys: [ViewKeyInput!]) { viewChanged(keys: $keys) { externalId unread { count } latest \
    lastActivityAt lastVisitedAt } }";

/// A socket that speaks `graphql-transport-ws`.
pub struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Connects without sending a message.
    pub async fn connect(address: &str) -> Self {
        Self::try_connect(address, "graphql-transport-ws").await.expect("the server takes the socket")
    }

    /// Like [`Self::connect`], but returns an error instead of panicking.
    pub async fn try_connect(address: &str, protocol: &str) -> Result<Self, String> {
        Self::upgraded(address, &[("sec-websocket-protocol", protocol)]).await
    }

    /// Connects with these request headers.
    pub async fn upgraded(address: &str, headers: &[(&'static str, &str)]) -> Result<Self, String> {
        let mut request = format!("ws://{address}/graphql").into_client_request().expect("it is a request");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("it is a header"));
        }
        // Disables Nagle's algorithm, as browsers do.
        connect_async_with_config(request, None, true)
            .await
            .map(|(socket, _)| Self(socket))
            .map_err(|error| error.to_string())
    }

    /// Connects and waits until the server has accepted the token.
    pub async fn open(address: &str, token: &str) -> Self {
        Self::try_open(address, token).await.expect("the server admits the client")
    }

    /// Like [`Self::open`], but returns an error instead of panicking.
    pub async fn try_open(address: &str, token: &str) -> Result<Self, String> {
        let mut socket = Self::try_connect(address, "graphql-transport-ws").await?;
        let payload = json!({ "authorization": format!("Bearer {token}") });
        socket.say(json!({ "type": "connection_init", "payload": payload })).await;
        match socket.try_hear().await {
            Some(answer) if answer == json!({ "type": "connection_ack" }) => Ok(socket),
            answer => Err(format!("{answer:?}")),
        }
    }

    /// Opens a socket with one subscription, called `1`.
    pub async fn subscribed(address: &str, token: &str, query: &str, variables: Value) -> Self {
        let mut socket = Self::open(address, token).await;
        socket.subscribe("1", query, variables).await;
        socket
    }

    /// Opens a socket that receives a user's items from now on. Uses the cursor of an overview, since a subscription
    /// takes a moment to start.
    pub async fn feed(address: &str, token: &str, variables: Value) -> Self {
        let mut socket = Self::open(address, token).await;
        socket.follow_items("1", variables).await;
        socket
    }

    /// Subscribes to the items that arrive from now on.
    pub async fn follow_items(&mut self, id: &str, mut variables: Value) {
        self.subscribe("cursor", "{ viewer { overview { cursor } } }", json!({})).await;
        variables["after"] = self.data().await["viewer"]["overview"]["cursor"].take();
        assert_eq!(self.hear().await["type"], "complete");
        self.subscribe(id, ITEMS, variables).await;
    }

    pub async fn subscribe(&mut self, id: &str, query: &str, variables: Value) {
        self.say(json!({ "type": "subscribe", "id": id, "payload": { "query": query, "variables": variables } })).await;
    }

    pub async fn say(&mut self, message: Value) {
        self.say_text(&message.to_string()).await;
    }

    pub async fn say_bytes(&mut self, bytes: &[u8]) {
        let _ = self.0.send(Message::binary(bytes.to_vec())).await;
    }

    pub async fn say_text(&mut self, text: &str) {
        // If the server has closed the socket, the next read shows it.
        let _ = self.0.send(Message::text(text)).await;
    }

    /// Sends a message in frames of `bytes` bytes. Returns whether the socket accepted them all.
    pub async fn say_in_fragments(&mut self, text: &str, bytes: usize) -> bool {
        let count = text.len().div_ceil(bytes);
        for (number, part) in text.as_bytes().chunks(bytes).enumerate() {
            let code = if number == 0 { Data::Text } else { Data::Continue };
            let frame = Frame::message(part.to_vec(), OpCode::Data(code), number + 1 == count);
            if self.0.feed(Message::Frame(frame)).await.is_err() {
                return false;
            }
        }
        self.0.flush().await.is_ok()
    }

    /// Sends empty frames of a message that never ends, until the server closes the socket.
    pub async fn say_fragments_until_closed(&mut self) {
        let mut code = Data::Text;
        loop {
            for _ in 0..1024 {
                let frame = Frame::message(Vec::new(), OpCode::Data(code), false);
                if self.0.feed(Message::Frame(frame)).await.is_err() {
                    return;
                }
                code = Data::Continue;
            }
            if self.0.flush().await.is_err() {
                return;
            }
        }
    }

    /// Returns the next message, or `None` if the connection is broken. A close frame counts as a message.
    pub async fn try_hear(&mut self) -> Option<Value> {
        let until = Instant::now() + PATIENCE;
        loop {
            match timeout_at(until, self.0.next()).await.expect("something comes in time")?.ok()? {
                Message::Text(text) => return Some(serde_json::from_str(&text).expect("messages are JSON")),
                Message::Close(frame) => {
                    let frame = frame.expect("the server says why");
                    return Some(json!({ "close": u16::from(frame.code), "reason": frame.reason.as_str() }));
                }
                _ => {}
            }
        }
    }

    /// Waits for a ping from the server. The next read of the socket sends the pong.
    pub async fn pinged(&mut self) {
        let frame = timeout(PATIENCE, self.0.next()).await.expect("something comes in time");
        assert!(matches!(frame, Some(Ok(Message::Ping(_)))), "{frame:?}");
    }

    pub async fn hear(&mut self) -> Value {
        self.try_hear().await.expect("the socket is open")
    }

    /// Returns the data of the next result.
    pub async fn data(&mut self) -> Value {
        let mut message = self.hear().await;
        assert_eq!(message["type"], "next", "{message:#}");
        assert!(message["payload"]["errors"].is_null(), "{message:#}");
        message["payload"]["data"].take()
    }

    /// Returns the title of the next item.
    pub async fn title(&mut self) -> String {
        self.data().await["itemReceived"]["node"]["title"].as_str().expect("it has a title").to_owned()
    }

    /// Returns the next changed view: its external id, its unread count and its latest text.
    pub async fn view(&mut self) -> (String, i64, String) {
        let view = self.data().await["viewChanged"].take();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (
            text(&view["externalId"]),
            view["unread"]["count"].as_i64().expect("it is a count"),
            text(&view["latest"]["text"]),
        )
    }

    /// Reads overviews until one has this many unread items, and returns it.
    pub async fn until_unread(&mut self, unread: i64) -> Value {
        loop {
            let overview = self.data().await["overviewChanged"]["overview"].take();
            if overview["unread"]["count"] == unread {
                return overview;
            }
        }
    }

    /// Whether no message arrives within `millis` milliseconds.
    pub async fn is_silent(&mut self, millis: u64) -> bool {
        timeout(Duration::from_millis(millis), self.0.next()).await.is_err()
    }

    /// Closes the socket normally.
    pub async fn close(&mut self) {
        let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        self.0.close(Some(frame)).await.expect("the socket is open");
    }

    /// Returns the code with which the server closes, and skips all messages before.
    pub async fn close_code(&mut self) -> u64 {
        loop {
            if let Some(code) = self.hear().await["close"].as_u64() {
                return code;
            }
        }
    }
}
