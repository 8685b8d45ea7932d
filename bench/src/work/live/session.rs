//! A user's socket, with minimal buffers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use auth::CallerRole;
use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::board::Board;
use super::listener;
use crate::Result;
use crate::server::token;

const OVERVIEW: &str = "subscription { overviewChanged { overview(cap: 99) { unread { count exact } \
    types { type { code } unread { count } latest { id title } } cursor } } }";
const ITEMS: &str = "subscription($after: String) { itemReceived(after: $after) { \
    cursor node { id kind type { code } title body link createdAt isRead sender { id name } } } }";

/// Sessions per source address, which has about 28,000 ports.
const OF_AN_ADDRESS: usize = 20_000;

/// Subscriptions of each session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Want {
    Items,
    Overviews,
    Both,
}

/// A socket with a task that reads it from the beginning, so that the server's pings are answered even while the
/// session waits to subscribe.
pub struct Session {
    sink: SplitSink<WebSocketStream<TcpStream>, Message>,
    heard: UnboundedReceiver<Message>,
    task: JoinHandle<()>,
}

impl Session {
    /// Connects and authenticates. From then on messages are recorded on the board.
    pub async fn open(address: SocketAddr, tenant: &str, place: usize, board: Arc<Board>) -> Result<Self> {
        let stream = TcpSocket::new_v4()?;
        if place >= OF_AN_ADDRESS {
            let own = Ipv4Addr::new(127, 0, 0, u8::try_from(1 + place / OF_AN_ADDRESS)?);
            stream.bind((own, 0).into())?;
        }
        let stream = stream.connect(address).await?;
        let mut request = format!("ws://{address}/graphql").into_client_request()?;
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
        let buffers = WebSocketConfig::default().read_buffer_size(1024).write_buffer_size(0);
        let (socket, _) = tokio_tungstenite::client_async_with_config(request, stream, Some(buffers)).await?;
        let (sink, mut messages) = socket.split();
        let (tell, heard) = unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(Ok(message)) = messages.next().await {
                if let Message::Text(text) = &message {
                    board.heard(text);
                }
                // After it has subscribed, the session does not read this channel any more.
                let _ = tell.send(message);
            }
        });
        let mut session = Self { sink, heard, task };
        let token = token(tenant, &listener(place), CallerRole::User);
        let payload = json!({ "authorization": format!("Bearer {token}") });
        session.say(&json!({ "type": "connection_init", "payload": payload })).await?;
        let answer = session.hear().await?;
        if answer["type"] == "connection_ack" { Ok(session) } else { Err(answer.to_string().into()) }
    }

    /// Subscribes like a page of a product: to the overview, and to items after its cursor.
    pub async fn follow(mut self, want: Want) -> Result<JoinHandle<()>> {
        let after = if want == Want::Items {
            self.subscribe("cursor", "{ viewer { overview { cursor } } }", Value::Null).await?;
            let cursor = self.data().await?["viewer"]["overview"]["cursor"].take();
            self.hear().await?;
            cursor
        } else {
            self.subscribe("overview", OVERVIEW, Value::Null).await?;
            self.data().await?["overviewChanged"]["overview"]["cursor"].take()
        };
        if want != Want::Overviews {
            self.subscribe("items", ITEMS, json!({ "after": after })).await?;
        }
        Ok(self.task)
    }

    /// Subscribes to the same after a known cursor.
    pub async fn resume(mut self, after: &str) -> Result<JoinHandle<()>> {
        self.subscribe("overview", OVERVIEW, Value::Null).await?;
        self.subscribe("items", ITEMS, json!({ "after": after })).await?;
        Ok(self.task)
    }

    async fn subscribe(&mut self, id: &str, query: &str, variables: Value) -> Result<()> {
        let payload = json!({ "query": query, "variables": variables });
        self.say(&json!({ "type": "subscribe", "id": id, "payload": payload })).await
    }

    async fn say(&mut self, message: &Value) -> Result<()> {
        Ok(self.sink.send(Message::text(message.to_string())).await?)
    }

    async fn hear(&mut self) -> Result<Value> {
        loop {
            match self.heard.recv().await.ok_or("the server has closed the socket")? {
                Message::Text(text) => return Ok(serde_json::from_str(&text)?),
                Message::Close(frame) => return Err(format!("the server has closed the socket: {frame:?}").into()),
                _ => {}
            }
        }
    }

    async fn data(&mut self) -> Result<Value> {
        let mut message = self.hear().await?;
        if message["type"] == "next" { Ok(message["payload"]["data"].take()) } else { Err(message.to_string().into()) }
    }
}
