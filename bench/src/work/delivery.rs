//! Webhooks: cost per send, throughput, delay, and the effect of an endpoint that never responds.

mod receiver;
mod tenant;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::time::{sleep, sleep_until};

use super::CONNECTIONS;
use crate::figures::{Case, Measured, median, named};
use crate::load::{Load, Taken, press};
use crate::machine::{self, Postgres};
use crate::server::Server;
use crate::{Place, Plan, Result};
use receiver::{HOLE, Receiver};
use tenant::{Act, Tenant};

/// Names of cases and contenders; the report finds them by name.
pub mod called {
    pub const SENDS: &str = "sends one after the other";
    pub const WITHOUT: &str = "no endpoint";
    pub const LATER: &str = "three endpoints that are paused meanwhile";
    pub const WITH: &str = "three endpoints";

    pub const MANY: &str = "5,000 webhooks that wait";
    pub const RECEIVER: &str = "one receiver";
    pub const RATE: &str = "webhooks/s";

    pub const IDLE: &str = "from a send to its webhook";
    pub const ALONE: &str = "while nothing else is";

    pub const LANES: &str = "49 endpoints, 245 webhooks a second";
    pub const GOOD: &str = "beside one that is paused";
    pub const HOLED: &str = "beside one that never answers";
}

/// Settings of the server: the receiver is on this machine.
const SETTINGS: [(&str, &str); 2] = [
    ("TIDINGS_KEY", "0707070707070707070707070707070707070707070707070707070707070707"),
    ("TIDINGS_EGRESS_ALLOW", "127.0.0.1"),
];

/// A server with no other load, and the receiver it posts to.
pub struct Ground {
    server: Server,
    receiver: Receiver,
    postgres: Postgres,
}

impl Ground {
    pub async fn make(place: &Place) -> Result<Self> {
        let url = place.empty("delivery").await?;
        Ok(Self {
            server: Server::tidings_with(&place.binary, &url, CONNECTIONS, &SETTINGS).await?,
            receiver: Receiver::start().await?,
            postgres: Postgres::watch(&url).await?,
        })
    }
}

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let mut ground = Ground::make(place).await?;
    Ok(vec![
        sends(plan, &mut ground).await?,
        many(plan, &mut ground).await?,
        idle(plan, &mut ground).await?,
        destinations(plan, &mut ground).await?,
    ])
}

/// Sends per turn.
const REQUESTS: usize = 300;

/// Compares sends in tenants with endpoints, delivered at once or later, with sends in a tenant without. The next turn
/// waits until all webhooks have arrived.
async fn sends(plan: &Plan, ground: &mut Ground) -> Result<Case> {
    let tenants = [("without", 0), ("later", 3), ("with", 3)];
    let mut all = [called::WITHOUT, called::LATER, called::WITH].map(Measured::new);
    let mut paused = Vec::new();
    for (name, endpoints) in tenants {
        let tenant = Tenant::make(&ground.server, name).await?;
        for place in 0..endpoints {
            let id = tenant.endpoint(&ground.server, &ground.receiver.url(&format!("/{place}"))).await?;
            if name == "later" {
                paused.push(id);
            }
        }
    }
    for round in 0..=plan.rounds {
        for shift in 0..tenants.len() {
            let own = (round + shift) % tenants.len();
            let (name, endpoints) = tenants[own];
            let tenant = Tenant { code: name };
            let paused: &[String] = if name == "later" { &paused } else { &[] };
            for id in paused {
                tenant.act(&ground.server, Act::Pause, id).await?;
            }
            let statements = ground.server.statements().await?;
            let asks = tenant.asks().into();
            let taken = press(ground.server.address, &asks, Load::Alone { requests: REQUESTS }).await?;
            let Taken { latencies, seconds, errors } = taken;
            if errors > 0 {
                return Err(format!("{errors} sends failed").into());
            }
            for id in paused {
                tenant.act(&ground.server, Act::Resume, id).await?;
            }
            ground.receiver.take(endpoints * REQUESTS).await?;
            sleep(SETTLE).await;
            if round == 0 {
                continue;
            }
            all[own].add(named::RATE, REQUESTS as f64 / seconds);
            all[own].add(named::HALF, median(&latencies));
            all[own].add(named::MOST, latencies[REQUESTS * 99 / 100]);
            all[own].add(
                "statements, also of webhooks",
                (ground.server.statements().await? - statements) / REQUESTS as f64,
            );
        }
        eprintln!("{}: round {round} of {}", called::SENDS, plan.rounds);
    }
    Ok(Case { name: called::SENDS.into(), contenders: all.into() })
}

/// Time for the server to record the last results.
const SETTLE: Duration = Duration::from_millis(500);

/// Webhooks pending for a paused endpoint.
const MANY: usize = 5000;

/// Throughput of pending webhooks to one receiver.
pub async fn many(plan: &Plan, ground: &mut Ground) -> Result<Case> {
    let tenant = Tenant::make(&ground.server, "many").await?;
    let endpoint = tenant.endpoint(&ground.server, &ground.receiver.url("/")).await?;
    let mut measured = Measured::new(called::RECEIVER);
    for round in 0..=plan.rounds {
        tenant.act(&ground.server, Act::Pause, &endpoint).await?;
        tenant.send_many(&ground.server, MANY).await?;
        let pid = ground.server.pid();
        let before = (machine::cpu(pid)?, ground.postgres.cpu().await?, ground.receiver.connections());
        tenant.act(&ground.server, Act::Resume, &endpoint).await?;
        let start = Instant::now();
        let arrivals = ground.receiver.take(MANY).await?;
        let took = arrivals[MANY - 1].at.saturating_duration_since(start).as_secs_f64();
        sleep(SETTLE).await;
        if round == 0 {
            continue;
        }
        let server = (machine::cpu(pid)? - before.0) / MANY as f64;
        let database = ground.postgres.cpu().await?.zip(before.1);
        let database = database.map(|(after, before)| (after - before) / MANY as f64);
        measured.add(called::RATE, MANY as f64 / took);
        measured.add(named::SERVER, server);
        measured.add(named::CPU, server + database.unwrap_or_default());
        if let Some(database) = database {
            measured.add(named::DATABASE, database);
        }
        measured.add("connections", (ground.receiver.connections() - before.2) as f64);
        eprintln!("{}: round {round} of {}", called::MANY, plan.rounds);
    }
    Ok(Case { name: called::MANY.into(), contenders: vec![measured] })
}

/// Sends per turn, and the unit of the pauses between them. The pauses vary, so that sends hit all phases of periodic
/// tasks.
const SAMPLES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(7);

/// Time from the start of a send until its webhook arrives.
async fn idle(plan: &Plan, ground: &mut Ground) -> Result<Case> {
    let tenant = Tenant::make(&ground.server, "idle").await?;
    tenant.endpoint(&ground.server, &ground.receiver.url("/")).await?;
    let mut measured = Measured::new(called::ALONE);
    for round in 0..plan.rounds.min(3) {
        let mut times = Vec::new();
        for sample in 0..SAMPLES {
            sleep(PAUSE * (20 + sample % 20)).await;
            let start = Instant::now();
            tenant.send(&ground.server).await?;
            let arrival = ground.receiver.take(1).await?.remove(0);
            times.push(arrival.at.saturating_duration_since(start).as_secs_f64() * 1e3);
        }
        add_times(&mut measured, times);
        eprintln!("{}: round {round}", called::IDLE);
    }
    Ok(Case { name: called::IDLE.into(), contenders: vec![measured] })
}

fn add_times(measured: &mut Measured, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    measured.add(named::HALF, median(&times));
    measured.add(named::MOST, times[times.len() * 99 / 100]);
}

/// Tenants with `ENDPOINTS` endpoints each; the last endpoint of the last tenant is the one that never responds.
const TENANTS: [&str; 10] =
    ["lane-0", "lane-1", "lane-2", "lane-3", "lane-4", "lane-5", "lane-6", "lane-7", "lane-8", "lane-9"];
const ENDPOINTS: usize = 5;

/// Requests to the endpoint that never responds time out after 15 s, and then it rests. A turn is shorter than that.
const TURN: Duration = Duration::from_secs(10);

/// Time between two sends, each in another tenant.
const APART: Duration = Duration::from_millis(20);

/// By then the requests without response have timed out and are recorded.
const OVER: Duration = Duration::from_secs(17);

/// Delay of webhooks to 49 endpoints while one more endpoint is paused or never responds.
async fn destinations(plan: &Plan, ground: &mut Ground) -> Result<Case> {
    let mut hole = String::new();
    for code in TENANTS {
        let tenant = Tenant::make(&ground.server, code).await?;
        for place in 0..ENDPOINTS {
            let is_hole = code == TENANTS[9] && place == ENDPOINTS - 1;
            let path = if is_hole { HOLE.to_owned() } else { format!("/{code}/{place}") };
            let endpoint = tenant.endpoint(&ground.server, &ground.receiver.url(&path)).await?;
            hole = if is_hole { endpoint } else { hole };
        }
    }
    let holed = Tenant { code: TENANTS[9] };
    let mut all = [Measured::new(called::GOOD), Measured::new(called::HOLED)];
    for round in 0..=plan.rounds.min(3) {
        for own in [round % 2, (round + 1) % 2] {
            let act = if own == 0 { Act::Pause } else { Act::Resume };
            holed.act(&ground.server, act, &hole).await?;
            let times = turn(ground).await?;
            if round > 0 {
                add_times(&mut all[own], times);
            }
            holed.act(&ground.server, Act::Pause, &hole).await?;
            sleep(OVER).await;
        }
        eprintln!("{}: round {round}", called::LANES);
    }
    Ok(Case { name: called::LANES.into(), contenders: all.into() })
}

/// Time from the start of each send until each of its webhooks arrives, in milliseconds.
async fn turn(ground: &mut Ground) -> Result<Vec<f64>> {
    let begin = Instant::now();
    let (mut sent, mut expected) = (HashMap::new(), 0);
    for code in TENANTS.into_iter().cycle() {
        let start = begin + APART * u32::try_from(sent.len())?;
        if start >= begin + TURN {
            break;
        }
        sleep_until(start.into()).await;
        let start = Instant::now();
        sent.insert((code, Tenant { code }.send(&ground.server).await?), start);
        expected += if code == TENANTS[9] { ENDPOINTS - 1 } else { ENDPOINTS };
    }
    let mut times = Vec::with_capacity(expected);
    for arrival in ground.receiver.take(expected).await? {
        let code = arrival.path.split('/').nth(1).unwrap_or_default();
        let start = sent.get(&(code, arrival.notification()?)).ok_or("something else has come")?;
        times.push(arrival.at.saturating_duration_since(*start).as_secs_f64() * 1e3);
    }
    Ok(times)
}
