//! A list of 20 items.

use serde_json::Value;

use super::comparison::{Comparison, agree, item};
use super::overview::Servers;
use super::{ANEW, CONNECTIONS, LIMIT, TIDINGS, by_user, present};
use crate::contest::Contender;
use crate::data::Scene;
use crate::figures::Case;
use crate::load::Ask;
use crate::server::{FORGETFUL, Server};
use crate::{Place, Plan, Result};

pub const LIST: &str = "{ viewer { inbox(first: 20) { edges { cursor node { id kind type { code } title body link createdAt \
    isRead sender { id name } } } pageInfo { hasNextPage endCursor } } } }";

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let again = place.again().await?;
    let forgetful = Server::tidings_with(&place.binary, &again, CONNECTIONS, &FORGETFUL).await?;
    let others = Server::contenders(place, &place.url, CONNECTIONS).await?;
    Ok(vec![compared(place, (&tidings, &forgetful, &others)).await?.hold(place, plan).await?])
}

pub async fn compared<'a>(place: &Place, (tidings, forgetful, others): Servers<'a>) -> Result<Comparison<'a>> {
    let scene = place.scene("main");
    let anew = |user: i64| by_user(scene, &format!("u{user}"), LIST);
    let mut contenders = readers(scene, present(scene), tidings, others);
    contenders.push(Contender::new(ANEW, forgetful, present(scene).map(anew).collect()));
    agree(&contenders, said).await?;
    Ok(Comparison { name: "list of 20, 64 clients".into(), contenders, reset: Vec::new() })
}

/// The limit and Tidings, with requests for the lists of these users.
pub fn readers<'a>(
    scene: &Scene,
    users: impl Iterator<Item = i64>,
    tidings: &'a Server,
    others: &'a Server,
) -> Vec<Contender<'a>> {
    let limit = |place: i64| Ask::get(format!("/limit/list/{}/{}", scene.code, scene.row(place)));
    let ours = |place: i64| by_user(scene, &format!("u{place}"), LIST);
    let (limit, ours) = users.map(|place| (limit(place), ours(place))).unzip();
    vec![Contender::new(LIMIT, others, limit), Contender::new(TIDINGS, tidings, ours)]
}

/// The code of the type and the shown fields of each item.
pub fn said(answer: &Value) -> Vec<(Value, Value)> {
    let edges = answer["data"]["viewer"]["inbox"]["edges"].as_array();
    let nodes = edges.map(|edges| edges.iter().map(|edge| &edge["node"]).collect::<Vec<_>>());
    let nodes = nodes.or_else(|| Some(answer.as_array()?.iter().collect())).unwrap_or_default();
    let code = |node: &Value| if node["type"].is_string() { &node["type"] } else { &node["type"]["code"] }.clone();
    nodes.into_iter().map(|node| (code(node), item(node))).collect()
}
