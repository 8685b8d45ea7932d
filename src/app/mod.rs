//! The parts of a running server that operations use.

mod caches;
mod keeper;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::RwLock;
use sea_orm::DbBackend;

use crate::auth::{SignIn, Verifier};
use crate::board::{Board, Pace};
use crate::clock::{Agreed, Clock, Millis};
use crate::config::operations::Operations;
use crate::config::{Config, DatabaseConfig};
use crate::database::{self, Database};
use crate::egress::Egress;
use crate::error::Result;
use crate::hub::{About, Hub};
use crate::mail::Mail;
use crate::model::gaps::Gaps;
use crate::push::Push;
use crate::source::Sources;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::pulse::Pulse;
use crate::vault::Vault;
use crate::wechat::WeChat;
pub use caches::Caches;
use keeper::Keeper;

/// The version of this server.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A running server: its settings, database, clocks and caches.
#[derive(Debug)]
pub struct App {
    /// The settings at the start.
    pub config: Config,
    /// Connections and transactions.
    pub db: Database,
    /// This node's clock, which tests can set.
    pub clock: Clock,
    /// The clock that all nodes share.
    pub agreed: Agreed,
    /// Verifies tokens.
    pub verifier: Verifier,
    /// Sign-in for people without a token, if a provider is configured.
    pub sign_in: Option<SignIn>,
    /// The operations that users may run, if they are restricted.
    pub operations: Option<Operations>,
    /// The databases that rules read.
    pub sources: Sources,
    /// Requests to addresses that users have entered.
    pub egress: Egress,
    /// Email over the tenants' relays.
    pub mail: Mail,
    /// Messages of WeChat official accounts.
    pub wechat: WeChat,
    /// Messages to browsers, over the push services that the browsers name.
    pub push: Push,
    /// Encrypts tenants' secrets for the database.
    pub vault: Vault,
    /// Data that need not be read again.
    pub caches: Caches,
    /// Positions that the logs skipped.
    pub gaps: RwLock<Gaps>,
    /// Validates cached overviews in Redis, if configured.
    pub board: Option<Arc<Board>>,
    _keeper: Option<Keeper>,
    /// Publishes change notices to sessions on this node and on others.
    pub hub: Arc<Hub>,
    /// The activity of tenants on this node.
    pub pulse: Pulse,
    /// The server's metrics.
    pub metrics: Metrics,
}

impl App {
    /// Checks the settings, opens the database and applies pending migrations.
    pub fn start(config: Config, clock: Clock) -> BoxFuture<'static, Result<Arc<Self>>> {
        Box::pin(async move {
            config.check()?;
            let db = migrated(&config.database).await?;
            Self::over(db, config, clock).await
        })
    }

    /// The same over an open, migrated database. Counts its statements from now on.
    pub fn over(db: Database, config: Config, clock: Clock) -> BoxFuture<'static, Result<Arc<Self>>> {
        Box::pin(Self::made_over(db, config, clock))
    }

    async fn made_over(mut db: Database, config: Config, clock: Clock) -> Result<Arc<Self>> {
        config.check()?;
        let verifier = Verifier::new(&config.auth).await?;
        let sign_in = config.oidc.read(&config.auth, &config.public)?.map(SignIn::new).transpose()?;
        let operations = match &config.wire.operations {
            Some(path) => Some(Operations::open(path).await?),
            None => None,
        };
        let sources = Sources::read(&config.sources, &|name| std::env::var_os(name))?;
        sources.refuse_own(config.database.url())?;
        let egress = Egress::new(&config.egress)?;
        let mail = Mail::new(egress.clone());
        let wechat = WeChat::new(egress.clone(), &config.wechat)?;
        let push = Push::new(Egress::brief(&config.egress.of_push())?);
        let vault = Vault::new(&config.keys)?;
        let caches = Caches::new(&config);
        let metrics = Metrics::default();
        let statements = metrics.statements.clone();
        db.observe(move |_| {
            statements.inc();
        });
        let agreed = Agreed::new(clock.clone(), db.backend() != DbBackend::Sqlite);
        let has_bus = config.redis_url.is_some() || db.backend() == DbBackend::Postgres;
        let hub = Arc::new(Hub::new(has_bus, About::here(VERSION, agreed.now())));
        db.tells(hub.clone());
        let (board, keeper) = kept(&config, &mut db, &metrics).await?;
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
            pulse: Pulse::default(),
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
        self.agreed.compare(self.db.time()).await?;
        #[expect(clippy::cast_precision_loss, reason = "the gauge needs no such precision")]
        self.metrics.clock_skew.set(self.agreed.ahead() as f64 / 1000.0);
        match (was_in_doubt, self.agreed.is_in_doubt()) {
            (false, true) => {
                tracing::error!(
                    "{}: the server deletes no old data and publishes no scheduled notifications",
                    self.agreed.told()
                );
            }
            (true, false) => tracing::info!("the clocks of this node and of the database agree again"),
            _ => {}
        }
        Ok(())
    }
}

/// The Redis invalidation and its epoch task. Without Redis, the task keeps other nodes from trusting theirs.
async fn kept(config: &Config, db: &mut Database, metrics: &Metrics) -> Result<(Option<Arc<Board>>, Option<Keeper>)> {
    let pace = Pace { trust: Duration::from_millis(config.board_trust_millis) };
    let Some(url) = config.redis_url.clone().filter(|_| config.board) else {
        let may_have_others = db.backend() != DbBackend::Sqlite;
        let keeper = if may_have_others { Some(Keeper::start_without(db.clone(), pace).await?) } else { None };
        return Ok((None, keeper));
    };
    let board = Arc::new(Board::new(url, &db.name().await?, pace, metrics));
    let keeper = Keeper::start(board.clone(), db.clone()).await?;
    db.clears(board.clone());
    Ok((Some(board), Some(keeper)))
}

/// Opens the database and migrates it, over the direct URL if there is a pooler.
async fn migrated(config: &DatabaseConfig) -> Result<Database> {
    let db = database::open(config).await?;
    let Some(direct) = config.directly() else {
        db.migrate().await?;
        return Ok(db);
    };
    let direct = database::open(&direct).await?;
    direct.migrate().await?;
    db.is(&direct).await?;
    direct.close().await;
    Ok(db)
}
