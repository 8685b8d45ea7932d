//! A list of 20.

use super::{CONNECTIONS, by_user, present};
use crate::contest::{Contender, Work, hold};
use crate::figures::Case;
use crate::load::{Ask, Load};
use crate::server::Server;
use crate::{Place, Plan, Result};

const LIST: &str = "{ viewer { inbox(first: 20) { edges { cursor node { id kind type { code } title body link createdAt \
    isRead sender { id name } } } pageInfo { hasNextPage endCursor } } } }";

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let others = Server::contenders(place, &place.url, CONNECTIONS).await?;
    let scene = place.scene("main");
    let limit = |place| Ask::get(format!("/limit/list/{}/{}", scene.code, scene.row(place)));
    let ours = |place| by_user(scene, &format!("u{place}"), LIST);
    let all = [
        Contender::new("limit", &others, present(scene).map(limit).collect()),
        Contender::new("Tidings", &tidings, present(scene).map(ours).collect()),
    ];
    let load = Load::Sustained { clients: 64, seconds: plan.seconds };
    Ok(vec![hold(place, plan, Work { name: "list of 20, 64 clients", load, reset: &[] }, &all).await?])
}
