//! What the operating system says that processes have taken (`/proc`, so Linux).

use std::fs;

use crate::Result;

/// Of the times in `/proc`, on every Linux that this runs on.
const TICKS_A_SECOND: f64 = 100.0;

/// The processor time of a process and all its threads so far, in microseconds.
///
/// Told in hundredths of a second: over a turn of two seconds it is exact to half a percent.
pub fn cpu(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Behind the name, which may hold spaces: utime and stime are the 12th and 13th.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    Ok(ticks / TICKS_A_SECOND * 1e6)
}

/// The memory that a process holds, in KiB.
pub fn memory(pid: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no memory is told")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// What the figures were taken on.
pub fn describe() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1)).unwrap_or("unknown");
    let cores = cpus.lines().filter(|line| line.starts_with("processor")).count();
    format!("{cores} cores of {model}")
}

/// The processor time of all connections to the database, where it runs on this machine.
///
/// Its background processes (checkpoints, WAL) are left out, for they serve other databases too.
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

    /// Whether the database takes so many connections.
    pub async fn admits(&self, connections: usize) -> Result<bool> {
        let Some(client) = &self.0 else { return Ok(true) };
        let most: String = client.query_one("SHOW max_connections", &[]).await?.get(0);
        Ok(most.parse::<usize>()? >= connections)
    }
}
