//! Resource usage of processes, from `/proc` (Linux only).

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::Result;

/// Unit of the times in `/proc`, on every Linux that this runs on.
const TICKS_A_SECOND: f64 = 100.0;

/// CPU time of a process and all its threads so far, in microseconds.
///
/// The resolution is 10 ms: for a turn of two seconds the error is half a percent.
pub fn cpu(pid: u32) -> Result<f64> {
    Ok(stat(pid)?[UTIME..CUTIME].iter().sum::<f64>() / TICKS_A_SECOND * 1e6)
}

/// Fields of `/proc/…/stat` after the name: the parent process, user and kernel time, the same times of ended child
/// processes, and the start time.
const PARENT: usize = 1;
const UTIME: usize = 11;
const CUTIME: usize = 13;
const STARTED: usize = 15;

fn stat(pid: u32) -> Result<Vec<f64>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may contain spaces, and the state is a letter.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    Ok(fields.map(|field| field.parse().unwrap_or_default()).collect())
}

/// Current memory of a process, in KiB.
pub fn memory(pid: u32) -> Result<f64> {
    status(pid, "VmRSS:")
}

/// Peak memory of a process since [`forget_peak`], in KiB.
pub fn peak(pid: u32) -> Result<f64> {
    status(pid, "VmHWM:")
}

pub fn forget_peak(pid: u32) -> Result<()> {
    Ok(fs::write(format!("/proc/{pid}/clear_refs"), "5")?)
}

fn status(pid: u32, name: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no memory is told")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// The machine of the measurement.
pub fn describe() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).unwrap_or("unknown");
    let cores = cpus.lines().filter(|line| line.starts_with("processor")).count();
    format!("{cores} cores of {model}")
}

/// CPU time of the Redis on this machine.
pub struct Redis(u32);

impl Redis {
    /// Asks the Redis at this URL for its process id.
    pub fn watch(url: &str) -> Result<Self> {
        let address = url.trim_start_matches("redis://").trim_end_matches('/');
        let mut redis = TcpStream::connect(address)?;
        redis.write_all(b"INFO server\r\nQUIT\r\n")?;
        let mut said = String::new();
        redis.read_to_string(&mut said)?;
        let pid =
            said.lines().find_map(|line| line.strip_prefix("process_id:")).ok_or("Redis does not tell its process")?;
        Ok(Self(pid.trim().parse()?))
    }

    pub fn cpu(&self) -> Result<f64> {
        cpu(self.0)
    }
}

/// CPU time of the database, if it runs on this machine.
pub struct Postgres(Option<tokio_postgres::Client>);

impl Postgres {
    pub async fn watch(url: &str) -> Result<Self> {
        if !url.starts_with("postgres") {
            return Ok(Self(None));
        }
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        Ok(Self(Some(client)))
    }

    /// Total of all current connections. Background processes (checkpoints, WAL) are excluded, because they serve other
    /// databases, too.
    pub async fn cpu(&self) -> Result<Option<f64>> {
        let Some(client) = &self.0 else { return Ok(None) };
        let backends =
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        let mut sum = 0.0;
        for row in client.query(backends, &[]).await? {
            let pid: i32 = row.get(0);
            sum += cpu(pid.unsigned_abs()).unwrap_or_default();
        }
        Ok(Some(sum))
    }

    /// Total of the whole server, including ended connections, background processes and other databases.
    pub async fn whole(&self) -> Result<Option<f64>> {
        let Some(client) = &self.0 else { return Ok(None) };
        let own: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await?.get(0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is the number of a process")]
        let first = stat(own.unsigned_abs())?[PARENT] as u32;
        let mut sum = stat(first)?[UTIME..STARTED].iter().sum::<f64>() / TICKS_A_SECOND * 1e6;
        for child in fs::read_to_string(format!("/proc/{first}/task/{first}/children"))?.split_whitespace() {
            // A process that has just ended is counted the next time.
            sum += cpu(child.parse()?).unwrap_or_default();
        }
        Ok(Some(sum))
    }

    /// Whether the database allows this many connections.
    pub async fn admits(&self, connections: usize) -> Result<bool> {
        let Some(client) = &self.0 else { return Ok(true) };
        let most: String = client.query_one("SHOW max_connections", &[]).await?.get(0);
        Ok(most.parse::<usize>()? >= connections)
    }
}
