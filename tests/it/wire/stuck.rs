//! Clients that request much and read nothing, and clients that read slowly.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::Request;
use h2::RecvStream;
use h2::client::{Builder, SendRequest};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt;

use super::connections::{connected, quick, until_closed};
use crate::support::{ITEMS, Kind, PATIENCE, Process, TestApp, everyone, with_settings};

/// The count of a connection metric.
pub async fn counted(app: &TestApp, what: &str) -> u64 {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let body = app.routes.clone().oneshot(request).await.unwrap().into_body();
    let text = String::from_utf8(to_bytes(body, usize::MAX).await.unwrap().to_vec()).unwrap();
    let name = format!("tidings_http_connections_{what} ");
    text.lines().find_map(|line| line.strip_prefix(&name)).map_or(0, |value| value.parse().unwrap())
}

async fn until_counted(app: &TestApp, what: &str, count: u64) {
    let until = Instant::now() + PATIENCE;
    while counted(app, what).await < count {
        assert!(Instant::now() < until, "{what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// The path of the largest response that needs no token: almost 2 MB without gzip.
fn largest() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/console/dist");
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let assets = files.filter_map(|file| Some((file.metadata().ok()?.len(), file.file_name().into_string().ok()?)));
    let (_, name) = assets.filter(|(_, name)| name.ends_with(".js.gz")).max().unwrap();
    format!("/console/{}", name.trim_end_matches(".gz"))
}

/// The bytes of this many requests for it.
fn asked_for(count: usize) -> Vec<u8> {
    format!("GET {} HTTP/1.1\r\nhost: a\r\n\r\n", largest()).repeat(count).into_bytes()
}

/// Opens an HTTP/2 connection with stream windows of this size. Returns its client and its driver task.
pub async fn spoken(address: &str, window: u32) -> (SendRequest<Bytes>, JoinHandle<()>) {
    let stream = connected(address, b"").await;
    let (client, connection) =
        Builder::new().initial_window_size(window).handshake::<_, Bytes>(stream).await.expect("HTTP/2 is spoken");
    let driven = tokio::spawn(async {
        // The end of the connection does not matter.
        let _ = connection.await;
    });
    (client, driven)
}

/// The body of the largest response, with nothing read yet.
async fn body(client: &mut SendRequest<Bytes>, address: &str) -> RecvStream {
    let request = Request::get(format!("http://{address}{}", largest())).body(()).unwrap();
    let mut ready = client.clone().ready().await.unwrap();
    let (answer, _) = ready.send_request(request, true).unwrap();
    timeout(PATIENCE, answer).await.expect("it is answered").unwrap().into_body()
}

/// Reads a body to its end, with a pause after each part. Returns the number of bytes.
async fn read_slowly(body: &mut RecvStream, pause: Duration) -> Result<usize, h2::Error> {
    let mut count = 0;
    while let Some(part) = timeout(PATIENCE, body.data()).await.expect("more comes") {
        let length = part?.len();
        count += length;
        body.flow_control().release_capacity(length)?;
        sleep(pause).await;
    }
    Ok(count)
}

/// A connection with a small receive buffer.
async fn narrow(address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    socket.connect(address.parse().unwrap()).await.unwrap()
}

#[tokio::test]
async fn who_takes_nothing_over_http_1_is_cut_off() {
    with_settings(Kind::Sqlite, quick, async |app| {
        let node = app.listen().await;
        let mut stream = narrow(&node.address).await;
        stream.write_all(&asked_for(8)).await.unwrap();
        until_counted(app, "dropped_total{why=\"taking\"}", 1).await;
        let cut_off = until_closed(&mut stream).await;
        assert!(cut_off.len() < 1024 * 1024, "{}", cut_off.len());
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn who_takes_little_at_a_time_gets_all_of_it() {
    with_settings(Kind::Sqlite, quick, async |app| {
        let node = app.listen().await;
        let mut stream = narrow(&node.address).await;
        stream.write_all(&asked_for(2)).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.unwrap();
        let (began_at, mut part, mut count) = (Instant::now(), vec![0; 48 * 1024], 0);
        loop {
            let length =
                timeout(PATIENCE, stream.read(&mut part)).await.expect("more comes").expect("it is not cut off");
            if length == 0 {
                break;
            }
            count += length;
            sleep(Duration::from_micros(2) * u32::try_from(length).unwrap()).await;
        }
        assert!(count > 3 * 1024 * 1024, "{count}");
        assert!(began_at.elapsed() > Duration::from_secs(6), "it takes twice as long as one may take nothing");
        assert_eq!(counted(app, "dropped_total{why=\"taking\"}").await, 0);

        // Reading takes longer than a connection may be idle, although the response is already complete.
        let mut stream = narrow(&node.address).await;
        stream.write_all(&asked_for(1)).await.unwrap();
        let (began_at, mut part, mut count) = (Instant::now(), vec![0; 16 * 1024], 0);
        while count < 1024 * 1024 || began_at.elapsed() < Duration::from_secs(10) {
            let length = timeout(PATIENCE, stream.read(&mut part)).await.expect("more comes").expect("it is whole");
            assert!(length > 0, "it is cut off after {count}");
            count += length;
            sleep(Duration::from_millis(if count < 1024 * 1024 { 125 } else { 20 })).await;
        }

        let (mut client, _driven) = spoken(&node.address, 32 * 1024).await;
        let mut body = body(&mut client, &node.address).await;
        assert!(read_slowly(&mut body, Duration::from_millis(50)).await.unwrap() > 1024 * 1024);
        drop((stream, body, client));
        node.stop().await;
    })
    .await;
}

/// Clients choose the windows of HTTP/2: with none, the server would have to keep every response.
#[tokio::test]
async fn who_opens_no_window_of_http_2_costs_no_memory() {
    let Some(database) = Kind::Sqlite.make().await else { return };
    let server = Process::start_with(&database.url, &[], None).await;
    let address = &server.address;
    drop(body(&mut spoken(address, 64 * 1024).await.0, address).await);
    let before = server.memory();
    for _ in 0..2 {
        let (mut client, _driven) = spoken(address, 0).await;
        let mut bodies = Vec::new();
        for _ in 0..40 {
            bodies.push(body(&mut client, address).await);
        }
        let grown = server.memory().saturating_sub(before);
        assert!(grown < 20 * 1024 * 1024, "forty streams share what they ask for: {grown}");
    }
    drop(server);
    database.remove().await;
}

/// The unread responses of a caller are bounded by the size of their largest ones, on any number of connections.
#[tokio::test]
async fn a_caller_who_takes_no_answers_gets_no_more_of_them() {
    let small = |settings: &mut base::config::ServerConfig| settings.limits.answer_bytes = 64 * 1024;
    with_settings(Kind::Sqlite, small, async |app| {
        app.admin().define_type("news").await;
        let send = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { replayed } }";
        for receiver in ["ada", "ada", "ada", "ben", "ben", "ben"] {
            let content = json!({ "title": "long", "body": "x".repeat(16 * 1024) });
            app.service().ask(send, json!({ "i": { "type": "news", "receiver": receiver, "content": content } })).await;
        }
        let node = app.listen().await;
        let (mut clients, mut answers) = (Vec::new(), Vec::new());
        let mut ask = async |user: &str| {
            let (client, _) = spoken(&node.address, 0).await;
            let token = &app.user(user).token;
            let request = Request::post(format!("http://{}/graphql", node.address))
                .header("content-type", "application/json")
                .header("authorization", format!("Bearer {token}"));
            let mut ready = client.clone().ready().await.unwrap();
            let (answer, mut asking) = ready.send_request(request.body(()).unwrap(), false).unwrap();
            let query = json!({ "query": "{ viewer { inbox { nodes { body } } } }" }).to_string();
            asking.send_data(query.into(), true).unwrap();
            let answer = timeout(PATIENCE, answer).await.expect("it is answered").unwrap();
            clients.push(client);
            let status = answer.status().as_u16();
            answers.push(answer.into_body());
            status
        };
        for status in [200, 200, 200, 200, 200, 503] {
            assert_eq!(ask("ada").await, status);
        }
        assert_eq!(ask("ben").await, 200, "nobody else is any the worse for it");
        drop((clients, answers));
        let until = Instant::now() + PATIENCE;
        while app.user("ada").send("{ viewer { inbox { nodes { body } } } }", json!({})).await.0 != 200 {
            assert!(Instant::now() < until, "who has gone leaves nothing");
            sleep(Duration::from_millis(20)).await;
        }
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn an_event_stream_that_is_not_read_is_cut_off() {
    with_settings(Kind::Sqlite, quick, async |app| {
        app.admin().define_type("release").await;
        let node = app.listen().await;
        let mut stream = narrow(&node.address).await;
        let asked = json!({ "query": ITEMS.replace("title", "title body") }).to_string();
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: a\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n\
             authorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{asked}",
            app.user("ada").token,
            asked.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let long = "x".repeat(16 * 1024);
        let send =
            "mutation($input: SendAnnouncementInput!) { sendAnnouncement(input: $input) { notification { id } } }";
        let content = json!({ "title": "long", "body": long });
        let input = json!({ "type": "release", "audience": everyone(), "content": content });
        let until = Instant::now() + PATIENCE;
        while counted(app, "dropped_total{why=\"taking\"}").await == 0 {
            assert!(Instant::now() < until, "it is cut off");
            app.service().ask(send, json!({ "input": input })).await;
            sleep(Duration::from_millis(20)).await;
        }
        while app.app.metrics.sessions.get() > 0 {
            assert!(Instant::now() < until, "its session ends");
            sleep(Duration::from_millis(20)).await;
        }
        drop(stream);
        node.stop().await;
    })
    .await;
}
