//! The overview of ordinary users: 8 types, each with its unread count and its newest item.

use std::net::ToSocketAddrs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{CONNECTIONS, SCENES, by_user, present};
use crate::contest::{Contender, Work, hold};
use crate::data::Scene;
use crate::figures::Case;
use crate::load::{Ask, Load};
use crate::machine::Postgres;
use crate::server::{FORGETFUL, Server};
use crate::{Place, Plan, Result, proxy};

/// What a page of a product asks for.
pub const OVERVIEW: &str = "{ viewer { overview(cap: 99) { unread { count exact } types { type { code title } \
    unread { count exact } latest { id kind title body link createdAt isRead sender { id name } } } cursor } } }";

/// Tidings without what it remembers.
pub const ANEW: &str = "Tidings, each read anew";

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
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let forgetful = Server::tidings_with(&place.binary, &place.url, CONNECTIONS, &FORGETFUL).await?;
    let others = Server::contenders(place, &place.url, CONNECTIONS).await?;
    let seconds = plan.seconds;
    for code in SCENES {
        let scene = place.scene(code);
        let all = everyone(scene, &tidings, &forgetful, &others);
        agree(&all).await?;
        let name = format!("{} announcements, 64 clients", scene.announcements);
        cases.push(
            hold(place, plan, Work { name: &name, load: Load::Sustained { clients: 64, seconds }, reset: &[] }, &all)
                .await?,
        );
    }
    let all = everyone(place.scene("main"), &tidings, &forgetful, &others);
    for clients in [8, 200] {
        let name = format!("2000 announcements, {clients} clients");
        cases.push(
            hold(place, plan, Work { name: &name, load: Load::Sustained { clients, seconds }, reset: &[] }, &all[..3])
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
            let all = everyone(scene, &tidings, &forgetful, &others);
            let load = Load::Sustained { clients: 64, seconds: plan.seconds };
            let away = "the database 3 ms away";
            let name = format!("{} announcements, 64 clients, {away}, {connections} connections", scene.announcements);
            cases.push(hold(place, plan, Work { name: &name, load, reset: &[] }, &all).await?);
        }
    }
    Ok(())
}

/// Tidings with and without what it remembers, its limit, and the three designs.
fn everyone<'a>(scene: &Scene, tidings: &'a Server, forgetful: &'a Server, others: &'a Server) -> Vec<Contender<'a>> {
    let letters = |design: &str| {
        let path = format!("/letters/{design}");
        let ask = |place| {
            let variables = json!({ "tenant": scene.code, "user": scene.row(place) });
            Ask::graphql("nobody asks for one", &json!({ "query": LETTERS, "variables": variables })).at(&path)
        };
        present(scene).map(ask).collect()
    };
    let limit = |place| Ask::get(format!("/limit/overview/{}/{}", scene.code, scene.row(place)));
    let ours = |place| by_user(scene, &format!("u{place}"), OVERVIEW);
    let anew = present(scene).map(ours).collect();
    vec![
        Contender::new("limit", others, present(scene).map(limit).collect()),
        Contender::new("Tidings", tidings, present(scene).map(ours).collect()),
        Contender::new(ANEW, forgetful, anew),
        Contender::new("v3: one batched query", others, letters("v3")),
        Contender::new("v2: queries at once", others, letters("v2")),
        Contender::new("v1: a loop", others, letters("v1")),
    ]
}

/// Fails unless all of them answer the same of the same user.
async fn agree(all: &[Contender<'_>]) -> Result<()> {
    let expected = said(&all[0].sample().await?);
    if !expected.iter().any(|(_, unread, _)| *unread > 0) {
        return Err("a user has nothing unread, so there is nothing to compare".into());
    }
    for contender in &all[1..] {
        let said = said(&contender.sample().await?);
        if said != expected {
            return Err(format!("{} says {said:?}, the limit {expected:?}", contender.name()).into());
        }
    }
    Ok(())
}

/// Of each type its code, how many are unread, and the title of the newest.
fn said(answer: &Value) -> Vec<(String, i64, String)> {
    let data = &answer["data"];
    let types = [&answer["types"], &data["viewer"]["overview"]["types"], &data["overview"]];
    let types = types.into_iter().find_map(Value::as_array).cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |of: &Value| {
        let code = if of["code"].is_string() { &of["code"] } else { &of["type"]["code"] };
        let unread = if of["unread"].is_number() { &of["unread"] } else { &of["unread"]["count"] };
        (text(code), unread.as_i64().unwrap_or(-1), text(&of["latest"]["title"]))
    };
    types.iter().map(one).collect()
}
