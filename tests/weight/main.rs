//! What the server keeps for each user and each socket weighs what is promised. A program of its own, since it counts what the whole process
//! allocates.

#![expect(clippy::unwrap_used, reason = "a test that finds nothing where something must be has failed")]

mod overviews;
mod sockets;

use std::sync::Arc;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tempfile::TempDir;
use tidings::app::App;
use tidings::clock::Clock;
use tidings::config::Config;
use tokio::sync::{Mutex, MutexGuard};

#[global_allocator]
static ALLOCATED: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

const SECRET: &str = "the secret of the tests, 32 bytes";

/// Bytes that are allocated and not given back yet.
fn allocated() -> usize {
    let of = ALLOCATED.stats();
    of.bytes_allocated - of.bytes_deallocated
}

/// A server over a database of its own, beside which nothing else is weighed.
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
        let app = App::start(Config::over(&url, SECRET), Clock::set(start.to_utc())).await.unwrap();
        Self { app, _folder: folder, _alone: alone }
    }
}
