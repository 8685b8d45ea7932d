//! `tidings restored`: prepares a restored database before it is served.

use clap::Args;
use tidings::config::Config;
use tidings::database::Use;
use tidings::domain;
use tidings::error::Result;

use super::say::say_done;
use super::serve::start_over;

/// Default of `--by`.
const BY: i64 = 10_000_000;

/// Options of `tidings restored`.
#[derive(Args)]
pub struct Restored {
    #[command(flatten)]
    config: Box<Config>,
    /// How far to raise all ids and log positions: more than all tenants together can have created or published since
    /// the backup; 1,000 to 1,000,000,000.
    #[arg(long, default_value_t = BY, value_parser = clap::value_parser!(i64).range(1_000..=1_000_000_000))]
    by: i64,
    /// Confirm that the database was restored. Each run uses up numbers.
    #[arg(long, required = true)]
    yes: bool,
}

impl Restored {
    /// Raises all numbers that clients may remember, so that none is reused for something else.
    pub async fn run(self) -> Result<()> {
        let mut config = *self.config;
        config.database = config.database.past_the_pooler()?;
        let (_held, app) = start_over(config, Use::Alone).await?;
        app.db.is_left_alone().await?;
        let tenants = domain::chore::restored::restored(&app, self.by).await?;
        app.db.close().await;
        let told = format!(
            "raised the numbers of {tenants} tenants by {}: ids and cursors that clients know are not used again\n",
            self.by
        );
        say_done(&told, "the numbers were raised")
    }
}
