//! The faults that the suite injects.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::arena::Arena;
use crate::client::roll;
use crate::load::{Load, Plan};
use crate::report::Report;
use crate::support::{Kind, Process};
use crate::verdict::verdict;

/// The setting that shifts a node's clock.
const CLOCK: &str = "TIDINGS_CLOCK_OFFSET_MILLIS";

/// How long nodes trust their copy of the invalidation epoch without asking Redis.
const TRUST: Duration = Duration::from_millis(500);

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);

/// A number of parallel requests at which each takes about as long as a single one.
const FEW: usize = 4;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    Calm,
    NodeKilled,
    RollingRestart,
    Disconnects,
    KilledUntold,
    DatabaseRestarted,
    DatabaseHung,
    DatabaseKilled,
    DiskFull,
    RedisAway,
    BoardHurt,
    Clocks,
    StuckReaders,
    Storm,
}

/// The size of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub senders: usize,
    pub people: usize,
    pub rest: Duration,
    /// How long the load runs before and after the fault.
    pub around: Duration,
    /// How long a lasting fault lasts.
    pub hurt: Duration,
    /// How many times a momentary fault happens.
    pub rounds: u32,
    /// Users who subscribe without seeing the response.
    pub untold: usize,
    pub stuck: usize,
    pub sockets: usize,
}

impl Form {
    pub const SHORT: Self = Self {
        senders: 2,
        people: 6,
        rest: Duration::from_millis(150),
        around: Duration::from_secs(1),
        hurt: Duration::from_secs(2),
        rounds: 2,
        untold: 40,
        stuck: 5,
        sockets: 200,
    };

    pub const LONG: Self = Self {
        senders: 6,
        people: 20,
        rest: Duration::from_millis(60),
        around: Duration::from_secs(4),
        hurt: Duration::from_secs(12),
        rounds: 10,
        untold: 200,
        stuck: 50,
        sockets: 2_000,
    };
}

impl Scenario {
    pub const ALL: [Self; 14] = [
        Self::Calm,
        Self::NodeKilled,
        Self::RollingRestart,
        Self::Disconnects,
        Self::KilledUntold,
        Self::DatabaseRestarted,
        Self::DatabaseHung,
        Self::DatabaseKilled,
        Self::RedisAway,
        Self::BoardHurt,
        Self::Clocks,
        Self::StuckReaders,
        Self::Storm,
        Self::DiskFull,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::NodeKilled => "node killed",
            Self::RollingRestart => "rolling restart",
            Self::Disconnects => "clients disconnect",
            Self::KilledUntold => "killed before telling",
            Self::DatabaseRestarted => "database restarted",
            Self::DatabaseHung => "database hung",
            Self::DatabaseKilled => "database killed",
            Self::DiskFull => "disk full",
            Self::RedisAway => "redis away",
            Self::BoardHurt => "board hurt",
            Self::Clocks => "clock steps",
            Self::StuckReaders => "stuck readers",
            Self::Storm => "storm",
        }
    }

    /// SQLite has no server to disturb, and only one node.
    pub fn is_for(self, kind: Kind) -> bool {
        let needs_more = [Self::KilledUntold, Self::DatabaseRestarted, Self::DatabaseHung, Self::DatabaseKilled];
        kind != Kind::Sqlite || !(self.is_about_redis() || needs_more.contains(&self))
    }

    fn is_about_redis(self) -> bool {
        [Self::RedisAway, Self::BoardHurt].contains(&self)
    }

    /// Starts the load, injects the fault and checks the result.
    pub async fn play(self, arena: &mut Arena, form: &Form) -> Report {
        arena.begin(&self.nodes(arena)).await;
        let mut load = Load::start(self.plan(arena, form)).await;
        sleep(form.around).await;
        self.hurt(arena, &load, form).await;
        load.pulse.heal();
        load.recovers().await;
        sleep(form.around).await;
        load.stop().await;
        self.end(arena, &load, form).await;
        let verdict = verdict(&load).await;
        Report::new(self.name(), arena, &load, verdict)
    }

    /// The settings of each node.
    fn nodes(self, arena: &Arena) -> Vec<Vec<(&'static str, String)>> {
        let mut nodes = vec![Vec::new(); if arena.kind == Kind::Sqlite { 1 } else { 2 }];
        if let Some(redis) = &arena.redis
            && (arena.kind == Kind::Mysql || self.is_about_redis())
        {
            for settings in &mut nodes {
                settings.push(("REDIS_URL", redis.url()));
                if self == Self::BoardHurt {
                    settings.push(("TIDINGS_BOARD", "1".into()));
                    settings.push(("TIDINGS_BOARD_TRUST_MILLIS", TRUST.as_millis().to_string()));
                }
            }
        }
        nodes
    }

    fn plan(self, arena: &Arena, form: &Form) -> Plan {
        let nodes = arena.addresses();
        let all: Arc<[String]> = nodes.clone().into();
        // Requests and sessions use different nodes: sessions must learn of changes that the killed node committed but
        // did not publish.
        let apart = self == Self::KilledUntold;
        let at = |place: usize| if apart { [nodes[place].clone()].into() } else { all.clone() };
        Plan {
            senders: form.senders,
            people: form.people,
            listeners: match self {
                Self::StuckReaders => form.stuck,
                Self::Disconnects | Self::KilledUntold => form.untold,
                Self::Storm => form.sockets,
                _ => 0,
            },
            rest: form.rest,
            body: if [Self::StuckReaders, Self::DiskFull].contains(&self) { 16_000 } else { 40 },
            expiry: (self == Self::Clocks).then_some(10 * 60 * SECOND),
            far: (self == Self::Clocks).then_some(10 * DAY),
            ask_at: at(0),
            listen_at: at(1),
        }
    }

    async fn hurt(self, arena: &mut Arena, load: &Load, form: &Form) {
        match self {
            Self::Calm => sleep(form.hurt).await,
            Self::NodeKilled => {
                for round in 0..form.rounds as usize {
                    let node = round % arena.nodes.len();
                    arena.nodes[node].kill();
                    sleep(Duration::from_millis(roll(500))).await;
                    arena.nodes[node].start_again().await;
                    sleep(Duration::from_millis(roll(500))).await;
                }
            }
            Self::KilledUntold => {
                for _ in 0..2 * form.rounds {
                    sleep(Duration::from_millis(300 + roll(300))).await;
                    arena.nodes[0].kill_and_start().await;
                }
            }
            Self::RollingRestart => {
                for node in &mut arena.nodes {
                    node.stop();
                    node.start_again().await;
                }
            }
            Self::Disconnects => {
                load.pulse.rough_percent.store(50, Ordering::Relaxed);
                sleep(2 * form.hurt).await;
                load.pulse.rough_percent.store(0, Ordering::Relaxed);
            }
            Self::RedisAway => {
                let Some(redis) = &mut arena.redis else { return };
                redis.stop();
                sleep(form.hurt).await;
                redis.start_again().await;
            }
            Self::BoardHurt => {
                for round in 0..2 * form.rounds as usize {
                    // Wait until the nodes trust an epoch that was raised.
                    sleep(8 * TRUST + Duration::from_millis(roll(1000))).await;
                    hurt_board(arena, round).await;
                }
            }
            Self::Clocks => {
                // A single node has no second clock to compare with, so it is only 90 seconds ahead.
                let ahead = [90 * SECOND, 40 * DAY];
                for (node, ahead) in arena.nodes.iter_mut().zip(ahead) {
                    node.settings.push((CLOCK.into(), ahead.as_millis().to_string()));
                    node.kill_and_start().await;
                }
                // Wait until the periodic tasks of the nodes have run.
                sleep(form.hurt.max(12 * SECOND)).await;
                for node in &mut arena.nodes {
                    node.settings.retain(|(name, _)| name != CLOCK);
                    node.kill_and_start().await;
                }
            }
            Self::StuckReaders => {
                load.orders.send_modify(|orders| orders.is_stuck = true);
                load.flood().await;
                sleep(form.hurt).await;
                load.orders.send_modify(|orders| orders.is_stuck = false);
            }
            Self::Storm => {
                for _ in 0..form.rounds {
                    load.orders.send_modify(|orders| orders.rush += 1);
                    sleep(form.hurt).await;
                }
            }
            Self::DatabaseRestarted | Self::DatabaseHung | Self::DatabaseKilled => {
                self.hurt_database(arena, form).await;
            }
            Self::DiskFull => fill_disk(arena, load, form).await,
        }
    }

    /// Faults after the rest of the load has stopped, so that no later request can repair their effect.
    async fn end(self, arena: &mut Arena, load: &Load, form: &Form) {
        let rounds = 2 * form.rounds as usize;
        match self {
            Self::Disconnects => {
                load.announce().await;
                load.pulse.rough_percent.store(100, Ordering::Relaxed);
                load.read_in_vain(ready(())).await;
                for round in 0..form.untold / FEW {
                    load.subscribe_in_vain((round, form.untold / FEW), ready(())).await;
                }
                load.pulse.rough_percent.store(0, Ordering::Relaxed);
                load.remind().await;
            }
            Self::KilledUntold => {
                load.announce().await;
                load.read_in_vain(kill_soon(&mut arena.nodes[0])).await;
                for round in 0..rounds {
                    load.subscribe_in_vain((round, rounds), kill_soon(&mut arena.nodes[0])).await;
                }
                load.remind().await;
            }
            _ => {}
        }
    }

    async fn hurt_database(self, arena: &mut Arena, form: &Form) {
        let server = arena.server.as_mut().expect("it is not for SQLite");
        match self {
            Self::DatabaseHung => {
                server.hang();
                sleep(form.hurt.max(8 * SECOND)).await;
                return server.go_on();
            }
            Self::DatabaseKilled => server.kill(),
            _ => server.stop(),
        }
        sleep(SECOND).await;
        server.start_again().await;
    }
}

/// Disturbs Redis, or kills a node that may have committed a change without invalidating it in Redis.
async fn hurt_board(arena: &mut Arena, round: usize) {
    let Some(redis) = &mut arena.redis else { return };
    match roll(5) {
        0 => drop(redis.ask(&["FLUSHALL"]).await),
        1 => {
            redis.stand_still();
            sleep(Duration::from_millis(roll(2000))).await;
            redis.go_on();
        }
        2 => {
            redis.stop();
            sleep(Duration::from_millis(roll(2000))).await;
            redis.start_again().await;
        }
        _ => {
            let node = round % arena.nodes.len();
            arena.nodes[node].kill_and_start().await;
        }
    }
}

/// Kills a node while it processes the requests that were just sent.
async fn kill_soon(node: &mut Process) {
    sleep(Duration::from_millis(5 + roll(100))).await;
    node.kill_and_start().await;
}

/// Fills the disk until a request fails, and keeps it full for a while. Starts the database again if it exited because
/// of that.
async fn fill_disk(arena: &mut Arena, load: &Load, form: &Form) {
    let disk = arena.disk.as_ref().expect("the scenario has a disk");
    let failures = || load.pulse.failures().values().sum::<usize>();
    let (before, until) = (failures(), Instant::now() + 10 * form.hurt);
    disk.fill();
    while failures() == before && Instant::now() < until {
        sleep(Duration::from_millis(50)).await;
        disk.fill();
    }
    sleep(form.hurt).await;
    disk.free();
    if let Some(server) = &mut arena.server
        && server.has_ended()
    {
        server.start_again().await;
    }
}
