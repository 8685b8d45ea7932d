//! Checks how much memory the server keeps per user and per socket. This is a program of its own, since it counts the
//! allocations of the whole process.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing where something must be has failed")]

mod overviews;
mod sockets;

use std::sync::Arc;

use base::clock::Clock;
use base::config::ServerConfig;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tempfile::TempDir;
use tidings::app::App;
use tokio::sync::{Mutex, MutexGuard};

#[global_allocator]
static ALLOCATED: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

const SECRET: &str = "the secret of the tests, 32 bytes";

/// The number of allocated bytes that are not freed yet.
fn allocated() -> usize {
    let of = ALLOCATED.stats();
    of.bytes_allocated - of.bytes_deallocated
}

/// A server with its own database. A lock ensures that nothing else is measured at the same time.
struct Weighed {
    app: Arc<App>,
    _folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Weighed {
    async fn start() -> Self {
        static ONE: Mutex<()> = Mutex::const_new(());
        let alone = ONE.lock().await;
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("weight.db").display());
        let start = chrono::DateTime::parse_from_rfc3339("2026-11-21T08:00:00Z").unwrap();
        let app = App::start(ServerConfig::for_database(&url, SECRET), Clock::fixed_at(start.to_utc())).await.unwrap();
        Self { app, _folder: folder, _alone: alone }
    }
}
