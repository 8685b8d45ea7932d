//! Polls: overviews that have not changed since the client's last request.

use auth::CallerRole;

use super::comparison::CLIENTS;
use super::overview::{OVERVIEW, asks};
use super::{CONNECTIONS, TIDINGS, present};
use crate::contest::{Contender, Work, hold};
use crate::figures::Case;
use crate::load::{Ask, Load, tag};
use crate::server::{Server, board, token};
use crate::{Place, Plan, Result};

/// Names of cases and contenders.
pub mod called {
    pub const NEAR: &str = "polls, 64 clients";
    pub const BOARD: &str = "polls with a board, 64 clients";
    /// By GET with the tag of the last response.
    pub const UNCHANGED: &str = "Tidings, 304";
}

/// On PostgreSQL measured a second time with Redis validation. No node trusts Redis while another node runs without it,
/// so there are no contenders, which are such a node.
pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let mut cases = vec![polled(place, plan, called::NEAR, &[]).await?];
    if place.is_postgres() {
        cases.push(polled(place, plan, called::BOARD, &board(&plan.ground.redis)).await?);
    }
    Ok(cases)
}

async fn polled(place: &Place, plan: &Plan, name: &str, settings: &[(&str, &str)]) -> Result<Case> {
    let scene = place.scene("main");
    let tidings = Server::tidings_with(&place.binary, &place.url, CONNECTIONS, settings).await?;
    let users = present(scene).map(|place| format!("u{place}"));
    let contenders = [
        Contender::new(TIDINGS, &tidings, asks(scene).collect()),
        Contender::new(called::UNCHANGED, &tidings, unchanged(&tidings, scene.code, users).await?),
    ];
    let load = Load::Sustained { clients: CLIENTS, seconds: plan.seconds };
    hold(place, plan, Work { name, load, reset: &[] }, &contenders).await
}

/// The same overviews by GET, each with the tag of the last response.
pub async fn unchanged(server: &Server, tenant: &str, users: impl Iterator<Item = String>) -> Result<Vec<Ask>> {
    let mut asks = Vec::new();
    for user in users {
        let ask = Ask::get(format!("/graphql?query={}", escaped(OVERVIEW)));
        let ask = ask.by(&token(tenant, &user, CallerRole::User));
        let known = tag(server.address, &ask).await?;
        asks.push(ask.unless(known));
    }
    Ok(asks)
}

/// Percent-encodes a query value: every byte that is not a letter or digit.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).into() } else { format!("%{byte:02X}") };
    text.bytes().map(byte).collect()
}
