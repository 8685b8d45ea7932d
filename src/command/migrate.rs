//! `tidings migrate`: applies and reverts migrations.

use clap::Args;

use super::output::{print_line, print_result};
use base::config::DatabaseConfig;
use base::error::Result;
use store::{self, FileAccess, FileLock};

/// Options of `tidings migrate`.
#[derive(Args)]
pub struct MigrateCommand {
    #[command(flatten)]
    database: DatabaseConfig,
    /// Revert all migrations instead, which deletes ALL data. Refused while servers run.
    #[arg(long, requires = "yes")]
    down: bool,
    /// Confirm that all data may be deleted.
    #[arg(long)]
    yes: bool,
}

impl MigrateCommand {
    /// Runs the migrations and prints their names.
    pub async fn run(self) -> Result<()> {
        let database = if self.down {
            self.database.without_pooler()?
        } else {
            self.database.with_direct_url().unwrap_or(self.database)
        };
        let _held = FileLock::acquire(database.url(), if self.down { FileAccess::Alone } else { FileAccess::Beside })?;
        let db = store::open(&database).await?;
        let (word, done) = if self.down {
            db.check_no_other_clients().await?;
            ("reverted", db.revert_migrations().await?)
        } else {
            ("applied", db.migrate().await?)
        };
        db.close().await;
        if done.is_empty() {
            return print_line("nothing to do: the database is up to date\n");
        }
        let told: Vec<String> = done.iter().map(|name| format!("{word}: {name}")).collect();
        print_result(&format!("{}\n", told.join("\n")), &format!("{} migrations are {word}", done.len()))
    }
}
