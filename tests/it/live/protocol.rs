//! The sub-protocol in detail: which violation closes the socket with which code.

use std::time::Duration;

use auth::{CallerRole, TokenClaims, sign_claims};
use serde_json::{Value, json};
use tidings::http::Server;
use tokio::time::{Instant, interval};

use crate::support::{ITEMS, Kind, OVERVIEWS, SECRET, Socket, TestApp, everyone, with, with_settings};

fn init(token: &str) -> Value {
    json!({ "type": "connection_init", "payload": { "Authorization": format!("Bearer {token}") } })
}

/// A token of `ada` that expires in some seconds.
fn brief(app: &TestApp, seconds: i64) -> String {
    let exp = app.now().timestamp() + seconds;
    let claims = TokenClaims { tenant: "acme".into(), sub: "ada".into(), role: CallerRole::User, exp, scope: None };
    sign_claims(SECRET, &claims).unwrap()
}

#[tokio::test]
async fn what_breaks_the_protocol_is_closed_with_its_code() {
    with(Kind::Sqlite, async |app| {
        let node = app.listen().await;
        let token = app.user("ada").token;
        let subscribe = json!({ "type": "subscribe", "id": "1", "payload": { "query": ITEMS } });
        for (code, messages) in [
            (4400, vec!["not json".to_owned()]),
            (4400, vec![json!({ "type": "nonsense" }).to_string()]),
            (
                4400,
                vec![
                    init(&token).to_string(),
                    json!({ "type": "subscribe", "payload": { "query": ITEMS } }).to_string(),
                ],
            ),
            (
                4400,
                vec![init(&token).to_string(), json!({ "type": "subscribe", "id": "1", "payload": {} }).to_string()],
            ),
            (4400, vec![json!({ "type": "connection_init", "payload": 7 }).to_string()]),
            (4401, vec![subscribe.to_string()]),
            (4403, vec![json!({ "type": "connection_init" }).to_string()]),
            (4403, vec![init("forged").to_string()]),
            (4409, vec![init(&token).to_string(), subscribe.to_string(), subscribe.to_string()]),
            (4429, vec![init(&token).to_string(), init(&token).to_string()]),
            (1009, vec![init(&token).to_string(), format!("\"{}\"", "x".repeat(70_000))]),
        ] {
            let mut socket = Socket::connect(&node.address).await;
            for message in &messages {
                socket.say_text(message).await;
            }
            assert_eq!(socket.close_code().await, code, "{messages:?}");
        }
        for protocol in ["graphql-ws", "soap"] {
            let refusal = Socket::try_connect(&node.address, protocol).await.err().unwrap();
            assert!(refusal.contains("400"), "{refusal}");
        }
        let mut binary = Socket::connect(&node.address).await;
        binary.say_bytes(init(&token).to_string().as_bytes()).await;
        assert_eq!(binary.close_code().await, 4400);
        let mut silent = Socket::connect(&node.address).await;
        assert_eq!(silent.close_code().await, 4408);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn queries_mutations_and_errors_travel_on_a_socket_too() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("release").await;
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
        socket.say(json!({ "type": "ping", "payload": { "any": 1 } })).await;
        assert_eq!(socket.hear().await, json!({ "type": "pong" }));
        socket.subscribe("q", "{ viewer { user { id } } }", json!({})).await;
        assert_eq!(socket.data().await, json!({ "viewer": { "user": { "id": "ada" } } }));
        assert_eq!(socket.hear().await, json!({ "type": "complete", "id": "q" }));
        socket.subscribe("m", "mutation { markSeen { viewer { overview { unread { count } } } } }", json!({})).await;
        assert_eq!(socket.data().await["markSeen"]["viewer"]["overview"]["unread"]["count"], 0);
        assert_eq!(socket.hear().await["type"], "complete");
        socket.subscribe("e", "{ nonsense }", json!({})).await;
        let refusal = socket.hear().await;
        assert_eq!((&refusal["type"], &refusal["id"]), (&json!("error"), &json!("e")));
        assert_eq!(refusal["payload"][0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED");
        // A subscription that the client completed has ended, and its id is free.
        socket.subscribe("s", ITEMS, json!({})).await;
        socket.say(json!({ "type": "complete", "id": "s" })).await;
        socket.subscribe("s", OVERVIEWS, json!({})).await;
        socket.until_unread(0).await;
        drop(socket);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn an_operation_goes_by_the_name_that_its_client_has_given_it() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("release").await;
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
        let names = ["\"", "\\", "\"}, {\"", "\n\0\u{7f}", "Ünïcödé \u{1f514}", " ", "null"];
        for name in names {
            socket.subscribe(name, "{ viewer { user { id } } }", json!({})).await;
            let next = socket.hear().await;
            assert_eq!((&next["type"], &next["id"]), (&json!("next"), &json!(name)));
            assert_eq!(next["payload"]["data"]["viewer"]["user"]["id"], "ada");
            assert_eq!(socket.hear().await, json!({ "type": "complete", "id": name }));
            socket.subscribe(name, "{ nobody }", json!({})).await;
            let error = socket.hear().await;
            assert_eq!((&error["type"], &error["id"]), (&json!("error"), &json!(name)));
            assert!(error["payload"][0]["message"].is_string(), "{error}");
        }
        for name in names {
            socket.subscribe(name, OVERVIEWS, json!({})).await;
            assert_eq!(socket.hear().await["id"], name);
        }
        // One of them ends; the others continue.
        socket.say(json!({ "type": "complete", "id": names[2] })).await;
        socket.subscribe("q", "{ viewer { user { id } } }", json!({})).await;
        assert_eq!(
            (socket.hear().await["id"].take(), socket.hear().await["type"].take()),
            (json!("q"), json!("complete"))
        );
        app.service().announce("release", everyone(), "to all").await;
        let mut told = Vec::new();
        for _ in 1..names.len() {
            told.push(socket.hear().await["id"].as_str().unwrap().to_owned());
        }
        told.sort_unstable();
        let mut left = names.to_vec();
        left.remove(2);
        left.sort_unstable();
        assert_eq!(told, left);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_name_is_free_as_soon_as_its_end_was_told() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("release").await;
        let answer = |body: &str| {
            let data = json!({ "viewer": { "inbox": { "nodes": [{ "body": body }] } } });
            json!({ "type": "next", "id": "q", "payload": { "data": data } })
        };
        // The response and its end together fill exactly one write.
        let body = "b".repeat(16 * 1024 - 14 - answer("").to_string().len());
        let content = json!({ "title": "long", "body": body });
        let input = json!({ "type": "release", "audience": everyone(), "content": content });
        let send = "mutation($i: SendAnnouncementInput!) { sendAnnouncement(input: $i) { replayed } }";
        app.service().ask(send, json!({ "i": input })).await;
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
        for _ in 0..100 {
            socket.subscribe("q", "{ viewer { inbox(first: 1) { nodes { body } } } }", json!({})).await;
            assert_eq!(socket.hear().await, answer(&body));
            assert_eq!(socket.hear().await, json!({ "type": "complete", "id": "q" }));
        }
        node.stop().await;
    })
    .await;
}

/// A close frame holds 123 bytes of reason.
#[tokio::test]
async fn a_reason_is_cut_to_what_a_close_frame_holds() {
    with(Kind::Sqlite, async |app| {
        let node = app.listen().await;
        for name in ["é", "号", "😀"] {
            let name = name.repeat(200);
            let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
            socket.subscribe(&name, ITEMS, json!({})).await;
            socket.subscribe(&name, ITEMS, json!({})).await;
            assert_eq!(socket.close_code().await, 4409, "{name}");
        }
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_session_ends_with_its_token_unless_it_is_renewed() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("release").await;
        let node = app.listen().await;
        let mut lost = Socket::feed(&node.address, &brief(app, 2), json!({})).await;
        let mut kept = Socket::feed(&node.address, &brief(app, 2), json!({})).await;
        kept.say(json!({ "type": "ping", "payload": { "authorization": brief(app, 600) } })).await;
        assert_eq!(kept.hear().await["type"], "pong");
        assert_eq!(lost.hear().await, json!({ "close": 4403, "reason": "the token has expired" }));
        app.service().announce("release", everyone(), "still here").await;
        assert_eq!(kept.title().await, "still here");
        kept.say(json!({ "type": "ping", "payload": { "token": app.user("bob").token } })).await;
        assert_eq!(kept.close_code().await, 4403);
        drop((lost, kept));
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_user_has_so_many_sessions_and_no_more() {
    with(Kind::Sqlite, async |app| {
        let node = app.listen().await;
        let mut sockets = Vec::new();
        for _ in 0..20 {
            sockets.push(Socket::open(&node.address, &app.user("ada").token).await);
        }
        let mut refused = Socket::connect(&node.address).await;
        refused.say(init(&app.user("ada").token)).await;
        assert_eq!(refused.close_code().await, 1013);
        Socket::open(&node.address, &app.user("bob").token).await;
        for id in 0..33 {
            sockets[0].subscribe(&id.to_string(), OVERVIEWS, json!({})).await;
        }
        loop {
            let message = sockets[0].hear().await;
            if message["type"] == "error" {
                assert_eq!(message["id"], "32");
                break;
            }
        }
        drop((sockets, refused));
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_node_has_so_many_sessions_and_no_more() {
    with_settings(
        Kind::Sqlite,
        |config| config.sessions = 2,
        async |app| {
            let node = app.listen().await;
            let ada = Socket::open(&node.address, &app.user("ada").token).await;
            // The server does not know the user of this session yet.
            let silent = Socket::connect(&node.address).await;
            let refusal = Socket::try_open(&node.address, &app.user("cleo").token).await.err().unwrap();
            assert!(refusal.contains("503"), "{refusal}");
            let request = reqwest::Client::new().post(format!("http://{}/graphql", node.address));
            let request = request.header("accept", "text/event-stream").bearer_auth(app.user("cleo").token);
            let answer = request.json(&json!({ "query": ITEMS })).send().await.unwrap();
            assert_eq!(answer.status(), 503);
            assert_eq!(answer.json::<Value>().await.unwrap()["errors"][0]["extensions"]["code"], "UNAVAILABLE");
            drop((ada, silent));
            // The server notices a moment later.
            while Socket::try_open(&node.address, &app.user("cleo").token).await.is_err() {
                tokio::task::yield_now().await;
            }
            node.stop().await;
        },
    )
    .await;
}

/// RFC 6455, section 5.5.1, requires it; without it, browsers report a lost connection (1006).
#[tokio::test]
async fn who_closes_is_answered() {
    with(Kind::Sqlite, async |app| {
        let node = app.listen().await;
        let token = app.user("ada").token;
        let mut silent = Socket::open(&node.address, &token).await;
        let mut follows = Socket::subscribed(&node.address, &token, OVERVIEWS, json!({})).await;
        follows.data().await;
        for socket in [&mut silent, &mut follows] {
            socket.close().await;
            assert_eq!(socket.close_code().await, 1000);
        }
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn sockets_without_a_token_leave_room_for_others() {
    with_settings(
        Kind::Sqlite,
        |config| config.sessions = 12,
        async |app| {
            let node = app.listen().await;
            let mut silent = Vec::new();
            for _ in 0..10 {
                silent.push(Socket::connect(&node.address).await);
            }
            let refusal = Socket::try_connect(&node.address, "graphql-transport-ws").await.err().unwrap();
            assert!(refusal.contains("503"), "{refusal}");
            // A socket that authenticates makes room for another one without a token.
            silent[0].say(init(&app.user("ada").token)).await;
            assert_eq!(silent[0].hear().await["type"], "connection_ack");
            silent.push(Socket::connect(&node.address).await);
            drop(silent);
            node.stop().await;
        },
    )
    .await;
}

#[tokio::test]
async fn the_token_of_the_upgrade_counts_where_the_init_has_none() {
    with(Kind::Sqlite, async |app| {
        let node = app.listen().await;
        let upgraded = async |token: &str| {
            let token = format!("Bearer {token}");
            let headers = [("sec-websocket-protocol", "graphql-transport-ws"), ("authorization", token.as_str())];
            Socket::upgraded(&node.address, &headers).await.expect("the server takes the socket")
        };
        let mut socket = upgraded(&app.user("ada").token).await;
        socket.say(json!({ "type": "connection_init" })).await;
        assert_eq!(socket.hear().await["type"], "connection_ack");
        socket.subscribe("q", "{ viewer { user { id } } }", json!({})).await;
        assert_eq!(socket.data().await, json!({ "viewer": { "user": { "id": "ada" } } }));

        let mut other = upgraded(&app.user("ada").token).await;
        other.say(init(&app.user("bob").token)).await;
        assert_eq!(other.hear().await["type"], "connection_ack");
        other.subscribe("q", "{ viewer { user { id } } }", json!({})).await;
        assert_eq!(other.data().await, json!({ "viewer": { "user": { "id": "bob" } } }));

        let mut forged = upgraded("forged").await;
        forged.say(json!({ "type": "connection_init" })).await;
        assert_eq!(forged.close_code().await, 4403);
        drop((socket, other, forged));
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_subscription_is_written_as_any_query_and_has_one_field() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("release").await;
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
        let after = super::cursor(app, "ada").await;
        let query = "subscription News($after: String, $all: Boolean!) { news: itemReceived(after: $after) { ...Edge } } \
            fragment Edge on InboxItemEdge { __typename node { ... on Node { id } headline: title body @include(if: $all) \
            type { code } type { title } } }";
        for (id, all) in [("brief", false), ("whole", true)] {
            socket.subscribe(id, query, json!({ "after": after, "all": all })).await;
        }
        app.service().announce("release", everyone(), "two").await;
        for _ in 0..2 {
            let mut message = socket.hear().await;
            let is_whole = message["id"] == "whole";
            let mut edge = message["payload"]["data"]["news"].take();
            assert!(edge["node"]["id"].take().is_string());
            let mut node = json!({ "id": null, "headline": "two", "type": { "code": "release", "title": "release" } });
            if is_whole {
                node["body"] = Value::Null;
            }
            assert_eq!(edge, json!({ "__typename": "InboxItemEdge", "node": node }), "{message}");
        }
        for query in ["subscription { itemReceived { cursor } overviewChanged { overview { cursor } } }", "subscription { __typename }"] {
            socket.subscribe("e", query, json!({})).await;
            let refusal = socket.hear().await;
            assert_eq!(refusal["payload"][0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{refusal}");
        }
        drop(socket);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_socket_has_so_many_messages_a_minute() {
    let change = |settings: &mut base::config::ServerConfig| settings.limits.socket_rate = 6;
    with_settings(Kind::Sqlite, change, async |app| {
        let node = app.listen().await;
        let mut socket = Socket::open(&node.address, &app.user("ada").token).await;
        let ping = json!({ "type": "ping" });
        for _ in 0..5 {
            socket.say(ping.clone()).await;
            assert_eq!(socket.hear().await["type"], "pong");
        }
        // One message has been refilled in the meantime.
        app.advance(chrono::TimeDelta::seconds(10));
        socket.say(ping.clone()).await;
        assert_eq!(socket.hear().await["type"], "pong");
        socket.say(ping).await;
        assert_eq!(socket.hear().await, json!({ "close": 4429, "reason": "too many messages a minute" }));
        drop(socket);
        node.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_silent_client_is_pinged_and_given_up_if_it_does_not_answer() {
    with(Kind::Sqlite, async |app| {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        // Without background loops: while the time is paused or jumps, nothing may wait for the database.
        let serving =
            tokio::spawn(Server::new(app.app.clone(), app.live.clone()).serve(listener, std::future::pending()));
        let mut deaf = Socket::open(&address, &app.user("ada").token).await;
        let mut heedful = Socket::open(&address, &app.user("ben").token).await;
        tokio::time::pause();
        let began_at = Instant::now();
        // Paused time jumps to the next timer. This timer fires every second, so that messages are processed in
        // between.
        let seconds = tokio::spawn(async {
            let mut seconds = interval(Duration::from_secs(1));
            loop {
                seconds.tick().await;
            }
        });
        for _ in 0..3 {
            heedful.pinged().await;
        }
        assert!(began_at.elapsed() > Duration::from_secs(74), "they come after {:?}", began_at.elapsed());
        assert_eq!(app.app.metrics.sessions.get(), 1);
        deaf.pinged().await;
        assert_eq!(deaf.try_hear().await, None, "the connection is gone");
        tokio::time::resume();
        seconds.abort();
        heedful.say(json!({ "type": "ping" })).await;
        assert_eq!(heedful.hear().await["type"], "pong");
        drop(heedful);
        serving.abort();
    })
    .await;
}
