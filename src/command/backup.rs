//! A copy of a database of SQLite.

use std::path::PathBuf;

use clap::Args;
use tidings::config::DatabaseConfig;
use tidings::database;
use tidings::error::Result;

use super::say::say_done;

/// From where, and where to.
#[derive(Args)]
pub struct Backup {
    /// The file to make, which must not be there.
    target: PathBuf,
    #[command(flatten)]
    database: DatabaseConfig,
}

impl Backup {
    /// Copies, checks, and says what the copy has.
    pub async fn run(self) -> Result<()> {
        let copy = database::backup(self.database.url(), &self.target, stopped()).await?;
        let told = format!(
            "{}: {} bytes, {} tenants, {} entries of their logs\n",
            self.target.display(),
            copy.bytes,
            copy.tenants,
            copy.entries
        );
        say_done(&told, "the copy is made and checked")
    }
}

/// As the server is, or as the terminal goes away. Signals are heard from the call on, not only once it is waited for.
fn stopped() -> impl Future<Output = ()> {
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
