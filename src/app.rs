//! The parts of a running server.

use std::ops::Deref;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::graphql::PersistedOperations;
use auth::{SignIn, TokenVerifier};
use base::clock::Clock;
use base::config::ServerConfig;
use base::error::Result;
use delivery::DeliveryContext;
use rules::RuleContext;
use sources::DataSources;
use store::{Database, Store};

/// A running server. Operations take the part that they need: a [`Store`], a [`DeliveryContext`] or [`RuleContext`].
#[derive(Debug)]
pub struct App {
    /// The database and what stands before it.
    pub store: Arc<Store>,
    /// Delivery to the outside.
    pub delivery: Arc<DeliveryContext>,
    /// Rules and the databases that they read.
    pub rules: Arc<RuleContext>,
    /// Verifies tokens.
    pub verifier: TokenVerifier,
    /// Sign-in for people without a token, if a provider is configured.
    pub sign_in: Option<SignIn>,
    /// The operations that users may run, if they are restricted.
    pub operations: Option<PersistedOperations>,
}

impl Deref for App {
    type Target = Arc<Store>;

    fn deref(&self) -> &Self::Target {
        &self.store
    }
}

impl App {
    /// Checks the settings, opens the database and applies pending migrations.
    pub fn start(config: ServerConfig, clock: Clock) -> BoxFuture<'static, Result<Arc<Self>>> {
        Box::pin(async move {
            config.check()?;
            let db = Store::open_migrated(&config.database).await?;
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

    async fn build_with_database(db: Database, config: ServerConfig, clock: Clock) -> Result<Arc<Self>> {
        config.check()?;
        let verifier = TokenVerifier::new(&config.auth).await?;
        let sign_in = config.oidc.sign_in_config(&config.auth, &config.public)?.map(SignIn::new).transpose()?;
        let operations = match &config.wire.operations {
            Some(path) => Some(PersistedOperations::load(path).await?),
            None => None,
        };
        let sources = DataSources::load(&config.sources, &|name| std::env::var_os(name))?;
        sources.reject_own_database(config.database.url())?;
        let store = Arc::new(Store::start(db, config, clock).await?);
        let delivery = Arc::new(DeliveryContext::new(store.clone())?);
        let rules = Arc::new(RuleContext { store: store.clone(), sources });
        Ok(Arc::new(Self { store, delivery, rules, verifier, sign_in, operations }))
    }
}
