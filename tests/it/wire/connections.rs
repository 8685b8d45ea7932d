//! Connections that are idle, read nothing, or are too many: the server closes them, and no others.

use std::sync::Arc;
use std::time::Duration;

use base::config::ServerConfig;
use serde_json::json;
use tidings::http::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::stuck::counted;
use crate::support::{Kind, PATIENCE, Process, Socket, free_port, with, with_settings};

/// Makes the time-outs of connections ten times shorter.
pub fn quick(settings: &mut ServerConfig) {
    settings.connections.connection_second_millis = 100;
}

/// Opens a connection and sends these bytes.
pub async fn connected(address: &str, said: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may already have closed a refused connection.
    let _ = stream.write_all(said).await;
    stream
}

/// Waits until the server closes a connection; returns the bytes that it sent before.
pub async fn until_closed(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    // A reset also closes it.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut said)).await.expect("it is closed in time");
    String::from_utf8_lossy(&said).into_owned()
}

/// Whether the server responds on a new connection.
async fn is_alive(address: &str) -> bool {
    let mut stream = connected(address, b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    until_closed(&mut stream).await.ends_with("alive\n")
}

/// Sends a request over a connection that stays open.
async fn asked(stream: &mut TcpStream) -> bool {
    let mut answer = [0; 1024];
    let is_sent = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.is_ok();
    is_sent && timeout(PATIENCE, stream.read(&mut answer)).await.unwrap().is_ok_and(|count| count > 0)
}

#[tokio::test]
async fn connections_without_a_request_are_closed() {
    with_settings(Kind::Sqlite, quick, async |app| {
        let node = app.listen().await;
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let beginnings: [&[u8]; 6] =
            [b"", b"GET /hea", b"GET /healthz HTTP/1.1\r\nx: ", &preface[..9], preface, settings];
        let mut silent = Vec::new();
        for said in beginnings {
            silent.push(connected(&node.address, said).await);
        }
        // A connection that sends a little now and then gets no more time than others.
        let mut slow = connected(&node.address, b"GET /healthz HTTP/1.1\r\n").await;
        let (mut reading, mut writing) = slow.split();
        let saying = async {
            while writing.write_all(b"x: y\r\n").await.is_ok() {
                sleep(Duration::from_millis(50)).await;
            }
        };
        let mut byte = [0];
        tokio::select! {
            closed = timeout(PATIENCE, reading.read(&mut byte)) => assert!(!matches!(closed.unwrap(), Ok(1))),
            () = saying => {}
        }
        for stream in &mut silent {
            until_closed(stream).await;
        }
        assert_eq!(counted(app, "dropped_total{why=\"headers\"}").await, 7);

        // After a request, a connection may be idle for longer, and may send another one. An empty line is not the
        // start of a request.
        let mut idle = connected(&node.address, b"").await;
        assert!(asked(&mut idle).await);
        idle.write_all(b"\r\n").await.unwrap();
        sleep(Duration::from_secs(3)).await;
        assert!(asked(&mut idle).await);
        until_closed(&mut idle).await;
        let mut begun = connected(&node.address, b"").await;
        assert!(asked(&mut begun).await);
        begun.write_all(b"GET /hea").await.unwrap();
        until_closed(&mut begun).await;
        assert_eq!(counted(app, "dropped_total{why=\"idle\"}").await, 1);
        assert_eq!(counted(app, "dropped_total{why=\"headers\"}").await, 8);
        node.stop().await;
    })
    .await;
}

/// A client that reuses the connection finds it closed, if possible before it has sent anything.
#[tokio::test]
async fn who_is_answered_before_their_body_was_read_is_told_that_the_connection_closes() {
    with_settings(
        Kind::Sqlite,
        |_| {},
        async |app| {
            let node = app.listen().await;
            let token = app.user("ada").token.clone();
            let ask = async |token: &str, length: usize, body: &str| {
                let head = format!("POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n");
                let head = format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
                let mut stream = connected(&node.address, head.as_bytes()).await;
                let mut answer = [0; 4096];
                let many = timeout(PATIENCE, stream.read(&mut answer)).await.unwrap().unwrap();
                String::from_utf8_lossy(&answer[..many]).to_lowercase()
            };
            let body = "{\"query\":\"{ viewer { id } }\"}";
            let refused = ask("nobody", 200_000, body).await;
            assert!(refused.starts_with("http/1.1 401") && refused.contains("connection: close"), "{refused}");
            let too_large = ask(&token, 2_000_000, body).await;
            assert!(too_large.starts_with("http/1.1 413") && too_large.contains("connection: close"), "{too_large}");
            for token in [token.as_str(), "nobody"] {
                let answered = ask(token, body.len(), body).await;
                let is_refused = token == "nobody";
                assert_eq!(answered.contains("connection: close"), is_refused, "{answered}");
            }
            let mut stream = connected(&node.address, b"").await;
            assert!(asked(&mut stream).await && asked(&mut stream).await, "what has no body stays open");
            node.stop().await;
        },
    )
    .await;
}

#[tokio::test]
async fn beyond_the_most_connections_new_ones_are_refused() {
    let few = |settings: &mut ServerConfig| settings.connections.max_connections = 4;
    with_settings(Kind::Sqlite, few, async |app| {
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
        let mut resting = Vec::new();
        for _ in 0..3 {
            let mut stream = connected(&node.address, b"").await;
            assert!(asked(&mut stream).await);
            resting.push(stream);
        }
        assert!(!is_alive(&node.address).await);
        assert_eq!(counted(app, "refused_total{why=\"full\"}").await, 1);
        for stream in &mut resting {
            assert!(asked(stream).await, "the others stay");
        }
        socket.say(json!({ "type": "ping" })).await;
        assert_eq!(socket.hear().await["type"], "pong");
        resting.pop();
        while !is_alive(&node.address).await {
            sleep(Duration::from_millis(20)).await;
        }
        drop((resting, socket));
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn an_address_has_so_many_connections_and_no_more() {
    let few = |settings: &mut ServerConfig| {
        settings.connections.connections_per_address = 2;
        settings.connections.proxies = "none".parse().unwrap();
    };
    with_settings(Kind::Sqlite, few, async |app| {
        let node = app.listen().await;
        let mut first = connected(&node.address, b"").await;
        // A connection keeps its place when it becomes a socket.
        let socket = Socket::open(&node.address, &app.user("ada").token).await;
        assert!(asked(&mut first).await);
        let mut third = TcpStream::connect(&node.address).await.unwrap();
        assert!(until_closed(&mut third).await.is_empty());
        assert_eq!(counted(app, "refused_total{why=\"address\"}").await, 1);
        assert!(asked(&mut first).await);
        drop(socket);
        while !is_alive(&node.address).await {
            sleep(Duration::from_millis(20)).await;
        }
        drop(first);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn health_and_figures_have_an_address_of_their_own() {
    let admin = format!("127.0.0.1:{}", free_port());
    let apart = |settings: &mut ServerConfig| {
        settings.listen.admin = Some(admin.parse().unwrap());
        settings.connections.max_connections = 1;
    };
    with_settings(Kind::Sqlite, apart, async |app| {
        let node = app.listen().await;
        let get = async |address: &str, path: &str| {
            let asked = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
            until_closed(&mut connected(address, asked.as_bytes()).await).await
        };
        for path in ["/healthz", "/readyz"] {
            assert!(get(&node.address, path).await.starts_with("HTTP/1.1 200"));
        }
        assert!(get(&node.address, "/metrics").await.starts_with("HTTP/1.1 404"));
        let socket = Socket::open(&node.address, &app.user("ada").token).await;
        assert!(get(&node.address, "/healthz").await.is_empty(), "there is no room");
        for (path, status) in
            [("/healthz", 200), ("/readyz", 200), ("/metrics", 200), ("/graphql", 404), ("/console", 404)]
        {
            let answer = get(&admin, path).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
        }
        let (is_content, said) = Process::doctor("sqlite::memory:", &[("TIDINGS_ADMIN_LISTEN", &admin)]);
        assert!(!is_content && said.contains("WRONG admin address"), "{said}");
        drop(socket);
        node.stop().await;
    })
    .await;
}

/// A node is asked to stop while the system's backlog has connections that it has not accepted. Their clients must not
/// have to repeat requests.
#[tokio::test]
async fn who_waits_in_the_line_of_a_server_that_stops_is_answered() {
    // With real seconds: a new connection has one second to send its request.
    with(Kind::Sqlite, async |app| {
        let listener = tidings::http::listen(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let mut waiting = Vec::new();
        // More than the server accepts in one round.
        for _ in 0..400 {
            waiting.push(connected(&address, b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await);
        }
        let answered = async {
            for mut stream in waiting {
                assert!(until_closed(&mut stream).await.ends_with("alive\n"));
            }
        };
        let served = Server::new(app.app.clone(), Arc::default()).serve(listener, std::future::ready(()));
        let (served, ()) = tokio::join!(served, answered);
        served.unwrap();
        assert!(TcpStream::connect(&address).await.is_err(), "nobody listens any more");
    })
    .await;
}

/// More connections than files, from a client that sends nothing and stays connected. Others are served again once it
/// has gone.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_answers_again_after_it_ran_out_of_files() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let server = Process::start_with_files(&database.url, 256).await;
    let mut silent = Vec::new();
    for _ in 0..400 {
        silent.push(connected(&server.address, b"").await);
    }
    drop(silent);
    while !is_alive(&server.address).await {
        sleep(Duration::from_millis(20)).await;
    }
    drop(server);
    database.remove().await;
}
