//! All that an operation may use.

mod caches;

use std::sync::Arc;

use sea_orm::DbBackend;

use crate::auth::Verifier;
use crate::clock::{Agreed, Clock, Millis};
use crate::config::Config;
use crate::config::operations::Operations;
use crate::database::{self, Database};
use crate::error::Result;
use crate::hub::Hub;
use crate::telemetry::metrics::Metrics;
pub use caches::Caches;

/// A running Tidings: its settings, its database, its clock and what it remembers of the tenants.
#[derive(Debug)]
pub struct App {
    /// As the server was started.
    pub config: Config,
    /// Connections and transactions.
    pub db: Database,
    /// This node's own, which tests set.
    pub clock: Clock,
    /// The time that all nodes go by.
    pub agreed: Agreed,
    /// Whose tokens are believed.
    pub verifier: Verifier,
    /// What users may run, where they may not run everything.
    pub operations: Option<Operations>,
    /// What need not be read again.
    pub caches: Caches,
    /// Tells sessions, here and on other nodes, that there is news.
    pub hub: Arc<Hub>,
    /// What the server counts of itself.
    pub metrics: Metrics,
}

impl App {
    /// Checks the settings, opens the database and applies what migrations are missing.
    pub async fn start(config: Config, clock: Clock) -> Result<Arc<Self>> {
        config.check()?;
        let db = database::connect(config.database.url(), config.database.connections).await?;
        db.migrate().await?;
        Self::over(db, config, clock).await
    }

    /// The same over a database that is open and migrated already. Its statements are counted from now on.
    pub async fn over(mut db: Database, config: Config, clock: Clock) -> Result<Arc<Self>> {
        config.check()?;
        let verifier = Verifier::new(&config.auth).await?;
        let operations = match &config.wire.operations {
            Some(path) => Some(Operations::open(path).await?),
            None => None,
        };
        let caches = Caches::new(&config.limits);
        let metrics = Metrics::default();
        let statements = metrics.statements.clone();
        db.observe(move |_| {
            statements.inc();
        });
        let agreed = Agreed::new(clock.clone(), db.backend() != DbBackend::Sqlite);
        let has_bus = config.redis_url.is_some() || db.backend() == DbBackend::Postgres;
        let hub = Arc::new(Hub::new(has_bus));
        db.tells(hub.clone());
        let app = Arc::new(Self { config, db, clock, agreed, verifier, operations, caches, hub, metrics });
        app.compare_clocks().await?;
        Ok(app)
    }

    /// Milliseconds since 1970, on all nodes the same.
    pub fn now(&self) -> Millis {
        self.agreed.now()
    }

    /// Looks at the database's clock, by which all nodes go, and says so when this node's is another, or is so no more.
    pub async fn compare_clocks(&self) -> Result<()> {
        let was_in_doubt = self.agreed.is_in_doubt();
        self.agreed.compare(self.db.time()).await?;
        #[expect(clippy::cast_precision_loss, reason = "nobody looks at it that closely")]
        self.metrics.clock_skew.set(self.agreed.ahead() as f64 / 1000.0);
        match (was_in_doubt, self.agreed.is_in_doubt()) {
            (false, true) => {
                tracing::error!("{}: nothing is deleted, and nothing that is due published", self.agreed.told());
            }
            (true, false) => tracing::info!("the clocks of this node and of the database agree again"),
            _ => {}
        }
        Ok(())
    }
}
