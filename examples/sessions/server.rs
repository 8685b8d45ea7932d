//! The server in a process of its own, so that what it takes is its alone.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tidings::auth::{Claims, Role, sign};
use tokio::time::sleep;

use crate::Result;

const SECRET: &str = "the secret of the measurement, 32 bytes";

/// As many as are of use on two cores. Each one of SQLite keeps 8 MiB of pages, which would hide what sessions keep.
const CONNECTIONS: &str = "4";

/// Of the times in `/proc`, on every Linux that this runs on.
const TICKS_A_SECOND: f64 = 100.0;

pub struct Server {
    pub address: String,
    pub database: &'static str,
    binary: PathBuf,
    url: String,
    sessions: usize,
    child: Child,
    http: reqwest::Client,
    _folder: TempDir,
}

/// What has been spent so far.
pub struct Reading {
    /// Of the server's processor time, in microseconds.
    pub cpu: f64,
    pub statements: u64,
}

pub fn token(sub: &str, role: Role) -> String {
    let claims = Claims { tenant: "acme".into(), sub: sub.into(), role, exp: 4_000_000_000, scope: None };
    sign(SECRET, &claims).expect("a token can be signed")
}

impl Server {
    pub async fn start(binary: Option<PathBuf>, database: Option<&str>, sessions: usize) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let local = format!("sqlite://{}?mode=rwc", folder.path().join("sessions.db").display());
        let url = database.map_or(local, str::to_owned);
        let database = match url.split_once(':') {
            Some(("sqlite", _)) => "SQLite",
            Some(("mysql" | "mariadb", _)) => "MySQL",
            _ => "PostgreSQL",
        };
        // This program stands in `examples`, beside the server.
        let own = std::env::current_exe()?;
        let beside = own.parent().and_then(|folder| folder.parent()).map(|folder| folder.join("tidings"));
        let binary =
            binary.or(beside).filter(|path| path.exists()).ok_or("build the server first, or name it: --server")?;
        let address = format!("127.0.0.1:{}", TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
        let child = spawn(&binary, &address, &url, sessions)?;
        let http = reqwest::Client::new();
        let server = Self { address, database, binary, url, sessions, child, http, _folder: folder };
        server.ready().await?;
        Ok(server)
    }

    pub async fn restart(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.child = spawn(&self.binary, &self.address, &self.url, self.sessions)?;
        self.ready().await
    }

    async fn ready(&self) -> Result<()> {
        let until = Instant::now() + Duration::from_mins(1);
        loop {
            let answer = self.http.get(format!("http://{}/readyz", self.address)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            if Instant::now() > until {
                return Err("the server is not ready after a minute".into());
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The data of a request.
    pub async fn ask(&self, token: &str, query: &str, variables: Value) -> Result<Value> {
        let request = self.http.post(format!("http://{}/graphql", self.address)).bearer_auth(token);
        let body = json!({ "query": query, "variables": variables });
        let mut answer: Value = request.json(&body).send().await?.json().await?;
        if answer["errors"].is_null() { Ok(answer["data"].take()) } else { Err(answer["errors"].to_string().into()) }
    }

    /// The memory that the process holds, in KiB.
    pub fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no memory is told")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// A figure of `/metrics`.
    async fn figure(&self, name: &str) -> Result<u64> {
        let metrics = self.http.get(format!("http://{}/metrics", self.address)).send().await?.text().await?;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(value.ok_or_else(|| format!("/metrics does not tell {name}"))?.parse()?)
    }

    /// Waits until nobody is connected any more.
    pub async fn is_alone(&self) -> Result<()> {
        while self.figure("tidings_sessions").await? > 0 {
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    pub async fn reading(&self) -> Result<Reading> {
        let statements = self.figure("tidings_statements_total").await?;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // Behind the name, which may hold spaces: utime and stime are the 12th and 13th.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
        Ok(Reading { cpu: ticks / TICKS_A_SECOND * 1e6, statements })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(binary: &PathBuf, address: &str, url: &str, sessions: usize) -> Result<Child> {
    let mut command = Command::new(binary);
    command.args(["serve", "--log", "warn"]).stdin(Stdio::null()).env_clear();
    command.envs([("TIDINGS_LISTEN", address), ("DATABASE_URL", url), ("TIDINGS_SECRET", SECRET)]);
    command.env("TIDINGS_SESSIONS", (sessions + 100).to_string()).env("TIDINGS_CONNECTIONS", CONNECTIONS);
    Ok(command.spawn()?)
}
