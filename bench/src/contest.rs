//! A contest: contenders take turns in each round, so that other load on the machine affects all of them.

use std::net::SocketAddr;
use std::sync::Arc;

use sea_orm::ConnectionTrait;
use serde_json::Value;
use store::{Database, connect};

use crate::figures::{Case, Measured, median, named};
use crate::load::{Ask, Load, Taken, once, press};
use crate::machine::{self, Postgres, Redis};
use crate::server::Server;
use crate::{Place, Plan, Result};

/// The work of the contenders.
pub struct Work<'a> {
    pub name: &'a str,
    pub load: Load,
    /// Statements that restore the data before each turn and at the end.
    pub reset: &'a [String],
}

/// A participant.
pub struct Contender<'a> {
    name: String,
    server: &'a Server,
    asks: Arc<[Ask]>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &str, server: &'a Server, asks: Vec<Ask>) -> Self {
        Self { name: name.into(), server, asks: asks.into() }
    }

    /// The responses to its first requests, one after the other.
    pub async fn answers(&self, many: usize) -> Result<Vec<Value>> {
        let mut answers = Vec::with_capacity(many);
        for ask in self.asks.iter().take(many) {
            answers.push(serde_json::from_slice(&once(self.address(), ask).await?)?);
        }
        Ok(answers)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    fn address(&self) -> SocketAddr {
        self.server.address
    }

    fn has_board(&self) -> bool {
        self.server.has_board
    }
}

/// Runs all rounds of turns; the first turn of each contender is a warm-up.
pub async fn hold(place: &Place, plan: &Plan, work: Work<'_>, contenders: &[Contender<'_>]) -> Result<Case> {
    let Work { name, load, reset } = work;
    let databases = Databases {
        postgres: Postgres::watch(&place.url).await?,
        redis: if contenders.iter().any(Contender::has_board) { Some(Redis::watch(&plan.ground.redis)?) } else { None },
    };
    let db = connect(&place.url, 2).await?;
    let mut all: Vec<Measured> = contenders.iter().map(|of| Measured::new(&of.name)).collect();
    for round in 0..=plan.rounds {
        for shift in 0..contenders.len() {
            // Alternate the order, so that no contender always follows the same other one.
            let own = if round % 2 == 0 { shift } else { contenders.len() - 1 - shift };
            put_back(&db, reset).await?;
            let figures = turn(&contenders[own], load, &databases).await?;
            for (figure, value) in figures.into_iter().filter(|_| round > 0) {
                all[own].add(figure, value);
            }
        }
        eprintln!("{name}: round {round} of {}", plan.rounds);
    }
    put_back(&db, reset).await?;
    Ok(Case { name: name.into(), contenders: all })
}

/// Runs statements that restore the data.
pub async fn put_back(db: &Database, reset: &[String]) -> Result<()> {
    for statement in reset {
        let txn = db.begin().await?;
        txn.execute_unprepared(statement).await?;
        txn.commit().await?;
    }
    Ok(())
}

/// Databases whose CPU time is counted in addition to the servers'.
struct Databases {
    postgres: Postgres,
    /// Set if a contender uses Redis validation.
    redis: Option<Redis>,
}

async fn turn(contender: &Contender<'_>, load: Load, databases: &Databases) -> Result<Vec<(&'static str, f64)>> {
    let Databases { postgres, redis } = databases;
    let redis = redis.as_ref().filter(|_| contender.has_board());
    let pid = contender.server.pid();
    let statements = contender.server.statements().await?;
    let redis_before = redis.map(Redis::cpu).transpose()?;
    let before = (machine::cpu(pid)?, postgres.cpu().await?);
    let Taken { latencies, seconds, errors } = press(contender.address(), &contender.asks, load).await?;
    let (server, database) = (machine::cpu(pid)?, postgres.cpu().await?);
    let redis = redis.map(Redis::cpu).transpose()?.zip(redis_before);
    let statements = contender.server.statements().await? - statements;
    let requests = latencies.len() as f64;
    if latencies.is_empty() {
        let why = once(contender.address(), &contender.asks[0]).await.map(|_| ());
        return Err(format!("{} answered nothing: {why:?}", contender.name).into());
    }
    let server = (server - before.0) / requests;
    let mut figures = vec![
        (named::RATE, requests / seconds),
        (named::HALF, median(&latencies)),
        (named::MOST, latencies[(latencies.len() * 99 / 100).min(latencies.len() - 1)]),
        (named::SERVER, server),
        (named::STATEMENTS, statements / requests),
        (named::ERRORS, errors as f64),
        (named::MEMORY, machine::memory(pid)? / 1024.0),
    ];
    let database = database.zip(before.1).map(|(after, before)| (after - before) / requests);
    figures.push((named::CPU, server + database.unwrap_or_default()));
    figures.extend(database.map(|database| (named::DATABASE, database)));
    figures.extend(redis.map(|(after, before)| (named::REDIS, (after - before) / requests)));
    Ok(figures)
}
