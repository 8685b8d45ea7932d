//! How many operations a caller may run: a bucket of tokens each, which all nodes share where there is a Redis.

mod bucket;
mod shared;

use std::convert::Infallible;
use std::sync::Arc;

use entity::ids::TenantId;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use quick_cache::sync::Cache;

use crate::app::App;
use crate::auth::Role;
use crate::error::{Error, Result};
use crate::graphql::viewer::Viewer;
use crate::model::network::Network;
pub use bucket::{Allowance, Bucket};
use shared::{Shared, What, Whose};

type Buckets = Arc<Cache<Whose, Arc<Mutex<Bucket>>>>;

/// Callers that are remembered. One who is forgotten begins anew with a full bucket.
const CALLERS: usize = 100_000;

/// Requests a minute by one link of a letter: a person and the programs that read their mail need a few.
const LINK: u32 = 30;

/// A route that needs no token. Each has buckets of its own, so that requests to one do not shut another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// Leads to the provider.
    SignIn,
    /// Comes back from the provider.
    Callback,
    SignOut,
    /// The links in letters.
    Unsubscribe,
    /// GraphQL, where the schema is public.
    Introspection,
}

/// What a request without a token is counted of.
#[derive(Clone, Copy, Debug)]
pub enum Share<'a> {
    /// What one network may ask of a route.
    Network(Route, Network),
    /// What one link of a letter is good for.
    Link(&'a str),
    /// What all networks together may ask of a route, so that the database has room for others.
    Route(Route),
}

impl Share<'_> {
    /// First of the caller's network, so that a caller with nothing left takes nothing from the others.
    pub fn of(route: Route, network: Network) -> [Self; 2] {
        [Self::Network(route, network), Self::Route(route)]
    }
}

/// The buckets of all callers.
#[derive(Clone, Debug)]
pub struct Rates {
    user: Allowance,
    staff: Allowance,
    making: Allowance,
    network: Allowance,
    link: Allowance,
    route: Allowance,
    /// Those of this node, which count where there is no Redis, or while it is away.
    buckets: Buckets,
    /// Those of callers without a token, who may come from any number of networks: they push no others out.
    strangers: Buckets,
    shared: Option<Arc<Shared>>,
}

impl Rates {
    /// Full buckets of the sizes that the settings say.
    pub fn new(app: &App) -> Self {
        let limits = &app.config.limits;
        Self {
            user: Allowance::a_minute(limits.rate),
            staff: Allowance::a_minute(limits.staff_rate),
            making: Allowance::a_day(limits.user_makes),
            network: Allowance::a_minute(limits.network_rate),
            link: Allowance::a_minute(limits.network_rate.min(LINK)),
            route: Allowance::a_minute(limits.route_rate),
            buckets: Arc::new(Cache::new(CALLERS)),
            strangers: Arc::new(Cache::new(CALLERS)),
            shared: app.config.redis_url.clone().map(|url| Arc::new(Shared::new(url))),
        }
    }

    /// Takes so many operations out of a caller's bucket, which holds those of a minute; `RATE_LIMITED` where it has
    /// not got them. A single request is never larger than a full bucket.
    pub async fn take(&self, app: &Arc<App>, viewer: &Viewer, operations: usize) -> Result<()> {
        let of = if viewer.role == Role::User { self.user } else { self.staff };
        let operations = i64::try_from(operations).unwrap_or(i64::MAX);
        let missing = self.missing(app, &self.buckets, (What::Operations, viewer.who()), of, operations).await;
        if missing == 0 {
            return Ok(());
        }
        Err(Error::RateLimited { what: "operations", retry_after: of.seconds(missing) })
    }

    /// Takes a request out of each of these buckets, in their order; `RATE_LIMITED` where one has nothing left, and those after it are
    /// left alone.
    pub async fn take_without_token(&self, app: &Arc<App>, shares: &[Share<'_>]) -> Result<()> {
        for share in shares {
            let (what, name, of) = match share {
                Share::Network(route, network) => (What::Network(*route), network.to_string(), self.network),
                Share::Link(link) => (What::Link, (*link).to_owned(), self.link),
                Share::Route(route) => (What::Route(*route), String::new(), self.route),
            };
            let whose = (what, (TenantId::default(), Role::User, name));
            let missing = self.missing(app, &self.strangers, whose, of, 1).await;
            if missing > 0 {
                return Err(Error::RateLimited { what: "requests without a token", retry_after: of.seconds(missing) });
            }
        }
        Ok(())
    }

    /// The same for what a user makes, in a day, that stays: subscriptions, follows, preferences of actions, places in views.
    /// Services and operators may make what they like. What could not be made counts for nothing.
    pub async fn making<T>(
        &self,
        app: &Arc<App>,
        viewer: &Viewer,
        things: usize,
        work: BoxFuture<'_, Result<T>>,
    ) -> Result<T> {
        if viewer.role != Role::User {
            return work.await;
        }
        let things = i64::try_from(things).unwrap_or(i64::MAX);
        let whose = (What::Made, viewer.who());
        let missing = self.missing(app, &self.buckets, whose.clone(), self.making, things).await;
        if missing > 0 {
            let what = "subscriptions, follows, preferences and views for a day";
            return Err(Error::RateLimited { what, retry_after: self.making.seconds(missing) });
        }
        let made = work.await;
        if made.is_err() {
            self.missing(app, &self.buckets, whose, self.making, -things).await;
        }
        made
    }

    /// What is missing in a bucket for so many things; where nothing is, they were taken.
    async fn missing(&self, app: &Arc<App>, buckets: &Buckets, whose: Whose, of: Allowance, things: i64) -> i64 {
        if of.many == 0 || things == 0 {
            return 0;
        }
        if let Some(shared) = &self.shared {
            if let Some(missing) = shared.take(app, &whose, of, things).await {
                return missing;
            }
            app.metrics.rate_alone.inc();
        }
        let now = app.now();
        let full = || Ok::<_, Infallible>(Arc::new(Mutex::new(Bucket::full(of, now))));
        let Ok(bucket) = buckets.get_or_insert_with(&whose, full);
        bucket.lock().take(of, things, now)
    }
}
