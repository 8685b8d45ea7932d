//! All that an operation may use.

use std::sync::Arc;

use moka::future::Cache;

use crate::auth::Verifier;
use crate::clock::{Clock, Millis};
use crate::config::Config;
use crate::database::{self, Database};
use crate::domain::Caches;
use crate::error::Result;

/// A running Tidings: its settings, its database, its clock and what it remembers of the tenants.
#[derive(Debug)]
pub struct App {
    /// As the server was started.
    pub config: Config,
    /// Connections and transactions.
    pub db: Database,
    /// The time, which tests set.
    pub clock: Clock,
    /// Whose tokens are believed.
    pub verifier: Verifier,
    /// What need not be read again.
    pub caches: Caches,
}

impl App {
    /// Checks the settings, opens the database and applies what migrations are missing.
    pub async fn start(config: Config, clock: Clock) -> Result<Arc<Self>> {
        config.check()?;
        let verifier = Verifier::new(&config.auth).await?;
        let db = database::connect(config.database.url(), config.database.connections).await?;
        db.migrate().await?;
        Ok(Self::new(db, config, clock, verifier))
    }

    /// The same over a database that is open and migrated already.
    pub async fn over(db: Database, config: Config, clock: Clock) -> Result<Arc<Self>> {
        config.check()?;
        let verifier = Verifier::new(&config.auth).await?;
        Ok(Self::new(db, config, clock, verifier))
    }

    fn new(db: Database, config: Config, clock: Clock, verifier: Verifier) -> Arc<Self> {
        Arc::new(Self { config, db, clock, verifier, caches: Caches::default() })
    }

    /// Milliseconds since 1970.
    pub fn now(&self) -> Millis {
        self.clock.now()
    }
}

/// A cache of at most `capacity` entries; what is used least goes first.
pub fn cache<K, V>(capacity: u64) -> Cache<K, V>
where
    K: std::hash::Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Cache::new(capacity)
}
