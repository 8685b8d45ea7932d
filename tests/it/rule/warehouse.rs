//! An external database, and a rule that scans it.

use std::collections::BTreeMap;
use std::time::Duration;

use rules::RuleScanner;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{RUN, SAVE, catalogue, figures, many, titles};
use crate::support::{Kind, PATIENCE, TestApp, TestDatabase, with_settings};

/// An external database with a table of pallets, and the sources file that names it.
pub struct Warehouse {
    pub database: TestDatabase,
    pub owner: DatabaseConnection,
    folder: TempDir,
}

impl Warehouse {
    /// Creates a database of a kind, with additional settings. `None` if no server of the kind is reachable.
    pub async fn make(kind: Kind, settings: Value) -> Option<Self> {
        let database = kind.make().await?;
        let owner = Database::connect(&database.url).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut entry = json!({ "name": "wms", "url": database.url, "tenants": ["acme"] });
        entry.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        std::fs::write(folder.path().join("sources.json"), json!([entry]).to_string()).unwrap();
        let of = Self { database, owner, folder };
        of.by_hand("CREATE TABLE pallet (id INTEGER NOT NULL PRIMARY KEY, state VARCHAR(20), who VARCHAR(20))").await;
        Some(of)
    }

    pub fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("sources.json")
    }

    pub async fn by_hand(&self, statement: &str) {
        self.owner.execute_unprepared(statement).await.unwrap();
    }

    /// Replaces the content of the table with these rows.
    pub async fn holds(&self, rows: &Rows) {
        let values: Vec<String> = rows.iter().map(|(id, (state, who))| format!("({id}, '{state}', '{who}')")).collect();
        let insert = match values.as_slice() {
            [] => String::new(),
            values => format!("INSERT INTO pallet VALUES {};", values.join(", ")),
        };
        self.by_hand(&format!("BEGIN; DELETE FROM pallet; {insert} COMMIT")).await;
    }

    pub async fn remove(self) {
        self.owner.close().await.unwrap();
        self.database.remove().await;
    }
}

/// Runs a test with an inbox database of one kind and a warehouse of another.
pub async fn over(kind: Kind, of: Kind, settings: Value, test: impl AsyncFnOnce(&TestApp, &Warehouse)) {
    let Some(warehouse) = Warehouse::make(of, settings).await else { return };
    let file = warehouse.file();
    let change = |config: &mut base::config::ServerConfig| config.sources.sources = Some(file);
    with_settings(kind, change, async |app| {
        catalogue(app).await;
        test(app, &warehouse).await;
        app.app.rules.sources.close().await;
    })
    .await;
    warehouse.remove().await;
}

/// The input of a rule that scans, with changes.
pub fn input(changes: &Value) -> Value {
    let scan = json!({ "source": "wms", "sql": "SELECT id, state, who FROM pallet", "schedule": "@every 30s" });
    let mut input = super::input(&json!({ "scan": scan, "maxNew": 1000 }));
    for (name, value) in changes.as_object().unwrap() {
        input[name] = value.clone();
    }
    input
}

pub async fn save(app: &TestApp, changes: Value) {
    app.admin().ask(SAVE, json!({ "input": input(&changes) })).await;
}

pub fn running() -> String {
    format!("mutation {{ runNotificationRule(code: \"low\") {{ {RUN} }} }}")
}

/// Runs the rule now. Returns the raised, amended and resolved counts and the outcome.
pub async fn run(app: &TestApp) -> (i64, i64, i64, String) {
    figures(&app.service().ask(&running(), json!({})).await["runNotificationRule"])
}

pub fn ended(outcome: &str) -> (i64, i64, i64, String) {
    (0, 0, 0, outcome.to_owned())
}

/// Runs all due rules until there have been this many runs.
pub async fn until_runs(app: &TestApp, scanner: &RuleScanner, runs: i64) {
    for _ in 0..PATIENCE.as_millis() / 20 {
        scanner.start_due_scans(&app.app.rules).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        if many(app, "rule_run").await >= runs {
            return;
        }
    }
    panic!("it does not run");
}

/// Pseudo-random numbers, the same in each run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

pub const USERS: [&str; 3] = ["ada", "ben", "eve"];

/// A table of pallets by id: their state, and the user to notify.
pub type Rows = BTreeMap<i64, (String, String)>;

/// Changes up to this many rows of a table with a maximum size. Returns the number of new rows.
pub fn changed(rows: &mut Rows, dice: &mut Dice, (changes, most): (u64, u64)) -> usize {
    let before: Vec<i64> = rows.keys().copied().collect();
    for _ in 0..=dice.below(changes) {
        let id = i64::try_from(dice.below(most)).unwrap();
        if dice.below(3) == 0 {
            rows.remove(&id);
        } else {
            // The user of a row stays, since an amendment goes to the users who have it.
            let who = USERS[usize::try_from(id % 3).unwrap()];
            rows.entry(id).or_insert_with(|| (String::new(), who.to_owned())).0 = format!("s{}", dice.below(4));
        }
    }
    rows.keys().filter(|id| before.binary_search(id).is_err()).count()
}

/// Checks that inboxes and their counts show exactly the rows of the table.
pub async fn inboxes_show(app: &TestApp, rows: &Rows, when: &str) {
    for user in USERS {
        let theirs = rows.iter().filter(|(_, (_, who))| who == user);
        let mut expected: Vec<String> = theirs.map(|(id, (state, _))| format!("{id}: {state}")).collect();
        expected.sort();
        let mut seen = titles(app.user(user)).await;
        seen.sort();
        assert_eq!(seen, expected, "{when}");
        assert_eq!(app.user(user).overview().await.last().unwrap(), &format!("= {}", seen.len()), "{when}");
    }
}
