//! Rate limits: a token bucket for each caller. All nodes share it if there is a Redis.

mod bucket;
mod shared;

use std::convert::Infallible;
use std::sync::Arc;

use entity::ids::TenantId;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use quick_cache::sync::Cache;

use crate::app::App;
use crate::graphql::context::Viewer;
use auth::CallerRole;
use base::error::{Error, Result};
pub use bucket::{RateLimit, TokenBucket};
use model::network::CallerNetwork;
use shared::{BucketKey, BucketKind, RedisBuckets};

type BucketCache = Arc<Cache<BucketKey, Arc<Mutex<TokenBucket>>>>;

/// Most callers with a bucket. An evicted caller begins again with a full one.
const CALLERS: usize = 100_000;

/// Requests per minute by one link of an email: a person and their mail programs need a few.
const LINK: u32 = 30;

/// A route without a token. Each has separate buckets, so that requests to one do not block another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PublicRoute {
    /// Redirects to the provider.
    SignIn,
    /// Comes back from the provider.
    Callback,
    SignOut,
    /// The links in emails.
    Unsubscribe,
    /// GraphQL, if the schema is public.
    Introspection,
}

/// The share that a request without a token is counted against.
#[derive(Clone, Copy, Debug)]
pub enum RateScope<'a> {
    /// Requests of one network to a route.
    Network(PublicRoute, CallerNetwork),
    /// Requests by one link of an email.
    Link(&'a str),
    /// Requests of all networks to a route, so that the database has room for others.
    Route(PublicRoute),
}

impl RateScope<'_> {
    /// The caller's network first, so that a network without a rest takes nothing from the others.
    pub fn for_route(route: PublicRoute, network: CallerNetwork) -> [Self; 2] {
        [Self::Network(route, network), Self::Route(route)]
    }
}

/// The buckets of all callers.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    user: RateLimit,
    staff: RateLimit,
    making: RateLimit,
    network: RateLimit,
    link: RateLimit,
    route: RateLimit,
    /// The buckets of this node, used without Redis or while it is unavailable.
    buckets: BucketCache,
    /// Buckets of callers without a token. They may come from any number of networks, and must not evict others.
    strangers: BucketCache,
    shared: Option<Arc<RedisBuckets>>,
}

impl RateLimiter {
    /// Full buckets of the configured sizes.
    pub fn new(app: &App) -> Self {
        let limits = &app.config.limits;
        Self {
            user: RateLimit::per_minute(limits.rate),
            staff: RateLimit::per_minute(limits.staff_rate),
            making: RateLimit::per_day(limits.user_makes),
            network: RateLimit::per_minute(limits.network_rate),
            link: RateLimit::per_minute(limits.network_rate.min(LINK)),
            route: RateLimit::per_minute(limits.route_rate),
            buckets: Arc::new(Cache::new(CALLERS)),
            strangers: Arc::new(Cache::new(CALLERS)),
            shared: app.config.redis_url.clone().map(|url| Arc::new(RedisBuckets::new(url))),
        }
    }

    /// Takes operations from a caller's bucket, which holds those of a minute; `RATE_LIMITED` if it holds too few. A
    /// single request never takes more than a full bucket.
    pub async fn charge_operations(&self, app: &Arc<App>, viewer: &Viewer, operations: usize) -> Result<()> {
        let of = if viewer.role == CallerRole::User { self.user } else { self.staff };
        let operations = i64::try_from(operations).unwrap_or(i64::MAX);
        let missing = self
            .take_from_bucket(app, &self.buckets, (BucketKind::Operations, viewer.identity()), of, operations)
            .await;
        if missing == 0 {
            return Ok(());
        }
        Err(Error::RateLimited { what: "operations", retry_after: of.refill_seconds(missing) })
    }

    /// Takes a request from each of these buckets in order. `RATE_LIMITED` if one has nothing left; those after it stay
    /// as they are.
    pub async fn charge_without_token(&self, app: &Arc<App>, shares: &[RateScope<'_>]) -> Result<()> {
        for share in shares {
            let (what, name, of) = match share {
                RateScope::Network(route, network) => (BucketKind::Network(*route), network.to_string(), self.network),
                RateScope::Link(link) => (BucketKind::Link, (*link).to_owned(), self.link),
                RateScope::Route(route) => (BucketKind::Route(*route), String::new(), self.route),
            };
            let whose = (what, (TenantId::default(), CallerRole::User, name));
            let missing = self.take_from_bucket(app, &self.strangers, whose, of, 1).await;
            if missing > 0 {
                return Err(Error::RateLimited {
                    what: "requests without a token",
                    retry_after: of.refill_seconds(missing),
                });
            }
        }
        Ok(())
    }

    /// Limits the permanent objects that a user creates per day: subscriptions, follows, preferences of actions,
    /// memberships of views. Services and operators have no such limit. Failed work does not count.
    pub async fn charge_creation<T>(
        &self,
        app: &Arc<App>,
        viewer: &Viewer,
        things: usize,
        work: BoxFuture<'_, Result<T>>,
    ) -> Result<T> {
        if viewer.role != CallerRole::User {
            return work.await;
        }
        let things = i64::try_from(things).unwrap_or(i64::MAX);
        let whose = (BucketKind::Made, viewer.identity());
        let missing = self.take_from_bucket(app, &self.buckets, whose.clone(), self.making, things).await;
        if missing > 0 {
            let what = "subscriptions, follows, preferences and views in one day";
            return Err(Error::RateLimited { what, retry_after: self.making.refill_seconds(missing) });
        }
        let made = work.await;
        if made.is_err() {
            self.take_from_bucket(app, &self.buckets, whose, self.making, -things).await;
        }
        made
    }

    /// Takes things from a bucket. Returns the number of missing parts, or 0 if they were taken.
    async fn take_from_bucket(
        &self,
        app: &Arc<App>,
        buckets: &BucketCache,
        whose: BucketKey,
        of: RateLimit,
        things: i64,
    ) -> i64 {
        if of.many == 0 || things == 0 {
            return 0;
        }
        if let Some(shared) = &self.shared {
            if let Some(missing) = shared.try_take(app, &whose, of, things).await {
                return missing;
            }
            app.metrics.rate_alone.inc();
        }
        let now = app.now();
        let full = || Ok::<_, Infallible>(Arc::new(Mutex::new(TokenBucket::new_full(of, now))));
        let Ok(bucket) = buckets.get_or_insert_with(&whose, full);
        bucket.lock().try_take(of, things, now)
    }
}
