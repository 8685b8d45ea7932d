//! The limit: the best statements we can write for the same responses, over tables of their own (`data/bare.rs`),
//! behind a thin handler.
//!
//! The tables serve only the four benchmark operations. Counts are stored, and each write updates them.

mod send;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use domain::{catalogue, tenant};
use serde_json::json;
use tidings::app::App;

use super::answer::{self, Kinds};
use super::driver::{Driver, Row, Statement, Value};
use super::together::Together;
use super::{Failed, Shared, json};
use crate::Result;
use crate::work::{SCENES, SENDING};
use send::{Letter, Message};

/// Columns of an item in both reading statements.
const SHOWN: &str = "n.id AS item_seq, n.kind AS item_kind, n.title AS item_title, n.body AS item_body, n.link AS item_link, \
     n.published_at AS item_published_at, s.external_id AS s_external_id, s.name AS s_name";

/// For each user one range of the key with a row per type, and two primary-key lookups per newest item.
const OVERVIEW: &str = "SELECT o.user_id AS x_user_id, o.type_id AS x_type_id, o.unread AS x_unread, o.latest AS h_last_seq, \
     o.latest_read_at AS item_read_at, {SHOWN} FROM bare_overview o JOIN bare_notification n ON n.id = o.latest \
     LEFT JOIN bare_user s ON s.id = n.sender_id WHERE o.user_id {ONE_OF} $1";

/// The end of a range of the items' key, with two lookups per item. One row more than a page shows whether there is a
/// next page.
const LIST: &str = "SELECT i.type_id AS item_type_id, i.read_at AS item_read_at, {SHOWN} FROM bare_item i \
     JOIN bare_notification n ON n.id = i.notification_id LEFT JOIN bare_user s ON s.id = n.sender_id \
     WHERE i.user_id = $1 AND i.archived_at IS NULL ORDER BY i.notification_id DESC LIMIT 21";

/// Updates an item and its count by their keys. On SQLite a trigger updates the count, without a second statement.
const MARK: &str = "WITH i AS (UPDATE bare_item SET read_at = $3 WHERE user_id = $1 AND notification_id = $2 AND \
     read_at IS NULL RETURNING user_id, type_id, notification_id) UPDATE bare_overview o SET unread = o.unread - 1, \
     latest_read_at = CASE WHEN o.latest = i.notification_id THEN $3 ELSE o.latest_read_at END FROM i \
     WHERE o.user_id = i.user_id AND o.type_id = i.type_id";
const MARK_SQLITE: &str =
    "UPDATE bare_item SET read_at = $3 WHERE user_id = $1 AND notification_id = $2 AND read_at IS NULL";

/// Users whose overviews one statement reads. On SQLite each user is read separately, because batching saves no round
/// trips.
const TOGETHER: usize = 16;

struct Limit {
    driver: Arc<Driver>,
    overviews: Together<Wanted, Vec<u8>>,
    /// Statement that reads a single overview.
    alone: Statement,
    outbox: Together<Letter, i64>,
    kinds: HashMap<&'static str, Arc<Kinds>>,
    list: Statement,
    mark: Statement,
}

/// `/limit/overview/{tenant}/{user}`, `/limit/alone/{tenant}/{user}`, `/limit/list/{tenant}/{user}`,
/// `/limit/mark/{user}/{item}` and, with a [`Message`], `/limit/send/{tenant}/{user}`. Users and items are given by
/// their rows.
pub async fn routes(url: &str, connections: u32, app: &Arc<App>) -> Result<Router> {
    let mut kinds = HashMap::new();
    for code in SCENES.into_iter().chain([SENDING]) {
        let tenant = tenant::get_or_create(app, code).await?;
        let catalogue = catalogue::load_current(app, &tenant).await?;
        let all = catalogue.types.iter().map(|kind| (kind.id, kind.code.clone(), kind.title.clone())).collect();
        kinds.insert(code, Arc::new(all));
    }
    let driver = Arc::new(Driver::open(url, connections).await?);
    let is_postgres = driver.is_postgres();
    let overview = OVERVIEW.replace("{SHOWN}", SHOWN);
    let alone = overview.replace("{ONE_OF}", "=");
    // Few concurrent batches, so that batches are full, as in Tidings.
    let (groups, most, overview) = if is_postgres {
        (2, TOGETHER, overview.replace("{ONE_OF} $1", "= ANY($1)"))
    } else {
        (connections, 1, alone.clone())
    };
    let (over, overview) = (driver.clone(), Arc::new(Statement::from(overview.as_str())));
    let limit = Limit {
        overviews: Together::new(groups, most, move |wanted| read_overviews(over.clone(), overview.clone(), wanted)),
        alone: alone.as_str().into(),
        outbox: send::outbox(driver.clone()),
        kinds,
        list: LIST.replace("{SHOWN}", SHOWN).as_str().into(),
        mark: if is_postgres { MARK.into() } else { MARK_SQLITE.into() },
        driver,
    };
    Ok(Router::new()
        .route("/limit/overview/{tenant}/{user}", get(overview_of))
        .route("/limit/alone/{tenant}/{user}", get(overview_alone))
        .route("/limit/list/{tenant}/{user}", get(list_of))
        .route("/limit/mark/{user}/{item}", get(mark))
        .route("/limit/send/{tenant}/{user}", post(send_to))
        .with_state(Arc::new(limit)))
}

type Asked = Path<(String, i64)>;

impl Limit {
    fn kinds(&self, tenant: &str) -> Result<&Arc<Kinds>> {
        Ok(self.kinds.get(tenant).ok_or("no such tenant")?)
    }
}

/// A request for a user's overview with these types.
struct Wanted {
    user: i64,
    kinds: Arc<Kinds>,
}

async fn read_overviews(driver: Arc<Driver>, statement: Arc<Statement>, wanted: Vec<Wanted>) -> Result<Vec<Vec<u8>>> {
    let users: Vec<i64> = wanted.iter().map(|of| of.user).collect();
    let read = |rows: Vec<Row<'_>>| {
        let mut by_user: HashMap<i64, Vec<Row<'_>>> = HashMap::new();
        for row in rows {
            by_user.entry(row.number("x_user_id")?.unwrap_or_default()).or_default().push(row);
        }
        let of = |wanted: &Wanted| {
            let rows = by_user.get(&wanted.user).map(Vec::as_slice).unwrap_or_default();
            answer::overview(rows, &wanted.kinds, is_read)
        };
        wanted.iter().map(of).collect()
    };
    driver.rows(&statement, &[Value::Numbers(&users)], read).await
}

async fn overview_of(State(limit): Shared<Limit>, Path((tenant, user)): Asked) -> Result<impl IntoResponse, Failed> {
    let wanted = Wanted { user, kinds: limit.kinds(&tenant)?.clone() };
    Ok(json(limit.overviews.ask(wanted).await?))
}

async fn overview_alone(State(limit): Shared<Limit>, Path((tenant, user)): Asked) -> Result<impl IntoResponse, Failed> {
    let kinds = limit.kinds(&tenant)?;
    let read = |rows: Vec<Row<'_>>| answer::overview(&rows, kinds, is_read);
    Ok(json(limit.driver.rows(&limit.alone, &[Value::Number(user)], read).await?))
}

async fn list_of(State(limit): Shared<Limit>, Path((tenant, user)): Asked) -> Result<impl IntoResponse, Failed> {
    let kinds = limit.kinds(&tenant)?;
    let read = |rows: Vec<Row<'_>>| answer::list(&rows, kinds, is_read);
    Ok(json(limit.driver.rows(&limit.list, &[Value::Number(user)], read).await?))
}

async fn mark(State(limit): Shared<Limit>, Path((user, item)): Path<(i64, i64)>) -> Result<impl IntoResponse, Failed> {
    let values = [user, item, now()].map(Value::Number);
    let changed = limit.driver.change(&limit.mark, &values).await?;
    Ok(json(json!({ "changedCount": changed }).to_string().into()))
}

async fn send_to(
    State(limit): Shared<Limit>,
    Path((tenant, user)): Asked,
    axum::Json(message): axum::Json<Message>,
) -> Result<impl IntoResponse, Failed> {
    let kind = limit.kinds(&tenant)?.iter().find(|kind| kind.1 == message.r#type).ok_or("no such type")?;
    let id = limit.outbox.ask(Letter { user, kind: kind.0.0, message }).await?;
    Ok(json(json!({ "id": id }).to_string().into()))
}

fn is_read(row: &Row<'_>) -> Result<bool> {
    Ok(row.number("item_read_at")?.is_some())
}

/// Milliseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("1970 has been");
    i64::try_from(since.as_millis()).expect("for a long time to come")
}
