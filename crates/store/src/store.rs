//! What operations on the database need: connections, the time, caches and change notices.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use sea_orm::DbBackend;

use crate::caches::Caches;
use crate::epoch_task::EpochTask;
use crate::{Database, open};
use base::clock::{Clock, Millis, SharedClock};
use base::config::{DatabaseConfig, ServerConfig};
use base::error::Result;
use base::telemetry::activity::ActivityTracker;
use base::telemetry::metrics::Metrics;
use cluster::hub::{Hub, NodeInfo};
use cluster::invalidation::{EpochTimings, InvalidationStore};
use model::log_gaps::LogGaps;

/// The version of this server.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The database and what stands before it, on this node.
#[derive(Debug)]
pub struct Store {
    /// The settings at the start.
    pub config: ServerConfig,
    /// Connections and transactions.
    pub db: Database,
    /// This node's clock, which tests can set.
    pub clock: Clock,
    /// The clock that all nodes share.
    pub shared_clock: SharedClock,
    /// Data that need not be read again.
    pub caches: Caches,
    /// Positions that the logs skipped.
    pub gaps: RwLock<LogGaps>,
    /// Validates cached overviews in Redis, if configured.
    pub invalidation: Option<Arc<InvalidationStore>>,
    _epoch_task: Option<EpochTask>,
    /// Publishes change notices to sessions on this node and on others.
    pub hub: Arc<Hub>,
    /// The activity of tenants on this node.
    pub activity: ActivityTracker,
    /// The server's metrics.
    pub metrics: Metrics,
}

impl Store {
    /// Opens the database and applies pending migrations, over the direct URL if there is a pooler.
    pub async fn open_migrated(config: &DatabaseConfig) -> Result<Database> {
        let db = open(config).await?;
        let Some(direct) = config.with_direct_url() else {
            db.migrate().await?;
            return Ok(db);
        };
        let direct = open(&direct).await?;
        direct.migrate().await?;
        db.check_same_database(&direct).await?;
        direct.close().await;
        Ok(db)
    }

    /// A store over an open, migrated database. Counts its statements from now on.
    pub async fn start(mut db: Database, config: ServerConfig, clock: Clock) -> Result<Self> {
        let caches = Caches::new(&config);
        let metrics = Metrics::default();
        let statements = metrics.statements.clone();
        db.add_observer(move |_| {
            statements.inc();
        });
        let shared_clock = SharedClock::new(clock.clone(), db.backend() != DbBackend::Sqlite);
        let has_bus = config.redis_url.is_some() || db.backend() == DbBackend::Postgres;
        let hub = Arc::new(Hub::new(has_bus, NodeInfo::this_node(VERSION, shared_clock.now())));
        db.set_hub(hub.clone());
        let (invalidation, epoch_task) = start_invalidation(&config, &mut db, &metrics).await?;
        let store = Self {
            config,
            db,
            clock,
            shared_clock,
            caches,
            gaps: RwLock::default(),
            invalidation,
            _epoch_task: epoch_task,
            hub,
            activity: ActivityTracker::default(),
            metrics,
        };
        store.compare_clocks().await?;
        Ok(store)
    }

    /// Milliseconds since 1970, the same on all nodes.
    pub fn now(&self) -> Millis {
        self.shared_clock.now()
    }

    /// Compares this node's clock with the database's, and logs when they begin or cease to disagree.
    pub async fn compare_clocks(&self) -> Result<()> {
        let was_in_doubt = self.shared_clock.is_in_doubt();
        self.shared_clock.compare_with(self.db.server_time()).await?;
        #[expect(clippy::cast_precision_loss, reason = "the gauge needs no such precision")]
        self.metrics.clock_skew.set(self.shared_clock.ahead_millis() as f64 / 1000.0);
        match (was_in_doubt, self.shared_clock.is_in_doubt()) {
            (false, true) => {
                tracing::error!(
                    "{}: the server deletes no old data and publishes no scheduled notifications",
                    self.shared_clock.describe_difference()
                );
            }
            (true, false) => tracing::info!("the clocks of this node and of the database agree again"),
            _ => {}
        }
        Ok(())
    }
}

/// The Redis invalidation and its epoch task. Without Redis, the task keeps other nodes from trusting theirs.
async fn start_invalidation(
    config: &ServerConfig,
    db: &mut Database,
    metrics: &Metrics,
) -> Result<(Option<Arc<InvalidationStore>>, Option<EpochTask>)> {
    let pace = EpochTimings { trust: Duration::from_millis(config.board_trust_millis) };
    let Some(url) = config.redis_url.clone().filter(|_| config.board) else {
        let may_have_others = db.backend() != DbBackend::Sqlite;
        let epoch_task =
            if may_have_others { Some(EpochTask::start_without_redis(db.clone(), pace).await?) } else { None };
        return Ok((None, epoch_task));
    };
    let invalidation = Arc::new(InvalidationStore::new(url, &db.name().await?, pace, metrics));
    let epoch_task = EpochTask::start(invalidation.clone(), db.clone()).await?;
    db.set_invalidation(invalidation.clone());
    Ok((Some(invalidation), Some(epoch_task)))
}
