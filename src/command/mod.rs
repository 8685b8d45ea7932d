//! What the command line can do, a file a command where it is more than a call.

mod audit;
mod backup;
mod demo;
mod doctor;
mod health;
mod import;
mod migrate;
mod restored;
mod say;
mod serve;
mod token;

use clap::Subcommand;
use say::{say, say_done};
use tidings::config::{Config, LogConfig};
use tidings::database::Use;
use tidings::domain;
use tidings::error::Result;
use tidings::graphql::Schema;

/// One of the commands, with its options.
#[derive(Subcommand)]
pub enum Command {
    /// Serve the API.
    Serve {
        #[command(flatten)]
        config: Box<Config>,
        /// With a tenant to look at, a secret that everybody knows, and a database that is thrown away.
        #[arg(long)]
        demo: bool,
    },
    /// Print a signed token.
    Token(token::Token),
    /// Apply the migrations that the database lacks; `serve` does it by itself.
    Migrate(migrate::Migrate),
    /// Delete once, now, what is past the retention window; `serve` does it every hour. Safe while servers run.
    Sweep {
        #[command(flatten)]
        config: Box<Config>,
    },
    /// Print what services and operators did of a tenant's, newest first, as JSON lines. Safe while servers run.
    Audit(audit::Audit),
    /// Copy a SQLite database into a new file while it is served, and check the copy.
    Backup(backup::Backup),
    /// Make a database that was restored from a backup ready to be served: to be run before any server is.
    Restored(restored::Restored),
    /// Bring over users, subscriptions, or what was sent before, from a file. Safe while servers run, and as often as you like.
    Import(Box<import::Import>),
    /// Say whether the server that runs here is alive; for health checks of containers.
    Health(health::Health),
    /// Print the API in the schema definition language.
    Schema {
        /// As a subgraph of Apollo Federation 2, for the composer of a supergraph.
        #[arg(long)]
        federation: bool,
    },
    /// Say what is wrong with the settings, and with the database and whatever else they name.
    Doctor {
        #[command(flatten)]
        config: Box<Config>,
        /// As a JSON object, for programs.
        #[arg(long)]
        json: bool,
    },
}

impl Command {
    /// Whether it looks for what is wrong.
    pub fn is_doctor(&self) -> bool {
        matches!(self, Self::Doctor { .. })
    }

    /// Does it.
    pub async fn run(self, log: &LogConfig) -> Result<()> {
        match self {
            Self::Serve { config, demo: true } => demo::serve(*config).await,
            Self::Serve { config, demo: false } => serve::serve(*config, async |_| Ok(())).await,
            Self::Token(token) => {
                let token = token.sign()?;
                say(&format!("{token}\n"))
            }
            Self::Migrate(migrate) => migrate.run().await,
            Self::Sweep { config } => sweep(*config).await,
            Self::Audit(audit) => audit.run().await,
            Self::Backup(backup) => backup.run().await,
            Self::Restored(restored) => restored.run().await,
            Self::Import(import) => import.run().await,
            Self::Health(health) => health.run().await,
            Self::Schema { federation } => say(&if federation { Schema::subgraph() } else { Schema::sdl() }),
            Self::Doctor { config, json } => doctor::run(&config, log, json).await,
        }
    }
}

async fn sweep(config: Config) -> Result<()> {
    let (_held, app) = serve::start_over(config, Use::Beside).await?;
    let swept = domain::chore::sweep::sweep(&app).await?;
    app.db.close().await;
    let told = format!(
        "deleted {} notifications, {} publications, {} inbox items, {} channels, {} actions, {} views and keys of \
         activities\n",
        swept.notifications, swept.publications, swept.items, swept.channels, swept.actions, swept.views
    );
    say_done(&told, "what is past the window is deleted")
}
