//! What a server with rules does while nothing changes.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sea_orm::{ConnectionTrait, Statement};
use tidings::database::{Database, connect};
use tokio::time::sleep;

use super::called;
use super::ground::{Ground, QUIET, Rule};
use crate::figures::{Case, Measured, named};
use crate::machine::{self, Postgres};
use crate::server::Server;
use crate::{Place, Plan, Result};

const RULES: usize = 1000;

/// Each runs once in so many seconds, so 100 a minute.
const PERIOD: usize = 600;

/// Kinds of rows, each read by ten rules, and rows of each.
const KINDS: usize = 100;
const ROWS: usize = 10;

/// Where their rows begin.
const FIRST: usize = 1_000_000;

/// What a start leaves behind is done by then.
const SETTLE: Duration = Duration::from_secs(5);

/// How long a turn is, whatever the plan says: a minute has all that is done once a minute.
const TURN: Duration = Duration::from_mins(1);

/// How long all of them may take until each has run for the first time.
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

/// The rules, each of which has run once, in an inbox.
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

/// Makes them due one after the other from now on, as rules are that were made at different times.
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
