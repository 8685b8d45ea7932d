//! Requests and responses on the wire as client tools write and read them.

use serde_json::{Value, json};
use tidings::graphql::sha256_hex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Kind, TestApp, with, with_settings};

const WHO: &str = "query Who { viewer { user { id } } }";

/// Posts a body and returns the response.
async fn post(app: &TestApp, body: &Value) -> Value {
    let node = app.listen().await;
    let request = reqwest::Client::new().post(format!("http://{}/graphql", node.address));
    let answer = request.bearer_auth(app.user("ada").token).json(body).send().await.unwrap();
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

#[tokio::test]
async fn lists_of_operations_are_taken_as_tools_write_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("operations.json");
    let manifest = json!({ "format": "apollo-persisted-query-manifest", "version": 1,
        "operations": [{ "id": "abc", "name": "Who", "type": "query", "body": WHO }] });
    // The formats of the Relay compiler and of GraphQL Code Generator.
    for file in [manifest, json!({ "abc": WHO })] {
        std::fs::write(&path, file.to_string()).unwrap();
        let settings = |settings: &mut base::config::ServerConfig| settings.wire.operations = Some(path.clone());
        with_settings(Kind::Sqlite, settings, async |app| {
            let named = [
                json!({ "id": "abc", "variables": {} }),
                json!({ "documentId": "abc" }),
                json!({ "extensions": { "documentId": "abc" } }),
                json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": sha256_hex(WHO) } }, "operationName": "Who" }),
            ];
            for body in named {
                assert_eq!(post(app, &body).await["data"]["viewer"]["user"]["id"], "ada", "{body}");
            }
            let node = app.listen().await;
            let request = reqwest::Client::new().get(format!("http://{}/graphql?id=abc", node.address));
            let answer = request.bearer_auth(app.user("ada").token).send().await.unwrap().text().await.unwrap();
            assert!(answer.contains("\"ada\""), "{answer}");
        })
        .await;
    }
    let other = json!({ "format": "some-manifest", "version": 1, "operations": [] });
    std::fs::write(&path, other.to_string()).unwrap();
    let error = tidings::graphql::PersistedOperations::load(&path).await.unwrap_err().to_string();
    assert!(error.contains("some-manifest"), "{error}");
}

/// Sends text over a new connection and returns the head of the response.
async fn heads(address: &str, said: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(said.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn names_of_headers_are_written_as_clients_look_for_them() {
    with(Kind::Sqlite, async |app| {
        let node = app.listen().await;
        let upgrade = "GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
            Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n";
        let head = heads(&node.address, upgrade).await;
        assert!(
            head.starts_with("HTTP/1.1 101 ") && head.contains("\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n"),
            "{head}"
        );
        let head = heads(&node.address, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(head.contains("\r\nContent-Length: "), "{head}");
    })
    .await;
}
