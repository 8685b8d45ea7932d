//! `tidings migrate`: applies and reverts migrations.

use clap::Args;
use tidings::config::DatabaseConfig;
use tidings::database::{self, Held, Use};
use tidings::error::Result;

use super::say::{say, say_done};

/// Options of `tidings migrate`.
#[derive(Args)]
pub struct Migrate {
    #[command(flatten)]
    database: DatabaseConfig,
    /// Revert all migrations instead, which deletes ALL data. Refused while servers run.
    #[arg(long, requires = "yes")]
    down: bool,
    /// Confirm that all data may be deleted.
    #[arg(long)]
    yes: bool,
}

impl Migrate {
    /// Runs the migrations and prints their names.
    pub async fn run(self) -> Result<()> {
        let database = if self.down {
            self.database.past_the_pooler()?
        } else {
            self.database.directly().unwrap_or(self.database)
        };
        let _held = Held::of(database.url(), if self.down { Use::Alone } else { Use::Beside })?;
        let db = database::open(&database).await?;
        let (word, done) = if self.down {
            db.is_left_alone().await?;
            ("reverted", db.unmigrate().await?)
        } else {
            ("applied", db.migrate().await?)
        };
        db.close().await;
        if done.is_empty() {
            return say("nothing to do: the database is up to date\n");
        }
        let told: Vec<String> = done.iter().map(|name| format!("{word}: {name}")).collect();
        say_done(&format!("{}\n", told.join("\n")), &format!("{} migrations are {word}", done.len()))
    }
}
