//! The environment for rules: an empty inbox, and a warehouse database that the rules read.

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use auth::CallerRole;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, Statement};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::server::{Server, token};
use crate::work::CONNECTIONS;
use crate::{Place, Result, place};

pub const TENANT: &str = "warehouse";

/// Number of users; rows name them in turn.
pub const USERS: usize = 500;

/// The source, and the same source with a channel.
pub const QUIET: &str = "quiet";
pub const HEARD: &str = "heard";

/// Rows per INSERT.
const TOGETHER: usize = 500;

/// Maximum time until a rule's first run.
const PATIENCE: Duration = Duration::from_mins(1);

const TYPE: &str = "mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }";
const SAVE: &str = "mutation($i: NotificationRuleInput!) { saveNotificationRule(input: $i) { code } }";
const RUN: &str =
    "mutation($code: String!) { runNotificationRule(code: $code) { outcome error rows raised amended resolved } }";
const LAST: &str = "query($code: String!) { notificationRule(code: $code) { lastCompleteAt } }";

const TABLE: [&str; 2] = [
    "CREATE TABLE pallet (id INTEGER NOT NULL PRIMARY KEY, kind VARCHAR(20) NOT NULL, who VARCHAR(20) NOT NULL, \
     place VARCHAR(40) NOT NULL, supplier VARCHAR(60) NOT NULL, due_at VARCHAR(30) NOT NULL)",
    "CREATE INDEX pallet_kind ON pallet (kind)",
];

/// An inbox database, and a source for its rules on the same kind of database.
pub struct Ground {
    pub inbox: String,
    pub warehouse: DatabaseConnection,
    sources: PathBuf,
}

/// A rule over rows of a kind.
pub struct Rule<'a> {
    pub code: &'a str,
    pub kind: &'a str,
    pub source: &'a str,
    pub schedule: &'a str,
}

impl Ground {
    pub async fn make(place: &Place) -> Result<Self> {
        let (inbox, url) = (place.empty("inbox").await?, place.empty("warehouse").await?);
        let quiet = json!({ "name": QUIET, "url": url, "tenants": [TENANT] });
        let heard = json!({ "name": HEARD, "url": url, "tenants": [TENANT], "channel": HEARD });
        let all = if place.is_postgres() { json!([quiet, heard]) } else { json!([quiet]) };
        let sources = place::root().join("target/bench/sources.json");
        std::fs::write(&sources, all.to_string())?;
        let warehouse = Database::connect(url).await?;
        for statement in TABLE {
            warehouse.execute_unprepared(statement).await?;
        }
        Ok(Self { inbox, warehouse, sources })
    }

    /// A server with the sources and the message type of the rules.
    pub async fn server(&self, place: &Place, inbox: &str) -> Result<Server> {
        let file = self.sources.display().to_string();
        let server =
            Server::tidings_with(&place.binary, inbox, CONNECTIONS, &[("TIDINGS_SOURCES", file.as_str())]).await?;
        let title = "{{ params.supplier }} is late with {{ params.id }}";
        let body = "It was due at {{ params.place }} at {{ params.due_at }}.";
        let input = json!({ "code": "late", "title": "Late", "template": { "title": title, "body": body } });
        server.data(&admin(), TYPE, json!({ "i": input })).await?;
        Ok(server)
    }

    /// Inserts rows of a kind into the warehouse; `and` is SQL appended to the INSERT.
    pub async fn insert(&self, kind: &str, ids: Range<usize>, and: &str) -> Result<()> {
        for first in ids.clone().step_by(TOGETHER) {
            let row = |id: usize| format!("({id}, '{kind}', {})", columns(id).map(|of| format!("'{of}'")).join(", "));
            let rows: Vec<String> = (first..ids.end.min(first + TOGETHER)).map(row).collect();
            let all =
                format!("INSERT INTO pallet (id, kind, who, place, supplier, due_at) VALUES {}{and}", rows.join(", "));
            self.warehouse.execute_unprepared(&all).await?;
        }
        Ok(())
    }

    pub async fn delete(&self, ids: Range<usize>) -> Result<()> {
        let gone = format!("DELETE FROM pallet WHERE id >= {} AND id < {}", ids.start, ids.end);
        self.warehouse.execute_unprepared(&gone).await?;
        Ok(())
    }

    /// Time of a rule's SELECT over an open connection, including reading its rows, in milliseconds.
    pub async fn select(&self, kind: &str, rows: usize) -> Result<f64> {
        let statement = Statement::from_string(self.warehouse.get_database_backend(), sql(kind));
        let start = Instant::now();
        let found = self.warehouse.query_all_raw(statement).await?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        if found.len() == rows { Ok(took) } else { Err(format!("there are {} rows", found.len()).into()) }
    }
}

pub fn admin() -> String {
    token(TENANT, "admin", CallerRole::Admin)
}

fn sql(kind: &str) -> String {
    format!("SELECT id, who, place, supplier, due_at FROM pallet WHERE kind = '{kind}'")
}

/// The recipient, place, supplier and due time of a row.
fn columns(id: usize) -> [String; 4] {
    let who = format!("u{}", id % USERS);
    let place = format!("Hall {}, row {}, bay {}", id % 7, id % 90, id % 31);
    [who, place, format!("Supplier no. {} of the region", id % 100), format!("2026-11-{:02}T08:00:00Z", id % 28 + 1)]
}

/// The title of a row's notification.
pub fn title(id: usize) -> String {
    format!("{} is late with {id}", columns(id)[2])
}

/// The same notification as a message of the API.
pub fn message(id: usize) -> Value {
    let [who, place, supplier, due_at] = columns(id);
    let params = json!({ "id": id, "who": who, "place": place, "supplier": supplier, "due_at": due_at });
    json!({ "message": { "type": "late", "receiver": who, "content": { "params": params } } })
}

impl Rule<'_> {
    pub async fn save(&self, server: &Server) -> Result<()> {
        let scan = json!({ "source": self.source, "sql": sql(self.kind), "schedule": self.schedule });
        let input = json!({ "code": self.code, "type": "late", "key": ["id"], "audience": { "userColumn": "who" },
            "maxNew": 1000, "scan": scan });
        server.data(&admin(), SAVE, json!({ "i": input })).await.map(drop)
    }

    /// Saves the rule and waits for its first complete run.
    pub async fn begin(&self, server: &Server) -> Result<()> {
        self.save(server).await?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let data = server.data(&admin(), LAST, json!({ "code": self.code })).await?;
            if !data["notificationRule"]["lastCompleteAt"].is_null() {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
        Err(format!("the rule {} does not run", self.code).into())
    }

    /// Runs the rule and returns the milliseconds taken. Fails unless it found, raised and resolved these numbers of
    /// rows.
    pub async fn run(&self, server: &Server, [rows, raised, resolved]: [usize; 3]) -> Result<f64> {
        let start = Instant::now();
        let data = server.data(&admin(), RUN, json!({ "code": self.code })).await?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        let run = &data["runNotificationRule"];
        let is_right = run["outcome"] == "COMPLETE"
            && run["rows"] == rows
            && run["raised"] == raised
            && run["resolved"] == resolved
            && run["amended"] == 0;
        if is_right { Ok(took) } else { Err(format!("the rule {}: {run}", self.code).into()) }
    }
}
