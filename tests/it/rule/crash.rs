//! Servers that die or hang in the middle of a run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::warehouse::{Dice, Rows, Warehouse, changed, inboxes_show, input, running};
use super::{SAVE, catalogue, many};
use crate::support::{Kind, Process, TestApp, TestDatabase, config};

/// Servers with one database, and a rule that scans a warehouse on request.
struct Nodes {
    app: TestApp,
    warehouse: Warehouse,
    all: Vec<Process>,
    token: String,
    database: TestDatabase,
}

impl Nodes {
    /// Starts two servers, or one with SQLite. `None` if a database is missing.
    async fn start(kind: Kind, of: Kind, sql: &str) -> Option<Self> {
        let database = kind.make().await?;
        let warehouse = Warehouse::make(of, json!({})).await?;
        let mut settings = config(&database.url);
        settings.sources.sources = Some(warehouse.file());
        let app = TestApp::configured(settings).await;
        catalogue(&app).await;
        let file = warehouse.file().display().to_string();
        let further = [("TIDINGS_SOURCES", file.as_str()), ("TIDINGS_RATE", "0")];
        let mut all = vec![Process::start_with(&database.url, &further, None).await];
        if kind != Kind::Sqlite {
            all.push(Process::start_with(&database.url, &further, None).await);
        }
        let (admin, token) = (app.admin().token.clone(), app.service().token.clone());
        let scan = json!({ "source": "wms", "sql": sql, "schedule": "0 0 1 1 *" });
        all[0].ask(&admin, SAVE, json!({ "input": input(&json!({ "scan": scan })) })).await.expect("the rule is made");
        Some(Self { app, warehouse, all, token, database })
    }

    async fn run(&self, node: usize) -> Option<Value> {
        let mut done = self.all[node].ask(&self.token, &running(), json!({})).await?;
        Some(done["runNotificationRule"].take())
    }

    /// Runs the rule as soon as possible, as if the previous owner's lease had expired.
    async fn run_next(&self, node: usize) -> Value {
        loop {
            // The previous owner's statements may take effect only now.
            self.app.by_hand("UPDATE rule SET lease_until = 0").await;
            if let Some(done) = self.run(node).await {
                return done;
            }
        }
    }

    async fn remove(self) {
        drop(self.all);
        self.app.app.db.close().await;
        self.database.remove().await;
        self.warehouse.remove().await;
    }
}

const ALL: &str = "SELECT id, state, who FROM pallet";

/// A thousand rows are added, changed and removed while two servers are killed twenty times at any point of their runs.
/// The other server finishes each run, and raises nothing twice.
async fn survives_kill(kind: Kind, of: Kind) {
    let Some(mut nodes) = Nodes::start(kind, of, ALL).await else { return };
    let (mut rows, mut dice, mut raised) = (Rows::new(), Dice(11), 0);
    // The duration of the last run that was not cut off, in milliseconds.
    let mut longest = 60;
    for round in 0..20_u64 {
        raised += changed(&mut rows, &mut dice, (800, 1000));
        nodes.warehouse.holds(&rows).await;
        let victim = usize::try_from(round).unwrap() % nodes.all.len();
        let cut = Duration::from_millis(3 + dice.below(longest));
        // It may have ended before.
        let _ = tokio::time::timeout(cut, nodes.run(victim)).await;
        nodes.all[victim].kill_and_start().await;
        let began = Instant::now();
        let done = nodes.run_next((victim + 1) % nodes.all.len()).await;
        longest = u64::try_from(began.elapsed().as_millis()).unwrap().clamp(60, 2000);
        assert_eq!(done["outcome"], "COMPLETE");
        inboxes_show(&nodes.app, &rows, &format!("round {round}")).await;
        assert_eq!(many(&nodes.app, "notification").await, i64::try_from(raised).unwrap(), "round {round}");
        assert_eq!(many(&nodes.app, "rule_row").await, i64::try_from(rows.len()).unwrap(), "round {round}");
    }
    nodes.remove().await;
}

#[tokio::test]
async fn a_server_killed_while_it_runs_a_rule_repeats_nothing_sqlite() {
    survives_kill(Kind::Sqlite, Kind::Postgres).await;
}

#[tokio::test]
async fn a_server_killed_while_it_runs_a_rule_repeats_nothing_postgres() {
    survives_kill(Kind::Postgres, Kind::Mysql).await;
}

#[tokio::test]
async fn a_server_killed_while_it_runs_a_rule_repeats_nothing_mysql() {
    survives_kill(Kind::Mysql, Kind::Sqlite).await;
}

/// A server hangs while its source responds, and another one runs the rule with a newer table. The first then continues
/// with the old result, and changes nothing.
async fn who_stood_still_changes_nothing(kind: Kind) {
    let slow = "SELECT id, state, who FROM pallet, (SELECT pg_sleep(1)) AS nap";
    let Some(nodes) = Nodes::start(kind, Kind::Postgres, slow).await else { return };
    let (mut rows, mut dice) = (Rows::new(), Dice(5));
    for round in 0..3 {
        changed(&mut rows, &mut dice, (30, 60));
        let when = format!("round {round}");
        nodes.warehouse.holds(&rows).await;
        let old = nodes.run(0);
        let newer = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            nodes.all[0].stand_still();
            changed(&mut rows, &mut dice, (30, 60));
            nodes.warehouse.holds(&rows).await;
            assert_eq!(nodes.run_next(1).await["outcome"], "COMPLETE", "{when}");
            inboxes_show(&nodes.app, &rows, &when).await;
            nodes.all[0].go_on();
        };
        let (lost, ()) = futures_util::future::join(old, newer).await;
        assert_eq!(lost, None, "whoever asked is told that it was not done");
        inboxes_show(&nodes.app, &rows, &when).await;
        assert_eq!(many(&nodes.app, "rule_run").await, round + 1, "{when}");
    }
    nodes.remove().await;
}

#[tokio::test]
async fn a_server_that_stood_still_changes_nothing_postgres() {
    who_stood_still_changes_nothing(Kind::Postgres).await;
}

#[tokio::test]
async fn a_server_that_stood_still_changes_nothing_mysql() {
    who_stood_still_changes_nothing(Kind::Mysql).await;
}
