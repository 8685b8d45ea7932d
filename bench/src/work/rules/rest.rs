//! Idle cost of a server with rules.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sea_orm::{ConnectionTrait, Statement};
use store::{Database, connect};
use tokio::time::sleep;

use super::called;
use super::ground::{Ground, QUIET, Rule};
use crate::figures::{Case, Measured, named};
use crate::machine::{self, Postgres};
use crate::server::Server;
use crate::{Place, Plan, Result};

const RULES: usize = 1000;

/// Seconds between runs of a rule: together 100 runs a minute.
const PERIOD: usize = 600;

/// Kinds of rows, each read by ten rules, and rows per kind.
const KINDS: usize = 100;
const ROWS: usize = 10;

/// Id of the first row.
const FIRST: usize = 1_000_000;

/// Time for start-up work to end.
const SETTLE: Duration = Duration::from_secs(5);

/// Length of a turn, regardless of the plan: a minute includes everything that runs once a minute.
const TURN: Duration = Duration::from_mins(1);

/// Maximum time until each rule has run once.
const PATIENCE: Duration = Duration::from_mins(5);

/// Servers with and without rules, in turns.
pub async fn run(place: &Place, plan: &Plan, ground: &Ground) -> Result<Case> {
    let (without, with) = (place.empty("none").await?, place.empty("thousand").await?);
    let postgres = Postgres::watch(&place.url).await?;
    let db = begin(place, ground, &with).await?;
    let mut all = [Measured::new(called::WITHOUT), Measured::new(called::WITH)];
    for round in 0..plan.rounds.min(3) {
        eprintln!("rules at rest: round {round}");
        turn(&mut all[0], &ground.server(place, &without).await?, &postgres).await?;
        spread(&db).await?;
        let before = last(&db).await?;
        turn(&mut all[1], &ground.server(place, &with).await?, &postgres).await?;
        let ran = number(&db, &format!("SELECT COUNT(*) AS number FROM rule WHERE complete_at > {before}")).await?;
        all[1].add("runs a minute", ran as f64 / (SETTLE + TURN).as_secs_f64() * 60.0);
    }
    Ok(Case { name: called::REST.into(), contenders: all.into() })
}

/// Creates the rules in an inbox, and waits until each has run once.
async fn begin(place: &Place, ground: &Ground, inbox: &str) -> Result<Database> {
    let kind = |number: usize| format!("rest-{}", number % KINDS);
    for number in 0..KINDS {
        let first = FIRST + number * ROWS;
        ground.insert(&kind(number), first..first + ROWS, "").await?;
    }
    let server = ground.server(place, inbox).await?;
    let schedule = format!("@every {PERIOD}s");
    for number in 0..RULES {
        let code = format!("rest-{number}");
        Rule { code: &code, kind: &kind(number), source: QUIET, schedule: &schedule }.save(&server).await?;
    }
    let db = connect(inbox, 2).await?;
    let until = Instant::now() + PATIENCE;
    while number(&db, "SELECT COUNT(*) AS number FROM rule WHERE complete_at IS NULL").await? > 0 {
        if Instant::now() > until {
            return Err("some rules do not run".into());
        }
        sleep(Duration::from_millis(200)).await;
    }
    Ok(db)
}

/// Spreads their due times evenly, as if the rules had been created at different times.
async fn spread(db: &Database) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let apart = PERIOD * 1000 / RULES;
    let txn = db.begin().await?;
    let first = "(SELECT MIN(id) FROM rule)";
    txn.execute_unprepared(&format!("UPDATE rule SET due_at = {now} + (id - {first}) * {apart}")).await?;
    txn.commit().await?;
    Ok(())
}

async fn last(db: &Database) -> Result<i64> {
    number(db, "SELECT MAX(complete_at) AS number FROM rule").await
}

async fn number(db: &Database, statement: &str) -> Result<i64> {
    let row = db.read.query_one_raw(Statement::from_string(db.backend(), statement)).await?;
    Ok(row.ok_or("there is no number")?.try_get("", "number")?)
}

async fn turn(measured: &mut Measured, server: &Server, postgres: &Postgres) -> Result<()> {
    sleep(SETTLE).await;
    let before = (machine::cpu(server.pid())?, postgres.whole().await?);
    let start = Instant::now();
    sleep(TURN).await;
    let percent = |micros: f64| micros / start.elapsed().as_secs_f64() / 1e4;
    let cpu = percent(machine::cpu(server.pid())? - before.0);
    let database = postgres.whole().await?.zip(before.1).map(|(after, before)| percent(after - before));
    measured.add(named::CORE, cpu + database.unwrap_or_default());
    if let Some(database) = database {
        measured.add("of which the server", cpu);
        measured.add("of which the database", database);
    }
    measured.add(named::MEMORY, machine::memory(server.pid())? / 1024.0);
    Ok(())
}
