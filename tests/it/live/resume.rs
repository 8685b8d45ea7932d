//! Resuming after a kill of the server, after a stop, and after reading too slowly.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use auth::{CallerRole, TokenClaims, sign_claims};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::support::{ITEMS, Kind, PATIENCE, Process, SECRET, Socket, everyone, on_every_database, with};

/// The number of users with sessions that resume.
const MANY: usize = 100;

on_every_database! {
    async fn sessions_that_come_back_at_once_share_their_statements(app) {
        app.admin().define_type("release").await;
        let users: Vec<String> = (0..MANY).map(|number| format!("u{number}")).collect();
        let inputs: Vec<Value> = users.iter().map(|id| json!({ "id": id })).collect();
        app.service().ask("mutation($i: [UserProfileInput!]!) { saveUserProfiles(inputs: $i) { id } }", json!({ "i": inputs })).await;
        let query = "query($ids: [ID!]!) { inboxUsers(ids: $ids) { overview { cursor } } }";
        let cursors = app.service().ask(query, json!({ "ids": users })).await;
        app.service().announce("release", everyone(), "missed").await;

        // A node with empty caches.
        let other = app.beside().await;
        let node = other.listen().await;
        let open = async |user: &String| Socket::open(&node.address, &app.user(user).token).await;
        let resume = async |(place, mut socket): (usize, Socket)| {
            let after = &cursors["inboxUsers"][place]["overview"]["cursor"];
            socket.subscribe("1", ITEMS, json!({ "after": after })).await;
            assert_eq!(socket.title().await, "missed");
            socket
        };
        // All sockets are open before the first one subscribes, since the duration of a handshake depends on the
        // machine.
        let come_back = async {
            let sockets = join_all(users.iter().map(open)).await;
            join_all(sockets.into_iter().enumerate().map(resume)).await
        };
        let (statements, sockets) = other.statements_of(come_back).await;
        assert!(statements < MANY, "{statements} statements for {MANY} sessions");
        app.service().announce("release", everyone(), "live").await;
        for mut socket in sockets {
            assert_eq!(socket.title().await, "live");
        }
        node.stop().await;
        other.app.db.close().await;
    }

    async fn a_server_that_stops_sends_its_sessions_away_to_come_back(app) {
        app.admin().define_type("release").await;
        let mut node = app.listen().await;
        let mut ada = Socket::feed(&node.address, &app.user("ada").token, json!({})).await;
        app.service().announce("release", everyone(), "one").await;
        let edge = ada.data().await["itemReceived"].take();
        node.ask_to_stop();
        app.service().announce("release", everyone(), "two").await;
        assert_eq!(ada.close_code().await, 1012);
        drop(ada);
        node.stop().await;

        let node = app.listen().await;
        let mut ada = Socket::subscribed(&node.address, &app.user("ada").token, ITEMS, json!({ "after": edge["cursor"] })).await;
        assert_eq!(ada.title().await, "two");
        drop(ada);
        node.stop().await;
    }
}

#[tokio::test]
async fn a_slow_reader_is_told_to_resume_and_costs_nobody_anything() {
    with(Kind::Sqlite, async |app| {
        app.admin().define_type("release").await;
        let node = app.listen().await;
        let query = "subscription($after: String) { itemReceived(after: $after) { cursor node { title body } } }";
        let mut slow = Socket::open(&node.address, &app.user("ada").token).await;
        slow.subscribe("1", query, json!({})).await;
        let mut quick = Socket::feed(&node.address, &app.user("bob").token, json!({})).await;
        // First more than the buffers of both ends hold, and then more than the server keeps.
        let body = "x".repeat(16 * 1024);
        let announce =
            "mutation($inputs: [SendNotificationInput!]!) { sendNotifications(inputs: $inputs) { replayed } }";
        for batch in 0..40 {
            let input = |number| {
                let content = json!({ "title": format!("{}", batch * 25 + number), "body": body });
                json!({ "announcement": { "type": "release", "audience": everyone(), "content": content } })
            };
            let inputs: Vec<Value> = (0..25).map(input).collect();
            app.service().ask(announce, json!({ "inputs": inputs })).await;
            for number in 0..25 {
                assert_eq!(quick.title().await, format!("{}", batch * 25 + number));
            }
        }
        let (mut titles, mut after) = (Vec::new(), Value::Null);
        loop {
            let mut message = slow.hear().await;
            if message["type"] == "error" {
                let error = &message["payload"][0];
                assert_eq!(error["extensions"]["code"], "UNAVAILABLE", "{error}");
                assert!(error["message"].as_str().unwrap().contains("with `after` set to the cursor"), "{error}");
                break;
            }
            let edge = message["payload"]["data"]["itemReceived"].take();
            titles.push(edge["node"]["title"].as_str().unwrap().to_owned());
            after = edge["cursor"].clone();
        }
        assert!(titles.len() < 1000, "it was not slow enough to be ended");
        slow.subscribe("2", query, json!({ "after": after })).await;
        while titles.len() < 1000 {
            let data = slow.data().await;
            titles.push(data["itemReceived"]["node"]["title"].as_str().unwrap().to_owned());
        }
        assert!(titles.iter().enumerate().all(|(place, title)| *title == place.to_string()));
        drop((slow, quick));
        node.stop().await;
    })
    .await;
}

fn token(sub: &str, role: CallerRole) -> String {
    let claims = TokenClaims { tenant: "acme".into(), sub: sub.into(), role, exp: 4_000_000_000, scope: None };
    sign_claims(SECRET, &claims).unwrap()
}

/// The number of announcements of each of eight senders.
const EACH: usize = 40;

/// Eight senders continue through a `kill -9`; each retries unacknowledged sends under the same key. A client resumes
/// from its last cursor. It must see everything once, in the order of the inbox.
async fn survives_a_kill(kind: Kind) {
    let Some(database) = kind.migrated().await else { return };
    let mut server = Process::start(&database.url).await;
    let (admin, ada) = (token("operator", CallerRole::Admin), token("ada", CallerRole::User));
    let define = "mutation { saveMessageType(input: { code: \"release\", title: \"Releases\" }) { code } }";
    server.ask(&admin, define, json!({})).await.expect("the type is defined");
    let data = server.ask(&ada, "{ viewer { overview { cursor } } }", json!({})).await.expect("there is an overview");
    let mut after = data["viewer"]["overview"]["cursor"].clone();
    let sent = AtomicUsize::new(0);
    let address = server.address.clone();
    let mut received: Vec<String> = Vec::new();
    let receiving = async {
        while received.len() < 8 * EACH {
            let Ok(mut socket) = Socket::try_open(&address, &ada).await else {
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            socket.subscribe("1", ITEMS, json!({ "after": after })).await;
            while received.len() < 8 * EACH
                && let Some(mut message) = socket.try_hear().await
                && message["type"] == "next"
            {
                let edge = message["payload"]["data"]["itemReceived"].take();
                received.push(edge["node"]["title"].as_str().expect("it has a title").to_owned());
                after = edge["cursor"].clone();
            }
        }
    };
    let sending = async {
        let senders = (0..8).map(|sender| send_all(&address, sender, &sent));
        futures_util::future::join_all(senders).await;
    };
    let killing = async {
        while sent.load(Ordering::SeqCst) < 4 * EACH {
            sleep(Duration::from_millis(5)).await;
        }
        server.kill_and_start().await;
    };
    let all = async { tokio::join!(receiving, sending, killing) };
    timeout(4 * PATIENCE, all).await.expect("everything arrives in time");
    let distinct: HashSet<&String> = received.iter().collect();
    assert_eq!((distinct.len(), received.len()), (8 * EACH, 8 * EACH));
    let mut listed = titles(&server, &ada).await;
    listed.reverse();
    assert_eq!(received, listed);
    drop(server);
    database.remove().await;
}

async fn send_all(address: &str, sender: usize, sent: &AtomicUsize) {
    let token = token("shop", CallerRole::Service);
    let client = reqwest::Client::new();
    let query = "mutation($i: SendAnnouncementInput!) { sendAnnouncement(input: $i) { replayed } }";
    for number in 0..EACH {
        let title = format!("{sender}/{number}");
        let input = json!({ "type": "release", "audience": everyone(), "content": { "title": title }, "idempotencyKey": title });
        let until = Instant::now() + PATIENCE;
        loop {
            let request = client.post(format!("http://{address}/graphql")).bearer_auth(&token);
            let request = request.json(&json!({ "query": query, "variables": { "i": input } }));
            if let Ok(answer) = request.send().await
                && let Ok(answer) = answer.json::<Value>().await
                && answer["errors"].is_null()
            {
                break;
            }
            assert!(Instant::now() < until, "{title} cannot be sent");
            sleep(Duration::from_millis(20)).await;
        }
        sent.fetch_add(1, Ordering::SeqCst);
    }
}

async fn titles(server: &Process, token: &str) -> Vec<String> {
    let query = "query($after: String) { viewer { inbox(first: 200, after: $after) { nodes { title } pageInfo { hasNextPage endCursor } } } }";
    let (mut titles, mut after) = (Vec::new(), Value::Null);
    loop {
        let data = server.ask(token, query, json!({ "after": after })).await.expect("the list can be read");
        let page = &data["viewer"]["inbox"];
        let nodes = page["nodes"].as_array().expect("it is a list");
        titles.extend(nodes.iter().map(|node| node["title"].as_str().expect("it has a title").to_owned()));
        if page["pageInfo"]["hasNextPage"] != json!(true) {
            return titles;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
}

mod a_client_misses_nothing_when_the_server_is_killed_while_others_send {
    use super::*;

    #[tokio::test]
    async fn sqlite() {
        survives_a_kill(Kind::Sqlite).await;
    }

    #[tokio::test]
    async fn postgres() {
        survives_a_kill(Kind::Postgres).await;
    }

    #[tokio::test]
    async fn mysql() {
        survives_a_kill(Kind::Mysql).await;
    }
}
