//! Checks that a socket takes no more memory than ARCHITECTURE.md says.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use auth::{CallerRole, TokenClaims, sign_claims};
use live::LiveRooms;
use serde_json::{Value, json};
use tidings::app::App;
use tidings::http::Server;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use tokio_tungstenite::tungstenite::client::{IntoClientRequest, client};
use tokio_tungstenite::tungstenite::{Message, WebSocket};

use super::{SECRET, Weighed, allocated};

const ITEMS: &str = "subscription { itemReceived { cursor node { title type { code } } } }";
const OVERVIEWS: &str = "subscription { overviewChanged { overview { unread { count } types { type { code } unread { count } \
    latest { title } } cursor } } }";

/// The number of sockets per case. All stay open to the end, and this process holds both ends; its usual limit is 1,024
/// open files.
const SOCKETS: usize = 100;

/// The most bytes that an idle socket may take.
const MOST: usize = 12 * 1024;

/// A client that keeps only its connection.
struct Client(WebSocket<TcpStream>);

impl Client {
    fn open(address: SocketAddr, app: &App, name: &str) -> Self {
        let exp = app.now() / 1000 + 24 * 60 * 60;
        let claims = TokenClaims { tenant: "acme".into(), sub: name.into(), role: CallerRole::User, exp, scope: None };
        let mut request = format!("ws://{address}/graphql").into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse().unwrap());
        let (socket, _) = client(request, TcpStream::connect(address).unwrap()).unwrap();
        let mut client = Self(socket);
        let token = sign_claims(SECRET, &claims).unwrap();
        client.say(&json!({ "type": "connection_init", "payload": { "authorization": format!("Bearer {token}") } }));
        client.hear("connection_ack");
        client
    }

    fn say(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).unwrap();
    }

    fn hear(&mut self, kind: &str) {
        let heard: Value = serde_json::from_str(self.0.read().unwrap().to_text().unwrap()).unwrap();
        assert_eq!(heard["type"], kind, "{heard}");
    }

    fn subscribe(&mut self, query: &str) {
        self.say(&json!({ "id": query, "type": "subscribe", "payload": { "query": query } }));
        // The first overview arrives at once. A subscription to items has started when the pong arrives.
        if query == OVERVIEWS {
            self.hear("next");
        } else {
            self.say(&json!({ "type": "ping" }));
            self.hear("pong");
        }
    }
}

#[tokio::test]
async fn a_socket_takes_what_is_promised() {
    let server = Weighed::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = Server::new(server.app.clone(), Arc::new(LiveRooms::default()));
    tokio::spawn(serving.serve(listener, std::future::pending()));
    let open = async |of: &'static str, queries: &'static [&'static str]| {
        let app = server.app.clone();
        let opened = move || -> Vec<TcpStream> {
            let one = |number| {
                let mut client = Client::open(address, &app, &format!("{of} {number}"));
                for query in queries {
                    client.subscribe(query);
                }
                client.0.into_inner()
            };
            (0..SOCKETS).map(one).collect()
        };
        spawn_blocking(opened).await.unwrap()
    };
    let cases: [(&str, &[&str]); 4] = [
        ("warm", &[ITEMS, OVERVIEWS]),
        ("items", &[ITEMS]),
        ("overviews", &[OVERVIEWS]),
        ("both", &[ITEMS, OVERVIEWS]),
    ];
    let mut all = Vec::new();
    for (what, queries) in cases {
        let before = allocated();
        all.push(open(what, queries).await);
        let each = (allocated() - before) / SOCKETS;
        // The first case also allocates pools, caches and prepared statements.
        assert!(what == "warm" || each <= MOST, "{what}: {each} bytes");
    }
}
