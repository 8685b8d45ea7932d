//! Sending: to one, to everyone, in batches; and against bare INSERTs.

use std::process::Stdio;

use serde_json::{Value, json};
use tidings::auth::Role;
use tokio::process::Command;

use super::CONNECTIONS;
use crate::contest::{Contender, Work, hold};
use crate::data::Scene;
use crate::figures::{Case, Measured, named};
use crate::load::{Ask, Load};
use crate::server::{Server, token};
use crate::{Place, Plan, Result};

/// Messages of one `sendNotifications`.
const BATCH: i64 = 100;
/// Sends of a turn.
const REQUESTS: usize = 200;
const CLIENTS: usize = 64;

const MESSAGE: &str = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { notification { id } } }";
const ANNOUNCEMENT: &str =
    "mutation($i: SendAnnouncementInput!) { sendAnnouncement(input: $i) { notification { id } } }";
const MANY: &str = "mutation($i: [SendNotificationInput!]!) { sendNotifications(inputs: $i) { notification { id } } }";

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let scene = place.scene("sending");
    let one = (0..1000).map(|user| by_service(scene, MESSAGE, &json!({ "i": message(user) }))).collect();
    let everyone = |scene: &Scene| {
        let content = json!({ "title": "What is new", "body": BODY, "link": "/news" });
        let input = json!({ "type": "type-1", "audience": { "everyone": true }, "content": content });
        vec![by_service(scene, ANNOUNCEMENT, &json!({ "i": input }))]
    };
    let all = [
        Contender::new("to one of 10,000 users", &tidings, one),
        Contender::new("to everyone, 1,000 users", &tidings, everyone(place.scene("thousand"))),
        Contender::new("to everyone, 1,000,000 users", &tidings, everyone(place.scene("million"))),
    ];
    let load = Load::Alone { requests: REQUESTS };
    let mut cases = vec![hold(place, plan, Work { name: "one after the other", load, reset: &[] }, &all).await?];

    let batch = |first: i64| {
        let inputs: Vec<Value> = (first..first + BATCH).map(|user| json!({ "message": message(user) })).collect();
        by_service(scene, MANY, &json!({ "i": inputs }))
    };
    let many = [Contender::new("100 messages a call", &tidings, (0..10).map(|of| batch(of * BATCH)).collect())];
    let load = Load::Sustained { clients: 4, seconds: plan.seconds };
    cases.push(hold(place, plan, Work { name: "sendNotifications, 4 clients", load, reset: &[] }, &many).await?);
    cases.push(against_inserts(place, plan, &tidings).await?);
    Ok(cases)
}

const BODY: &str = "What has changed, why it matters to you, and what to do about it now.";

fn message(user: i64) -> Value {
    let content = json!({ "title": format!("Message for user {user}"), "body": BODY, "link": "/news" });
    json!({ "type": format!("type-{}", user % 8), "receiver": format!("u{user}"), "content": content })
}

fn by_service(scene: &Scene, query: &str, variables: &Value) -> Ask {
    Ask::graphql(&token(scene.code, "shop", Role::Service), &json!({ "query": query, "variables": variables }))
}

/// 64 clients who each send messages to users of their own; and 64 of pgbench, which put the same rows into copies of the
/// tables, with the same indexes, by one statement each.
async fn against_inserts(place: &Place, plan: &Plan, tidings: &Server) -> Result<Case> {
    let scene = place.scene("sending");
    let asks = (0..10_000).map(|user| by_service(scene, MESSAGE, &json!({ "i": message(user) }))).collect();
    let ours = [Contender::new("Tidings", tidings, asks)];
    let load = Load::Sustained { clients: CLIENTS, seconds: plan.seconds };
    let one = Plan { rounds: 1, ..plan.clone() };
    let mut all = [Measured::new("Tidings"), Measured::new("pgbench, bare INSERTs")];
    for _ in 0..plan.rounds {
        let case = hold(place, &one, Work { name: "messages, 64 clients", load, reset: &[] }, &ours).await?;
        for (figure, values) in case.contenders.into_iter().flat_map(|of| of.figures) {
            all[0].add(&figure, values[0]);
        }
        if place.is_postgres() {
            all[1].add(named::RATE, pgbench(place, plan.seconds).await?);
        }
    }
    Ok(Case { name: "messages, 64 clients".into(), contenders: all.into() })
}

const COPIES: &str = "DROP TABLE IF EXISTS bench_notification, bench_item; DROP SEQUENCE IF EXISTS bench_seq; \
    CREATE TABLE bench_notification (LIKE notification INCLUDING ALL); \
    CREATE TABLE bench_item (LIKE inbox_item INCLUDING ALL); CREATE SEQUENCE bench_seq;";

async fn pgbench(place: &Place, seconds: f64) -> Result<f64> {
    let (client, connection) = tokio_postgres::connect(&place.url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(COPIES).await?;
    let script = format!(
        "\\set user random(1, 10000)\nWITH s AS (SELECT nextval('bench_seq') AS seq), n AS (INSERT INTO \
         bench_notification (tenant_id, id, seq, kind, type_id, title, body, link, receiver_id, audience, created_at, \
         published_at, audience_size, delivered_count, read_count, fingerprint) SELECT 1, s.seq, s.seq, 2, 1, \
         'Message for user 1', '{BODY}', '/news', :user, '{{\"users\":1}}', 0, 0, 1, 1, 0, 0 FROM s RETURNING seq) INSERT \
         INTO bench_item (user_id, seq, type_id, state) SELECT :user, n.seq, 1, 0 FROM n;\n"
    );
    let file = crate::place::root().join("target/bench/inserts.sql");
    std::fs::write(&file, script)?;
    let clients = CLIENTS.to_string();
    // pgbench counts whole seconds.
    let time = format!("{:.0}", seconds.max(1.0).ceil());
    let mut pgbench = Command::new("pgbench");
    pgbench.args(["--no-vacuum", "--protocol=prepared", "--jobs=2", "--client", &clients, "--time", &time, "--file"]);
    let output = pgbench.arg(file).arg(&place.url).stdin(Stdio::null()).output().await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    Ok(rate.ok_or_else(|| format!("pgbench failed: {said}{}", String::from_utf8_lossy(&output.stderr)))?)
}
