//! A server in its own process: Tidings, or the contenders.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use auth::{CallerRole, TokenClaims, sign_claims};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::load::{Ask, once};
use crate::{Place, Result};

const SECRET: &str = "the secret of the measurement, 32 bytes";

/// Settings that turn on Redis validation.
pub fn board(redis: &str) -> [(&str, &str); 2] {
    [("REDIS_URL", redis), ("TIDINGS_BOARD", "1")]
}

pub struct Server {
    pub address: SocketAddr,
    pub child: Child,
    /// Whether it uses Redis validation.
    pub has_board: bool,
}

/// Turns off the cache of overviews.
pub const FORGETFUL: [(&str, &str); 1] = [("TIDINGS_CACHED_OVERVIEW_BYTES", "0")];

/// A token for a tenant.
pub fn token(tenant: &str, sub: &str, role: CallerRole) -> String {
    let claims = TokenClaims { tenant: tenant.into(), sub: sub.into(), role, exp: 4_000_000_000, scope: None };
    sign_claims(SECRET, &claims).expect("a token can be signed")
}

impl Server {
    /// Tidings over the database at `url`, with `connections` connections to it and without rate limits.
    pub async fn tidings(binary: &Path, url: &str, connections: usize) -> Result<Self> {
        Self::tidings_with(binary, url, connections, &[]).await
    }

    /// The same with more settings. With Redis validation, waits until it is trusted.
    pub async fn tidings_with(binary: &Path, url: &str, connections: usize, settings: &[(&str, &str)]) -> Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(binary);
        command.args(["serve", "--log", "warn"]).env_clear().env("TIDINGS_LISTEN", address.to_string());
        command.envs([("DATABASE_URL", url), ("TIDINGS_SECRET", SECRET), ("TIDINGS_RETENTION_DAYS", "3650")]);
        command.envs([("TIDINGS_RATE", "0"), ("TIDINGS_SOCKET_RATE", "0"), ("TIDINGS_SESSIONS", "100000")]);
        command.env("TIDINGS_MAX_CONNECTIONS", "110000");
        command.env("TIDINGS_CONNECTIONS", connections.to_string()).envs(settings.iter().copied());
        let mut server = Self::spawn(command, address).await?;
        server.has_board = settings.iter().any(|(name, _)| *name == "TIDINGS_BOARD");
        if server.has_board {
            server.until("tidings_board_trusted", 1.0).await?;
        }
        Ok(server)
    }

    /// The contenders over the same database.
    pub async fn contenders(place: &Place, url: &str, connections: usize) -> Result<Self> {
        Self::contenders_with(place, url, connections, &[]).await
    }

    /// Tidings and the contenders with Redis validation. The contenders are a node, too, and no node trusts Redis while
    /// another runs without it.
    pub async fn with_board(place: &Place, redis: &str, connections: usize) -> Result<(Self, Self)> {
        let others = Self::contenders_with(place, &place.url, connections, &["--redis", redis]).await?;
        let tidings = Self::tidings_with(&place.binary, &place.url, connections, &board(redis)).await?;
        Ok((tidings, others))
    }

    async fn contenders_with(place: &Place, url: &str, connections: usize, options: &[&str]) -> Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("contender").args(["--database", url, "--data", &place.url]);
        command.args(["--listen", &address.to_string(), "--connections", &connections.to_string()]).args(options);
        Self::spawn(command, address).await
    }

    async fn spawn(mut command: Command, address: SocketAddr) -> Result<Self> {
        let server = Self { address, child: command.stdin(Stdio::null()).spawn()?, has_board: false };
        let until = Instant::now() + Duration::from_mins(1);
        let ready = Ask::get("/readyz");
        while once(address, &ready).await.is_err() {
            if Instant::now() > until {
                return Err("the server is not ready after a minute".into());
            }
            sleep(Duration::from_millis(2)).await;
        }
        Ok(server)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Runs a query and returns its data.
    pub async fn data(&self, token: &str, query: &str, variables: Value) -> Result<Value> {
        let body = once(self.address, &Ask::graphql(token, &json!({ "query": query, "variables": variables }))).await?;
        let mut answer: Value = serde_json::from_slice(&body)?;
        if answer["errors"].is_null() { Ok(answer["data"].take()) } else { Err(answer["errors"].to_string().into()) }
    }

    /// A value of `/metrics`.
    pub async fn metric(&self, name: &str) -> Result<f64> {
        let metrics = String::from_utf8(once(self.address, &Ask::get("/metrics")).await?.into())?;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(value.ok_or_else(|| format!("/metrics does not tell {name}"))?.parse()?)
    }

    /// Waits until a value of `/metrics` is this.
    async fn until(&self, name: &str, value: f64) -> Result<()> {
        let until = Instant::now() + Duration::from_mins(1);
        while (self.metric(name).await? - value).abs() > f64::EPSILON {
            if Instant::now() > until {
                return Err(format!("{name} is not {value} after a minute").into());
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    pub async fn statements(&self) -> Result<f64> {
        self.metric("tidings_statements_total").await
    }
}

/// Terminates the process gracefully, so that it reports its counters; kills it after 30 s.
impl Drop for Server {
    fn drop(&mut self) {
        let until = Instant::now() + Duration::from_secs(30);
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
