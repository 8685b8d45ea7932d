//! The kinds of work, one file each.

mod comparison;
pub mod delivery;
mod large;
pub mod list;
pub mod live;
pub mod mark;
pub mod overview;
pub mod poll;
pub mod rules;
pub mod send;
pub mod start;
mod visit;

pub use comparison::Comparison;

use auth::CallerRole;
use serde_json::json;

use crate::data::Scene;
use crate::figures::Case;
use crate::load::Ask;
use crate::server::token;
use crate::{Place, Plan, Result};

/// All kinds, as named in results and commands.
pub const ALL: [&str; 11] =
    ["overview", "poll", "large", "list", "mark", "send", "visit", "live", "rules", "delivery", "start"];

/// Tenants for overviews and lists.
pub const SCENES: [&str; 4] = ["main", "a632", "a199", "a20"];

/// The tenant to send to.
pub const SENDING: &str = "sending";

/// The best statements for the same responses, behind as little code as possible.
pub const LIMIT: &str = "limit";
/// The limit with one statement per request.
pub const ALONE: &str = "limit, a statement a request";
pub const TIDINGS: &str = "Tidings";
/// Tidings without its cache of overviews.
pub const ANEW: &str = "Tidings, each read anew";

/// Default number of connections to the database.
pub const CONNECTIONS: usize = 16;

pub async fn run(what: &str, place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    match what {
        "overview" => overview::run(place, plan).await,
        "poll" => poll::run(place, plan).await,
        "large" => large::run(place, plan).await,
        "list" => list::run(place, plan).await,
        "mark" => mark::run(place, plan).await,
        "send" => send::run(place, plan).await,
        "visit" => visit::run(place, plan).await,
        "live" => live::run(place, plan).await,
        "rules" => rules::run(place, plan).await,
        "delivery" => delivery::run(place, plan).await,
        "start" => start::run(place, plan).await,
        _ => Err(format!("there is no work called {what}").into()),
    }
}

/// Users with synced inboxes, in scattered order.
fn present(scene: &Scene) -> impl Iterator<Item = i64> {
    let present = scene.present;
    (0..present).map(move |place| place * 7 % present)
}

/// A query of a user.
fn by_user(scene: &Scene, user: &str, query: &str) -> Ask {
    Ask::graphql(&token(scene.code, user, CallerRole::User), &json!({ "query": query }))
}
