//! Marking one item, compared with its limit; and ten thousand.

use std::collections::HashMap;

use auth::CallerRole;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::{Value, json};
use store::{Database, connect};

use super::comparison::{Comparison, agree};
use super::{CONNECTIONS, LIMIT, TIDINGS, list, overview, present};
use crate::contest::{Contender, Work, hold, put_back};
use crate::data::Scene;
use crate::figures::Case;
use crate::load::{Ask, Load};
use crate::server::{Server, token};
use crate::{Place, Plan, Result, data};

const READ: &str = "mutation($s: InboxItemSelector!) { markRead(select: $s) { changedCount } }";

/// The bell's mutation: it reads the counts afterwards, and not the number of changed items.
const UNCOUNTED: &str = "mutation($s: InboxItemSelector!) { markRead(select: $s) { affectedTypes { code } } }";

/// Maximum unread items of each user that are marked in a turn: together more than any turn uses up.
const EACH: usize = 40;

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let tidings = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let others = Server::contenders(place, &place.url, CONNECTIONS).await?;
    let one = compared(place, &tidings, &others).await?.hold(place, plan).await?;
    let mut cases = vec![one, many(place, plan, &tidings).await?];
    // No node trusts Redis while these servers run without it.
    drop((tidings, others));
    if place.is_postgres() {
        let (tidings, others) = Server::with_board(place, &plan.ground.redis, CONNECTIONS).await?;
        let name = "mark one with a board, 64 clients".into();
        cases.push(Comparison { name, ..compared(place, &tidings, &others).await? }.hold(place, plan).await?);
    }
    Ok(cases)
}

fn mark(token: &str, select: &Value) -> Ask {
    marked(token, READ, select)
}

fn marked(token: &str, query: &str, select: &Value) -> Ask {
    Ask::graphql(token, &json!({ "query": query, "variables": { "s": select } }))
}

/// Users in turn; each marks their newest unread items one after the other.
pub async fn compared<'a>(place: &Place, tidings: &'a Server, others: &'a Server) -> Result<Comparison<'a>> {
    let scene = place.scene("main");
    let db = connect(&place.url, 2).await?;
    let reset = reset(scene);
    put_back(&db, &reset).await?;
    let unread = unread(&db, scene).await?;
    let (mut ours, mut limit) = (Vec::new(), Vec::new());
    let query = format!("{{ viewer {{ inbox(first: {EACH}, filter: {{ read: false }}) {{ nodes {{ id }} }} }} }}");
    for user in present(scene) {
        let token = token(scene.code, &format!("u{user}"), CallerRole::User);
        let ids = tidings.data(&token, &query, json!({})).await?["viewer"]["inbox"]["nodes"].take();
        let ids = ids.as_array().cloned().unwrap_or_default();
        let row = scene.row(user);
        let bare = unread.get(&row).into_iter().flatten().take(EACH);
        ours.push(ids.iter().map(|node| mark(&token, &json!({ "ids": [node["id"]] }))).collect());
        limit.push(bare.map(|item| Ask::get(format!("/limit/mark/{row}/{item}"))).collect());
    }
    let contenders =
        vec![Contender::new(LIMIT, others, in_turn(&limit)), Contender::new(TIDINGS, tidings, in_turn(&ours))];
    // Each contender marks the same items once, then again without effect; afterwards both must show the same.
    for _ in 0..2 {
        agree(&contenders, said).await?;
    }
    agree(&list::readers(scene, present(scene), tidings, others), list::said).await?;
    agree(&overview::readers(scene, tidings, others), overview::said).await?;
    put_back(&db, &reset).await?;
    Ok(Comparison { name: "mark one, 64 clients".into(), contenders, reset })
}

/// Makes everything unread that was marked since the data was generated. Raising the users' versions invalidates cached
/// overviews.
fn reset(scene: &Scene) -> Vec<String> {
    let users = format!("BETWEEN {} AND {}", scene.row(0), scene.row(scene.present - 1));
    let made = format!("(SELECT published_at + 60000 FROM tenant WHERE code = '{}')", scene.code);
    let marked = format!("user_id {users} AND read_at > {made}");
    vec![
        format!("UPDATE inbox_item SET state = 0, read_at = NULL WHERE {marked}"),
        format!("UPDATE users SET version = version + 1 WHERE id {users}"),
        format!(
            "UPDATE bare_overview SET unread = unread + many, latest_read_at = CASE WHEN newest = latest THEN NULL \
             ELSE latest_read_at END FROM (SELECT user_id AS of, type_id AS kind, count(*) AS many, \
             max(notification_id) AS newest FROM bare_item WHERE {marked} GROUP BY user_id, type_id) m \
             WHERE user_id = m.of AND type_id = m.kind"
        ),
        format!("UPDATE bare_item SET read_at = NULL WHERE {marked}"),
    ]
}

/// The unread items in the tables of the limit, newest first, by the user's row.
async fn unread(db: &Database, scene: &Scene) -> Result<HashMap<i64, Vec<i64>>> {
    let text = format!(
        "SELECT user_id, notification_id FROM bare_item WHERE user_id BETWEEN {} AND {} AND read_at IS NULL \
         AND archived_at IS NULL ORDER BY notification_id DESC",
        scene.row(0),
        scene.row(scene.present - 1)
    );
    let mut unread: HashMap<i64, Vec<i64>> = HashMap::new();
    for row in db.read.query_all_raw(Statement::from_string(db.backend(), text)).await? {
        unread.entry(row.try_get("", "user_id")?).or_default().push(row.try_get("", "notification_id")?);
    }
    Ok(unread)
}

/// The first of each user, then the second of each.
fn in_turn(all: &[Vec<Ask>]) -> Vec<Ask> {
    (0..EACH).flat_map(|place| all.iter().filter_map(move |of| of.get(place).cloned())).collect()
}

fn said(answer: &Value) -> Vec<Value> {
    let of = if answer["data"].is_object() { &answer["data"]["markRead"] } else { answer };
    vec![of["changedCount"].clone()]
}

/// Marks one item, and ten thousand with and without counting them.
async fn many(place: &Place, plan: &Plan, tidings: &Server) -> Result<Case> {
    let scene = place.scene("main");
    let (mut one, mut all, mut uncounted, mut reset) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for user in 0..data::SPECIAL {
        let token = token(scene.code, &format!("unread-{user}"), CallerRole::User);
        let newest = "{ viewer { inbox(first: 1) { nodes { id } } } }";
        let item = tidings.data(&token, newest, json!({})).await?["viewer"]["inbox"]["nodes"][0]["id"].take();
        one.push(mark(&token, &json!({ "ids": [item] })));
        all.push(mark(&token, &json!({ "matching": {} })));
        uncounted.push(marked(&token, UNCOUNTED, &json!({ "matching": {} })));
        // Restores the same number of unread items each time.
        let row = scene.row(scene.users + data::SPECIAL + user);
        reset.push(format!("DELETE FROM read_mark WHERE user_id = {row}"));
        reset.push(format!("DELETE FROM tally_span WHERE user_id = {row}"));
        reset.push(format!("UPDATE inbox_item SET state = 0, read_at = NULL WHERE user_id = {row} AND state <> 0"));
    }
    let all = [
        Contender::new("one", tidings, one),
        Contender::new("all of 10,000 unread", tidings, all),
        Contender::new("the same, not counted", tidings, uncounted),
    ];
    hold(place, plan, Work { name: "mark read", load: Load::Once, reset: &reset }, &all).await
}
