//! The overview of ordinary users: 8 types, each with its unread count and newest item.

use std::net::ToSocketAddrs;
use std::time::Duration;

use serde_json::{Value, json};

use super::comparison::{Comparison, agree, item};
use super::{ALONE, ANEW, CONNECTIONS, LIMIT, SCENES, TIDINGS, by_user, present};
use crate::contest::{Contender, Work, hold};
use crate::data::Scene;
use crate::figures::Case;
use crate::load::{Ask, Load};
use crate::machine::Postgres;
use crate::server::{FORGETFUL, Server};
use crate::{Place, Plan, Result, proxy};

/// The query of a page of a product.
pub const OVERVIEW: &str = "{ viewer { overview(cap: 99) { unread { count exact } types { type { code title } \
    unread { count exact } latest { id kind title body link createdAt isRead sender { id name } } } cursor } } }";

const LETTERS: &str = "query($tenant: String!, $user: Int!) { overview(tenant: $tenant, user: $user) { code title unread \
    latest { id title content createdAt senderId isRead } } }";

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    near(place, plan, &mut cases).await?;
    if place.is_postgres() {
        far(place, plan, &mut cases).await?;
    }
    Ok(cases)
}

async fn near(place: &Place, plan: &Plan, cases: &mut Vec<Case>) -> Result<()> {
    let again = place.again().await?;
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let forgetful = Server::tidings_with(&place.binary, &again, CONNECTIONS, &FORGETFUL).await?;
    let others = Server::contenders(place, &place.url, CONNECTIONS).await?;
    let seconds = plan.seconds;
    for code in SCENES {
        let comparison = compared(place, place.scene(code), (&tidings, &forgetful, &others)).await?;
        cases.push(comparison.hold(place, plan).await?);
    }
    let all = everyone(place, place.scene("main"), (&tidings, &forgetful, &others));
    for clients in [8, 200] {
        let name = format!("2000 announcements, {clients} clients");
        cases.push(
            hold(
                place,
                plan,
                Work { name: &name, load: Load::Sustained { clients, seconds }, reset: &[] },
                &all[..all.len() - DESIGNS],
            )
            .await?,
        );
    }
    let load = Load::Burst { clients: 200 };
    cases.push(
        hold(place, plan, Work { name: "2000 announcements, 200 fresh connections", load, reset: &[] }, &all).await?,
    );
    Ok(())
}

/// With the database three milliseconds away.
async fn far(place: &Place, plan: &Plan, cases: &mut Vec<Case>) -> Result<()> {
    let (head, rest) = place.url.split_once('@').ok_or("the URL of the database names no user")?;
    let (host, path) = rest.split_once('/').ok_or("the URL names no database")?;
    let host = if host.contains(':') { host.to_owned() } else { format!("{host}:5432") };
    let address = host.to_socket_addrs()?.next().ok_or("the database's host has no address")?;
    let proxy = proxy::delay(address, Duration::from_millis(3)).await?;
    let url = format!("{head}@{proxy}/{path}");
    for connections in [CONNECTIONS, 100] {
        if !Postgres::watch(&place.url).await?.admits(4 * connections + 20).await? {
            eprintln!(
                "left out: {connections} connections, for the database's max_connections is below four times as many"
            );
            continue;
        }
        let tidings = Server::tidings(&place.binary, &url, connections).await?;
        let forgetful = Server::tidings_with(&place.binary, &url, connections, &FORGETFUL).await?;
        let others = Server::contenders(place, &url, connections).await?;
        for code in ["a199", "main"] {
            let scene = place.scene(code);
            let all = everyone(place, scene, (&tidings, &forgetful, &others));
            let load = Load::Sustained { clients: 64, seconds: plan.seconds };
            let away = "the database 3 ms away";
            let name = format!("{} announcements, 64 clients, {away}, {connections} connections", scene.announcements);
            cases.push(hold(place, plan, Work { name: &name, load, reset: &[] }, &all).await?);
        }
    }
    Ok(())
}

/// Tidings with and without its cache, and the contenders.
pub type Servers<'a> = (&'a Server, &'a Server, &'a Server);

pub async fn compared<'a>(place: &Place, scene: &Scene, servers: Servers<'a>) -> Result<Comparison<'a>> {
    let contenders = everyone(place, scene, servers);
    agree(&contenders, said).await?;
    agree(&contenders[..contenders.len() - DESIGNS], shown).await?;
    let name = format!("{} announcements, 64 clients", scene.announcements);
    Ok(Comparison { name, contenders, reset: Vec::new() })
}

/// Number of contenders that show less of an item; they come last.
const DESIGNS: usize = 3;

/// The limit (on PostgreSQL also with a statement per request), Tidings with and without its caches, and the three
/// designs.
fn everyone<'a>(place: &Place, scene: &Scene, (tidings, forgetful, others): Servers<'a>) -> Vec<Contender<'a>> {
    let letters = |design: &str| {
        let path = format!("/letters/{design}");
        let ask = |place| {
            let variables = json!({ "tenant": scene.code, "user": scene.row(place) });
            Ask::graphql("nobody asks for one", &json!({ "query": LETTERS, "variables": variables })).at(&path)
        };
        present(scene).map(ask).collect()
    };
    let anew = |place| by_user(scene, &format!("u{place}"), OVERVIEW);
    let alone = |place| Ask::get(format!("/limit/alone/{}/{}", scene.code, scene.row(place)));
    let mut all = readers(scene, tidings, others);
    // On SQLite the limit always uses one statement per request.
    if place.is_postgres() {
        all.insert(1, Contender::new(ALONE, others, present(scene).map(alone).collect()));
    }
    all.extend([
        Contender::new(ANEW, forgetful, present(scene).map(anew).collect()),
        Contender::new("v3: one batched query", others, letters("v3")),
        Contender::new("v2: queries at once", others, letters("v2")),
        Contender::new("v1: a loop", others, letters("v1")),
    ]);
    all
}

/// The limit and Tidings.
pub fn readers<'a>(scene: &Scene, tidings: &'a Server, others: &'a Server) -> Vec<Contender<'a>> {
    let limit = |place| Ask::get(format!("/limit/overview/{}/{}", scene.code, scene.row(place)));
    vec![
        Contender::new(LIMIT, others, present(scene).map(limit).collect()),
        Contender::new(TIDINGS, tidings, asks(scene).collect()),
    ]
}

/// Requests for the overviews of users with synced inboxes.
pub fn asks(scene: &Scene) -> impl Iterator<Item = Ask> {
    present(scene).map(|place| by_user(scene, &format!("u{place}"), OVERVIEW))
}

/// The code and the newest item's shown fields of each type; the three designs show fewer of them.
fn shown(answer: &Value) -> Vec<(Value, Value)> {
    types(answer).iter().map(|of| (of["type"]["code"].clone(), item(&of["latest"]))).collect()
}

fn types(answer: &Value) -> Vec<Value> {
    let data = &answer["data"];
    let types = [&answer["types"], &data["viewer"]["overview"]["types"], &data["overview"]];
    types.into_iter().find_map(Value::as_array).cloned().unwrap_or_default()
}

/// The code, unread count and newest title of each type.
pub fn said(answer: &Value) -> Vec<(String, i64, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |of: &Value| {
        let code = if of["code"].is_string() { &of["code"] } else { &of["type"]["code"] };
        let unread = if of["unread"].is_number() { &of["unread"] } else { &of["unread"]["count"] };
        (text(code), unread.as_i64().unwrap_or(-1), text(&of["latest"]["title"]))
    };
    types(answer).iter().map(one).collect()
}
