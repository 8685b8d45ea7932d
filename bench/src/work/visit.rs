//! First visit of a user who was away as long as the log reaches: 1,200 announcements enter the inbox.

use super::{CONNECTIONS, by_user};
use crate::contest::{Contender, Work, hold};
use crate::figures::Case;
use crate::load::Load;
use crate::server::Server;
use crate::work::overview::OVERVIEW;
use crate::{Place, Plan, Result};

/// Visitors per turn.
const VISITORS: i64 = 20;

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let scene = place.scene("main");
    let visitors = |first: i64| (first..first + VISITORS).map(|place| by_user(scene, &format!("u{place}"), OVERVIEW));
    let (first, last) = (scene.present, scene.present + VISITORS - 1);
    let rows = format!("BETWEEN {} AND {}", scene.row(first), scene.row(last));
    let announced = "SELECT p.seq FROM publication p JOIN tenant t ON t.id = p.tenant_id WHERE t.code = 'main'";
    let reset = [
        format!("DELETE FROM inbox_item WHERE user_id {rows} AND seq IN ({announced})"),
        format!("DELETE FROM tally_span WHERE user_id {rows}"),
        format!("UPDATE users SET cursor_seq = 0 WHERE id {rows}"),
    ];
    let all = [
        Contender::new("a user who is there", &tidings, visitors(0).collect()),
        Contender::new("a first visit, which makes 1,200 items", &tidings, visitors(first).collect()),
    ];
    let work = Work { name: "overview, one after the other", load: Load::Once, reset: &reset };
    Ok(vec![hold(place, plan, work, &all).await?])
}
