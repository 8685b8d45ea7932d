//! Overviews of users with large inboxes, compared with that of an ordinary user, one request after the other.

use super::{CONNECTIONS, by_user};
use crate::contest::{Contender, Work, hold};
use crate::figures::Case;
use crate::load::Load;
use crate::server::{FORGETFUL, Server};
use crate::work::overview::OVERVIEW;
use crate::{Place, Plan, Result, data};

const EXACT: &str = "{ viewer { overview { unread { count exact } types { type { code title } unread { count exact } \
    latest { id kind title body link createdAt isRead sender { id name } } } cursor } } }";

/// Requests per turn.
const REQUESTS: usize = 300;

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let again = place.again().await?;
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let scene = place.scene("main");
    let mut cases = Vec::new();
    let forgetful = Server::tidings_with(&place.binary, &again, CONNECTIONS, &FORGETFUL).await?;
    for (name, query, server) in [
        ("overview, capped at 99", OVERVIEW, &tidings),
        ("overview, exact", EXACT, &tidings),
        ("overview, capped at 99, each read anew", OVERVIEW, &forgetful),
        ("overview, exact, each read anew", EXACT, &forgetful),
    ] {
        let special = |title: &str, name: &str| {
            let asks = (0..data::SPECIAL).map(|place| by_user(scene, &format!("{name}-{place}"), query)).collect();
            Contender::new(title, server, asks)
        };
        let ordinary = (0..5).map(|place| by_user(scene, &format!("u{}", place * 11), query)).collect();
        let all = [
            Contender::new("ordinary", server, ordinary),
            special("5,000 subscriptions", "subs"),
            special("10,000 unread", "unread"),
            special("28,000 items", "items"),
        ];
        let work = Work { name, load: Load::Alone { requests: REQUESTS }, reset: &[] };
        cases.push(hold(place, plan, work, &all).await?);
    }
    Ok(cases)
}
