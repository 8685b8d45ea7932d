//! The commands of the command line. Each command that is more than one call has a file of its own.

mod audit;
mod backup;
mod demo;
mod doctor;
mod health;
mod import;
mod migrate;
mod output;
mod post_restore;
mod serve;
mod token;

use clap::Subcommand;

use base::config::{LogConfig, ServerConfig};
use base::error::Result;
use output::{print_line, print_result};
use store::FileAccess;
use tidings::graphql::Schema;

/// A command with its options.
#[derive(Subcommand)]
pub enum CliCommand {
    /// Serve the API.
    Serve {
        #[command(flatten)]
        config: Box<ServerConfig>,
        /// Serve a demo tenant, with a public secret and a temporary database.
        #[arg(long)]
        demo: bool,
    },
    /// Print a signed token.
    Token(token::TokenCommand),
    /// Apply the pending migrations; `serve` does this at start-up.
    Migrate(migrate::MigrateCommand),
    /// Delete data that is past the retention window, once; `serve` does this every hour. Safe while servers run.
    Sweep {
        #[command(flatten)]
        config: Box<ServerConfig>,
    },
    /// Print the actions of a tenant's services and operators, newest first, as JSON lines. Safe while servers run.
    Audit(audit::AuditCommand),
    /// Copy a SQLite database into a new file and check the copy. Safe while the server runs.
    Backup(backup::BackupCommand),
    /// Prepare a database restored from a backup. Run it before you start any server.
    Restored(post_restore::PostRestoreCommand),
    /// Import users, subscriptions or earlier notifications from a file. Safe while servers run, and safe to repeat.
    Import(Box<import::ImportCommand>),
    /// Check whether the server on this machine is alive; for health checks of containers.
    Health(health::HealthCommand),
    /// Print the GraphQL schema in the schema definition language.
    Schema {
        /// Print it as a subgraph of Apollo Federation 2, for composition into a supergraph.
        #[arg(long)]
        federation: bool,
    },
    /// Check the settings, the database, and the other services and files that the settings name.
    Doctor {
        #[command(flatten)]
        config: Box<ServerConfig>,
        /// Print a JSON object, for programs.
        #[arg(long)]
        json: bool,
    },
}

impl CliCommand {
    /// Whether this is `doctor`.
    pub fn is_doctor(&self) -> bool {
        matches!(self, Self::Doctor { .. })
    }

    /// Runs the command.
    pub async fn run(self, log: &LogConfig) -> Result<()> {
        match self {
            Self::Serve { config, demo: true } => demo::serve(*config).await,
            Self::Serve { config, demo: false } => serve::serve(*config, async |_| Ok(())).await,
            Self::Token(token) => {
                let token = token.sign()?;
                print_line(&format!("{token}\n"))
            }
            Self::Migrate(migrate) => migrate.run().await,
            Self::Sweep { config } => run_sweep(*config).await,
            Self::Audit(audit) => audit.run().await,
            Self::Backup(backup) => backup.run().await,
            Self::Restored(restored) => restored.run().await,
            Self::Import(import) => import.run().await,
            Self::Health(health) => health.run().await,
            Self::Schema { federation } => {
                print_line(&if federation { Schema::export_subgraph() } else { Schema::export_sdl() })
            }
            Self::Doctor { config, json } => doctor::run(&config, log, json).await,
        }
    }
}

async fn run_sweep(config: ServerConfig) -> Result<()> {
    let (_held, app) = serve::open_existing_app(config, FileAccess::Beside).await?;
    let swept = maintenance::scheduled::sweep::sweep_all(&app.delivery).await?;
    app.db.close().await;
    let told = format!(
        "deleted {} notifications, {} publications, {} inbox items, {} channels, {} actions, {} views and keys of \
         activities\n",
        swept.notifications, swept.publications, swept.items, swept.channels, swept.actions, swept.views
    );
    print_result(&told, "everything past the retention was deleted")
}
