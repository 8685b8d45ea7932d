//! Marking one item, and ten thousand.

use serde_json::json;
use tidings::auth::Role;

use super::CONNECTIONS;
use crate::contest::{Contender, Work, hold};
use crate::figures::Case;
use crate::load::{Ask, Load};
use crate::server::{Server, token};
use crate::{Place, Plan, Result, data};

const READ: &str = "mutation($s: InboxItemSelector!) { markRead(select: $s) { changedCount } }";

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let scene = place.scene("main");
    let (mut one, mut all, mut reset) = (Vec::new(), Vec::new(), Vec::new());
    for user in 0..data::SPECIAL {
        let token = token(scene.code, &format!("unread-{user}"), Role::User);
        let newest = "{ viewer { inbox(first: 1) { nodes { id } } } }";
        let item = tidings.data(&token, newest, json!({})).await?["viewer"]["inbox"]["nodes"][0]["id"].take();
        let mark =
            |select: serde_json::Value| Ask::graphql(&token, &json!({ "query": READ, "variables": { "s": select } }));
        one.push(mark(json!({ "ids": [item] })));
        all.push(mark(json!({ "matching": {} })));
        // Each time there is as much to mark as before.
        let row = scene.row(scene.users + data::SPECIAL + user);
        reset.push(format!("DELETE FROM read_mark WHERE user_id = {row}"));
        reset.push(format!("DELETE FROM tally_span WHERE user_id = {row}"));
        reset.push(format!("UPDATE inbox_item SET state = 0, read_at = NULL WHERE user_id = {row} AND state <> 0"));
    }
    let all = [Contender::new("one", &tidings, one), Contender::new("all of 10,000 unread", &tidings, all)];
    Ok(vec![hold(place, plan, Work { name: "mark read", load: Load::Once, reset: &reset }, &all).await?])
}
