//! All that an operation may use.

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

/// Which Tidings this is.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

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
    /// How people come in who have no token, where a provider is named.
    pub sign_in: Option<SignIn>,
    /// What users may run, where they may not run everything.
    pub operations: Option<Operations>,
    /// What rules read.
    pub sources: Sources,
    /// Requests to addresses that users have named.
    pub egress: Egress,
    /// Letters, over relays that tenants have named.
    pub mail: Mail,
    /// Messages of official accounts of WeChat.
    pub wechat: WeChat,
    /// Messages to browsers, over push services that these have named.
    pub push: Push,
    /// Secrets of tenants, as the database keeps them.
    pub vault: Vault,
    /// What need not be read again.
    pub caches: Caches,
    /// Places that logs never had.
    pub gaps: RwLock<Gaps>,
    /// What is remembered is served by, where there is one.
    pub board: Option<Arc<Board>>,
    _keeper: Option<Keeper>,
    /// Tells sessions, here and on other nodes, that there is news.
    pub hub: Arc<Hub>,
    /// What tenants do on this node.
    pub pulse: Pulse,
    /// What the server counts of itself.
    pub metrics: Metrics,
}

impl App {
    /// Checks the settings, opens the database and applies what migrations are missing.
    pub fn start(config: Config, clock: Clock) -> BoxFuture<'static, Result<Arc<Self>>> {
        Box::pin(async move {
            config.check()?;
            let db = migrated(&config.database).await?;
            Self::over(db, config, clock).await
        })
    }

    /// The same over a database that is open and migrated already. Its statements are counted from now on.
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

/// The board, and who keeps it: where there is none, from being believed by other nodes.
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

/// Opens the database, and migrates it: past the pooler, where there is a way.
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
