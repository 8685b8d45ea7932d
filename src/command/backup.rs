//! `tidings backup`: copies a SQLite database.

use std::path::PathBuf;

use clap::Args;

use super::output::print_result;
use base::config::DatabaseConfig;
use base::error::Result;

/// Options of `tidings backup`.
#[derive(Args)]
pub struct BackupCommand {
    /// File to create; it must not exist.
    target: PathBuf,
    #[command(flatten)]
    database: DatabaseConfig,
}

impl BackupCommand {
    /// Copies the database, checks the copy, and prints its size and counts.
    pub async fn run(self) -> Result<()> {
        let copy = store::backup(self.database.url(), &self.target, stop_signal()).await?;
        let told = format!(
            "{}: {} bytes, {} tenants, {} log entries\n",
            self.target.display(),
            copy.bytes,
            copy.tenants,
            copy.entries
        );
        print_result(&told, "the copy was written and checked")
    }
}

/// Resolves on SIGINT, SIGTERM or SIGHUP. Signals count from this call on, not only from the first poll.
fn stop_signal() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let mut heard = {
        use tokio::signal::unix::{SignalKind, signal};
        [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(|kind| signal(kind).ok())
    };
    async move {
        #[cfg(unix)]
        std::future::poll_fn(|context| {
            use std::task::Poll::{Pending, Ready};
            let mut heard = heard.iter_mut().flatten();
            if heard.any(|signal| signal.poll_recv(context).is_ready()) { Ready(()) } else { Pending }
        })
        .await;
        #[cfg(not(unix))]
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
