//! Start-up time and memory of an idle server.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::CONNECTIONS;
use crate::figures::{Case, Measured, named};
use crate::server::Server;
use crate::{Place, Plan, Result, machine};

const READY: &str = "ms until ready";

/// Names of its case, a contender and a figure.
pub mod called {
    pub const START: &str = "a start";
    pub const AGAIN: &str = "again, over SQLite";
    pub const SIZE: &str = "binary MB";
}

/// Pause before memory is read.
const IDLE: Duration = Duration::from_secs(2);

/// Drops a file from the page cache, so that Linux reads it from the disk again, as after a boot. A file just written
/// is cached in larger pieces, and Linux maps more of it around each touched page: up to 2 MiB.
fn read_anew(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    #[cfg(target_os = "linux")]
    rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let folder = crate::place::root().join("target/bench");
    let empty = folder.join("empty.db");
    let url = format!("sqlite://{}?mode=rwc", empty.display());
    let mut all = ["the first time, over SQLite", called::AGAIN, "over the data"].map(Measured::new);
    let size = std::fs::metadata(&place.binary)?.len() as f64 / 1e6;
    read_anew(&place.binary)?;
    drop(Server::tidings(&place.binary, &place.url, CONNECTIONS).await?);
    for _ in 0..plan.rounds {
        for file in ["empty.db", "empty.db-wal", "empty.db-shm"] {
            let _ = std::fs::remove_file(folder.join(file));
        }
        for (measured, url) in all.iter_mut().zip([&url, &url, &place.url]) {
            let start = Instant::now();
            let server = Server::tidings(&place.binary, url, CONNECTIONS).await?;
            measured.add(READY, start.elapsed().as_secs_f64() * 1e3);
            tokio::time::sleep(IDLE).await;
            measured.add(named::MEMORY, machine::memory(server.pid())? / 1024.0);
            measured.add(called::SIZE, size);
        }
    }
    Ok(vec![Case { name: called::START.into(), contenders: all.into() }])
}
