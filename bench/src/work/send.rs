//! Sends to one user, to everyone and in batches, compared with the limit and bare INSERTs.

use std::process::Stdio;

use auth::CallerRole;
use serde_json::{Value, json};
use tokio::process::Command;

use super::comparison::{CLIENTS, Comparison, SAMPLE, agree};
use super::{CONNECTIONS, LIMIT, SENDING, TIDINGS, list};
use crate::contest::{Contender, Work, hold};
use crate::data::Scene;
use crate::figures::{Case, Measured, named};
use crate::load::{Ask, Load};
use crate::server::{Server, token};
use crate::{Place, Plan, Result};

/// Messages per `sendNotifications`.
const BATCH: i64 = 100;
/// Sends per turn.
const REQUESTS: usize = 200;

const MESSAGE: &str = "mutation($i: SendMessageInput!) { sendMessage(input: $i) { notification { id } } }";
const ANNOUNCEMENT: &str =
    "mutation($i: SendAnnouncementInput!) { sendAnnouncement(input: $i) { notification { id } } }";
const MANY: &str = "mutation($i: [SendNotificationInput!]!) { sendNotifications(inputs: $i) { notification { id } } }";

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let scene = place.scene(SENDING);
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
    let others = Server::contenders(place, &place.url, CONNECTIONS).await?;
    cases.push(with_pgbench(place, plan, &compared(place, &tidings, &others).await?).await?);
    // No node trusts Redis while these servers run without it.
    drop((tidings, others));
    if place.is_postgres() {
        let (tidings, others) = Server::with_board(place, &plan.ground.redis, CONNECTIONS).await?;
        let name = "messages with a board, 64 clients".into();
        cases.push(Comparison { name, ..compared(place, &tidings, &others).await? }.hold(place, plan).await?);
    }
    Ok(cases)
}

/// Messages, each to another user.
pub async fn compared<'a>(place: &Place, tidings: &'a Server, others: &'a Server) -> Result<Comparison<'a>> {
    let scene = place.scene(SENDING);
    let ours = |user| by_service(scene, MESSAGE, &json!({ "i": message(user) }));
    let limit = |user| Ask::post(format!("/limit/send/{}/{}", scene.code, scene.row(user)), &bare_message(user));
    let contenders = vec![
        Contender::new(LIMIT, others, (0..scene.users).map(limit).collect()),
        Contender::new(TIDINGS, tidings, (0..scene.users).map(ours).collect()),
    ];
    // The ids in the responses differ, so the recipients' lists are compared instead.
    agree(&contenders, |answer| vec![answer.is_object()]).await?;
    let newest = |answer: &Value| list::said(answer).into_iter().take(1).collect();
    agree(&list::readers(scene, (0..scene.users).take(SAMPLE), tidings, others), newest).await?;
    Ok(Comparison { name: "messages, 64 clients".into(), contenders, reset: Vec::new() })
}

const BODY: &str = "What has changed, why it matters to you, and what to do about it now.";

fn message(user: i64) -> Value {
    let content = json!({ "title": title(user), "body": BODY, "link": "/news" });
    json!({ "type": kind(user), "receiver": format!("u{user}"), "content": content })
}

fn bare_message(user: i64) -> Value {
    json!({ "type": kind(user), "title": title(user), "body": BODY, "link": "/news" })
}

fn title(user: i64) -> String {
    format!("Message for user {user}")
}

fn kind(user: i64) -> String {
    format!("type-{}", user % 8)
}

fn by_service(scene: &Scene, query: &str, variables: &Value) -> Ask {
    Ask::graphql(&token(scene.code, "shop", CallerRole::Service), &json!({ "query": query, "variables": variables }))
}

/// 64 clients that send messages, and 64 clients of pgbench that insert the same rows into copies of the tables with
/// the same indexes, by one statement each.
async fn with_pgbench(place: &Place, plan: &Plan, comparison: &Comparison<'_>) -> Result<Case> {
    let one = Plan { rounds: 1, ..plan.clone() };
    let mut all = [LIMIT, TIDINGS, "pgbench, bare INSERTs"].map(Measured::new);
    for _ in 0..plan.rounds {
        let case = comparison.hold(place, &one).await?;
        for (measured, own) in all.iter_mut().zip(case.contenders) {
            for (figure, values) in own.figures {
                measured.add(&figure, values[0]);
            }
        }
        if place.is_postgres() {
            all[2].add(named::RATE, pgbench(place, plan.seconds).await?);
        }
    }
    Ok(Case { name: comparison.name.clone(), contenders: all.into() })
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
    // pgbench accepts whole seconds only.
    let time = format!("{:.0}", seconds.max(1.0).ceil());
    let mut pgbench = Command::new("pgbench");
    pgbench.args(["--no-vacuum", "--protocol=prepared", "--jobs=2", "--client", &clients, "--time", &time, "--file"]);
    let output = pgbench.arg(file).arg(&place.url).stdin(Stdio::null()).output().await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    Ok(rate.ok_or_else(|| format!("pgbench failed: {said}{}", String::from_utf8_lossy(&output.stderr)))?)
}
