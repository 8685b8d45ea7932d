//! Socket messages in many frames.

use base::config::ServerConfig;
use serde_json::json;

use crate::support::{Kind, Socket, with_settings};

/// A message of almost the maximum size.
fn long() -> String {
    json!({ "type": "ping", "payload": { "x": "x".repeat(64 * 1024 - 64) } }).to_string()
}

#[tokio::test]
async fn what_a_message_takes_on_the_wire_counts_towards_the_rate() {
    let change = |settings: &mut ServerConfig| settings.limits.socket_rate = 100;
    with_settings(Kind::Sqlite, change, async |app| {
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
        assert!(socket.say_in_fragments(&long(), 16 * 1024).await);
        assert_eq!(socket.hear().await["type"], "pong");
        for _ in 0..20 {
            socket.say(json!({ "type": "ping" })).await;
            assert_eq!(socket.hear().await["type"], "pong", "short ones count one each");
        }
        // 4 KiB in frames of one byte count as 28 messages, since each frame has a head of six bytes.
        assert!(socket.say_in_fragments(&long()[..4096], 1).await);
        assert_eq!(socket.close_code().await, 4429);
        drop(socket);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn fragments_that_never_become_a_message_end_the_socket() {
    let change = |settings: &mut ServerConfig| settings.limits.socket_rate = 0;
    with_settings(Kind::Sqlite, change, async |app| {
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
        let mut other = Socket::open(&node.address, &app.user("ada").token).await;
        for _ in 0..8 {
            assert!(other.say_in_fragments(&long(), 1024).await);
            assert_eq!(other.hear().await["type"], "pong");
        }
        socket.say_fragments_until_closed().await;
        other.say(json!({ "type": "ping" })).await;
        assert_eq!(other.hear().await["type"], "pong");
        drop((socket, other));
        node.stop().await;
    })
    .await;
}
