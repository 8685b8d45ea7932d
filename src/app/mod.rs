//! The parts of a running server that operations use.

mod caches;
mod keeper;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use sea_orm::DbBackend;

use crate::auth::{SignIn, TokenVerifier};
use crate::board::{EpochTimings, InvalidationStore};
use crate::clock::{Clock, Millis, SharedClock};
use crate::config::operations::PersistedOperations;
use crate::config::{DatabaseConfig, ServerConfig};
use crate::database::{self, Database};
use crate::egress::EgressClient;
use crate::error::Result;
use crate::hub::{Hub, NodeInfo};
use crate::mail::MailSender;
use crate::model::gaps::LogGaps;
use crate::push::PushClient;
use crate::source::DataSources;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::pulse::ActivityTracker;
use crate::vault::Vault;
use crate::wechat::WeChatClient;
pub use caches::Caches;
use keeper::EpochTask;

/// The version of this server.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A running server: its settings, database, clocks and caches.
#[derive(Debug)]
pub struct App {
    /// The settings at the start.
    pub config: ServerConfig,
    /// Connections and transactions.
    pub db: Database,
    /// This node's clock, which tests can set.
    pub clock: Clock,
    /// The clock that all nodes share.
    pub agreed: SharedClock,
    /// Verifies tokens.
    pub verifier: TokenVerifier,
    /// Sign-in for people without a token, if a provider is configured.
    pub sign_in: Option<SignIn>,
    /// The operations that users may run, if they are restricted.
    pub operations: Option<PersistedOperations>,
    /// The databases that rules read.
    pub sources: DataSources,
    /// Requests to addresses that users have entered.
    pub egress: EgressClient,
    /// Email over the tenants' relays.
    pub mail: MailSender,
    /// Messages of WeChat official accounts.
    pub wechat: WeChatClient,
    /// Messages to browsers, over the push services that the browsers name.
    pub push: PushClient,
    /// Encrypts tenants' secrets for the database.
    pub vault: Vault,
    /// Data that need not be read again.
    pub caches: Caches,
    /// Positions that the logs skipped.
    pub gaps: RwLock<LogGaps>,
    /// Validates cached overviews in Redis, if configured.
    pub board: Option<Arc<InvalidationStore>>,
    _keeper: Option<EpochTask>,
    /// Publishes change notices to sessions on this node and on others.
    pub hub: Arc<Hub>,
    /// The activity of tenants on this node.
    pub pulse: ActivityTracker,
    /// The server's metrics.
    pub metrics: Metrics,
}

impl App {
    /// Checks the settings, opens the database and applies pending migrations.
    pub fn start(config: ServerConfig, clock: Clock) -> BoxFuture<'static, Result<Arc<Self>>> {
        Box::pin(async move {
            config.check()?;
            let db = open_migrated(&config.database).await?;
            Self::start_with_database(db, config, clock).await
        })
    }

    /// The same over an open, migrated database. Counts its statements from now on.
    pub fn start_with_database(
        db: Database,
        config: ServerConfig,
        clock: Clock,
    ) -> BoxFuture<'static, Result<Arc<Self>>> {
        Box::pin(Self::build_with_database(db, config, clock))
    }

    async fn build_with_database(mut db: Database, config: ServerConfig, clock: Clock) -> Result<Arc<Self>> {
        config.check()?;
        let verifier = TokenVerifier::new(&config.auth).await?;
        let sign_in = config.oidc.sign_in_config(&config.auth, &config.public)?.map(SignIn::new).transpose()?;
        let operations = match &config.wire.operations {
            Some(path) => Some(PersistedOperations::load(path).await?),
            None => None,
        };
        let sources = DataSources::load(&config.sources, &|name| std::env::var_os(name))?;
        sources.reject_own_database(config.database.url())?;
        let egress = EgressClient::new(&config.egress)?;
        let mail = MailSender::new(egress.clone());
        let wechat = WeChatClient::new(egress.clone(), &config.wechat)?;
        let push = PushClient::new(EgressClient::with_short_timeout(&config.egress.for_push())?);
        let vault = Vault::new(&config.keys)?;
        let caches = Caches::new(&config);
        let metrics = Metrics::default();
        let statements = metrics.statements.clone();
        db.add_observer(move |_| {
            statements.inc();
        });
        let agreed = SharedClock::new(clock.clone(), db.backend() != DbBackend::Sqlite);
        let has_bus = config.redis_url.is_some() || db.backend() == DbBackend::Postgres;
        let hub = Arc::new(Hub::new(has_bus, NodeInfo::this_node(VERSION, agreed.now())));
        db.set_hub(hub.clone());
        let (board, keeper) = start_invalidation(&config, &mut db, &metrics).await?;
        let app = Arc::new(Self {
            config,
            db,
            clock,
            agreed,
            verifier,
            sign_in,
            operations,
            sources,
            egress,
            mail,
            wechat,
            push,
            vault,
            caches,
            gaps: RwLock::default(),
            board,
            _keeper: keeper,
            hub,
            pulse: ActivityTracker::default(),
            metrics,
        });
        app.compare_clocks().await?;
        Ok(app)
    }

    /// Milliseconds since 1970, the same on all nodes.
    pub fn now(&self) -> Millis {
        self.agreed.now()
    }

    /// Compares this node's clock with the database's, and logs when they begin or cease to disagree.
    pub async fn compare_clocks(&self) -> Result<()> {
        let was_in_doubt = self.agreed.is_in_doubt();
        self.agreed.compare_with(self.db.server_time()).await?;
        #[expect(clippy::cast_precision_loss, reason = "the gauge needs no such precision")]
        self.metrics.clock_skew.set(self.agreed.ahead_millis() as f64 / 1000.0);
        match (was_in_doubt, self.agreed.is_in_doubt()) {
            (false, true) => {
                tracing::error!(
                    "{}: the server deletes no old data and publishes no scheduled notifications",
                    self.agreed.describe_difference()
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
        let keeper = if may_have_others { Some(EpochTask::start_without_redis(db.clone(), pace).await?) } else { None };
        return Ok((None, keeper));
    };
    let board = Arc::new(InvalidationStore::new(url, &db.name().await?, pace, metrics));
    let keeper = EpochTask::start(board.clone(), db.clone()).await?;
    db.set_invalidation(board.clone());
    Ok((Some(board), Some(keeper)))
}

/// Opens the database and migrates it, over the direct URL if there is a pooler.
async fn open_migrated(config: &DatabaseConfig) -> Result<Database> {
    let db = database::open(config).await?;
    let Some(direct) = config.with_direct_url() else {
        db.migrate().await?;
        return Ok(db);
    };
    let direct = database::open(&direct).await?;
    direct.migrate().await?;
    db.check_same_database(&direct).await?;
    direct.close().await;
    Ok(db)
}
