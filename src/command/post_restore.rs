//! `tidings restored`: prepares a restored database before it is served.

use clap::Args;

use super::output::print_result;
use super::serve::open_existing_app;
use base::config::ServerConfig;
use base::error::Result;
use store::FileAccess;

/// Default of `--by`.
const BY: i64 = 10_000_000;

/// Options of `tidings restored`.
#[derive(Args)]
pub struct PostRestoreCommand {
    #[command(flatten)]
    config: Box<ServerConfig>,
    /// How far to raise all ids and log positions: more than all tenants together can have created or published since
    /// the backup; 1,000 to 1,000,000,000.
    #[arg(long, default_value_t = BY, value_parser = clap::value_parser!(i64).range(1_000..=1_000_000_000))]
    by: i64,
    /// Confirm that the database was restored. Each run uses up numbers.
    #[arg(long, required = true)]
    yes: bool,
}

impl PostRestoreCommand {
    /// Raises all numbers that clients may remember, so that none is reused for something else.
    pub async fn run(self) -> Result<()> {
        let mut config = *self.config;
        config.database = config.database.without_pooler()?;
        let (_held, app) = open_existing_app(config, FileAccess::Alone).await?;
        app.db.check_no_other_clients().await?;
        let tenants = maintenance::scheduled::restored::advance_numbers(&app, self.by).await?;
        app.db.close().await;
        let told = format!(
            "raised the numbers of {tenants} tenants by {}: ids and cursors that clients know are not used again\n",
            self.by
        );
        print_result(&told, "the numbers were raised")
    }
}
