//! What a restored database needs before it is served.

use clap::Args;
use tidings::config::Config;
use tidings::database::Use;
use tidings::domain;
use tidings::error::Result;

use super::say::say_done;
use super::serve::start_over;

/// How far numbers are raised where nobody says otherwise.
const BY: i64 = 10_000_000;

/// Which database, and by how much.
#[derive(Args)]
pub struct Restored {
    #[command(flatten)]
    config: Box<Config>,
    /// More than all tenants together can have published, and made of anything, since the backup; 1,000 to 1,000,000,000.
    #[arg(long, default_value_t = BY, value_parser = clap::value_parser!(i64).range(1_000..=1_000_000_000))]
    by: i64,
    /// That it was restored: each time, numbers are used up.
    #[arg(long, required = true)]
    yes: bool,
}

impl Restored {
    /// Raises all numbers that clients may know.
    pub async fn run(self) -> Result<()> {
        let mut config = *self.config;
        config.database = config.database.past_the_pooler()?;
        let (_held, app) = start_over(config, Use::Alone).await?;
        app.db.is_left_alone().await?;
        let tenants = domain::chore::restored::restored(&app, self.by).await?;
        app.db.close().await;
        let told = format!(
            "{tenants} tenants go on {} numbers further: what clients know of before means nothing else\n",
            self.by
        );
        say_done(&told, "the numbers are raised")
    }
}
