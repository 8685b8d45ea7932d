//! Rules: idle cost, cost of a run, and the delay from a change to a socket.

mod ground;
mod rest;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::live::board::Board;
use super::live::session::{Session, Want};
use crate::figures::{Case, Measured, median, named};
use crate::machine;
use crate::{Place, Plan, Result};
pub use ground::Ground;
use ground::{HEARD, QUIET, Rule, TENANT, USERS, admin, message, title};

/// Names of cases and contenders; the report finds them by name.
pub mod called {
    pub const REST: &str = "rules at rest";
    pub const WITHOUT: &str = "no rules";
    pub const WITH: &str = "1,000 rules, 100 of them a minute";

    pub const LARGE: &str = "a result of 10,000 rows, 10 of them changed";
    pub const SELECT: &str = "the bare SELECT";
    pub const RUN: &str = "a run";

    pub const MANY: &str = "500 new rows";
    pub const BATCH: &str = "sendNotifications of 500 messages";

    pub const SOCKET: &str = "from a change to a socket";
    pub const BY_NOTIFY: &str = "by NOTIFY";
    pub const BY_PERIOD: &str = "by a period of 10 s";
}

/// Rules run by hand must not become due meanwhile.
const RARELY: &str = "@every 24h";

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let ground = Ground::make(place).await?;
    let mut cases = vec![rest::run(place, plan, &ground).await?];
    cases.extend(runs(place, plan, &ground).await?);
    cases.push(socket(place, plan, &ground).await?);
    Ok(cases)
}

/// Only the cases with work for the server.
pub async fn runs(place: &Place, plan: &Plan, ground: &Ground) -> Result<[Case; 2]> {
    Ok([large(place, plan, ground).await?, many(place, plan, ground).await?])
}

/// Rows of a large result, and rows that are added and removed by each change.
const LARGE: usize = 10_000;
const CHANGED: usize = 5;

/// Pause after start-up and before memory is read.
const SETTLE: Duration = Duration::from_secs(2);

/// A result of 10,000 rows with ten changed ones, on freshly started servers: first for the memory, then for the time.
async fn large(place: &Place, plan: &Plan, ground: &Ground) -> Result<Case> {
    let (small, rule) = (rule("small"), rule("large"));
    ground.insert(rule.kind, 0..LARGE, "").await?;
    let server = ground.server(place, &ground.inbox).await?;
    small.begin(&server).await?;
    rule.begin(&server).await?;
    drop(server);
    let mut all = [Measured::new(called::SELECT), Measured::new(called::RUN)];
    let (mut next, mut open) = (LARGE, 0);
    for round in 0..=plan.rounds {
        let server = ground.server(place, &ground.inbox).await?;
        small.run(&server, [0, 0, 0]).await?;
        sleep(SETTLE).await;
        let alone = machine::memory(server.pid())?;
        let mut took = 0.0;
        for turn in 0..2 {
            ground.delete(next - CHANGED..next).await?;
            ground.insert(rule.kind, next..next + CHANGED, "").await?;
            machine::forget_peak(server.pid())?;
            took = rule.run(&server, [LARGE, CHANGED, open]).await?;
            (next, open) = (next + CHANGED, CHANGED);
            if turn == 0 && round > 0 {
                all[1].add(named::PEAK, (machine::peak(server.pid())? - alone) * 1024.0 / 1e6);
            }
        }
        let bare = ground.select(rule.kind, LARGE).await?;
        if round > 0 {
            all[0].add(named::TIME, bare);
            all[1].add(named::TIME, took);
        }
    }
    ground.delete(0..next).await?;
    Ok(Case { name: called::LARGE.into(), contenders: all.into() })
}

/// Rows added together.
const NEW: usize = 500;

/// Id of the first of them.
const FIRST: usize = 2_000_000;

const SEND: &str = "mutation($i: [SendNotificationInput!]!) { sendNotifications(inputs: $i) { replayed } }";

/// 500 new rows for 500 users, compared with the same messages as one batch; and the run after the rows have gone.
async fn many(place: &Place, plan: &Plan, ground: &Ground) -> Result<Case> {
    let (rule, ids) = (rule("new"), FIRST..FIRST + NEW);
    let inputs: Vec<Value> = ids.clone().map(message).collect();
    let server = ground.server(place, &ground.inbox).await?;
    rule.begin(&server).await?;
    let mut all =
        [Measured::new(called::BATCH), Measured::new(called::RUN), Measured::new("a run when they have gone")];
    for round in 0..=plan.rounds {
        ground.insert(rule.kind, ids.clone(), "").await?;
        let new = rule.run(&server, [NEW, NEW, 0]).await?;
        let start = Instant::now();
        server.data(&admin(), SEND, json!({ "i": inputs })).await?;
        let batch = start.elapsed().as_secs_f64() * 1e3;
        ground.delete(ids.clone()).await?;
        let gone = rule.run(&server, [0, 0, NEW]).await?;
        for (measured, took) in all.iter_mut().zip([batch, new, gone]).filter(|_| round > 0) {
            measured.add(named::TIME, took);
        }
    }
    Ok(Case { name: called::MANY.into(), contenders: all.into() })
}

fn rule(name: &'static str) -> Rule<'static> {
    Rule { code: name, kind: name, source: QUIET, schedule: RARELY }
}

/// How the server learns of a change.
struct Way {
    name: &'static str,
    rule: Rule<'static>,
    samples: usize,
    /// SQL appended to a change.
    and: &'static str,
}

const BY_NOTIFY: Way = Way {
    name: called::BY_NOTIFY,
    rule: Rule { code: "heard", kind: "heard", source: HEARD, schedule: RARELY },
    samples: 100,
    and: "; NOTIFY heard",
};

/// Each change comes just after the last one was seen, so it waits for a whole period.
const BY_PERIOD: Way = Way {
    name: called::BY_PERIOD,
    rule: Rule { code: "often", kind: "often", source: QUIET, schedule: "@every 10s" },
    samples: 4,
    and: "",
};

/// Pause between changes that the source announces; it makes them hit all phases of periodic tasks.
const PAUSE: Duration = Duration::from_millis(37);

/// Time from the start of a row's insert until its user has the item at a socket.
async fn socket(place: &Place, plan: &Plan, ground: &Ground) -> Result<Case> {
    let server = ground.server(place, &ground.inbox).await?;
    let board = Arc::new(Board::new(1));
    let user = 0;
    let task = Session::open(server.address, TENANT, user, board.clone()).await?.follow(Want::Items).await?;
    let mut all = Vec::new();
    let mut ids = (3_000_000 + user..).step_by(USERS);
    let ways = [BY_NOTIFY, BY_PERIOD];
    for way in ways.into_iter().filter(|way| place.is_postgres() || way.rule.source == QUIET) {
        let mut measured = Measured::new(way.name);
        way.rule.begin(&server).await?;
        for round in 0..plan.rounds.min(3) {
            eprintln!("from a change to a socket, {}: round {round}", way.name);
            let mut times = Vec::with_capacity(way.samples);
            for (sample, id) in (0..way.samples).zip(&mut ids) {
                if way.rule.source == HEARD {
                    sleep(PAUSE * u32::try_from(sample % 20)?).await;
                }
                board.expect(&title(id), 1, Want::Items);
                let start = Instant::now();
                ground.insert(way.rule.kind, id..id + 1, way.and).await?;
                let arrived = board.arrivals().await?.items;
                times.extend(arrived.iter().map(|at| at.saturating_duration_since(start).as_secs_f64() * 1e3));
            }
            times.sort_by(f64::total_cmp);
            measured.add(named::HALF, median(&times));
            measured.add(named::MOST, times[times.len() * 99 / 100]);
        }
        all.push(measured);
    }
    task.abort();
    Ok(Case { name: called::SOCKET.into(), contenders: all })
}
