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
pub use bucket::{Allowance, Bucket};
use shared::{Shared, What, Whose};

/// Callers that are remembered. One who is forgotten begins anew with a full bucket.
const CALLERS: usize = 100_000;

/// The buckets of all callers.
#[derive(Clone, Debug)]
pub struct Rates {
    user: Allowance,
    staff: Allowance,
    making: Allowance,
    /// Those of this node, which count where there is no Redis, or while it is away.
    buckets: Arc<Cache<Whose, Arc<Mutex<Bucket>>>>,
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
            buckets: Arc::new(Cache::new(CALLERS)),
            shared: app.config.redis_url.clone().map(|url| Arc::new(Shared::new(url))),
        }
    }

    /// Takes so many operations out of a caller's bucket, which holds those of a minute; `RATE_LIMITED` where it has
    /// not got them. A single request is never larger than a full bucket. All who have no token share one.
    pub async fn take(&self, app: &Arc<App>, viewer: Option<&Viewer>, operations: usize) -> Result<()> {
        let role = viewer.map_or(Role::User, |viewer| viewer.role);
        let of = if role == Role::User { self.user } else { self.staff };
        let who = viewer.map_or_else(|| (TenantId::default(), role, String::new()), Viewer::who);
        let missing =
            self.missing(app, (What::Operations, who), of, i64::try_from(operations).unwrap_or(i64::MAX)).await;
        if missing == 0 {
            return Ok(());
        }
        Err(Error::RateLimited { what: "operations", retry_after: of.seconds(missing) })
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
        let missing = self.missing(app, whose.clone(), self.making, things).await;
        if missing > 0 {
            let what = "subscriptions, follows, preferences and views for a day";
            return Err(Error::RateLimited { what, retry_after: self.making.seconds(missing) });
        }
        let made = work.await;
        if made.is_err() {
            self.missing(app, whose, self.making, -things).await;
        }
        made
    }

    /// What is missing in a bucket for so many things; where nothing is, they were taken.
    async fn missing(&self, app: &Arc<App>, whose: Whose, of: Allowance, things: i64) -> i64 {
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
        let Ok(bucket) = self.buckets.get_or_insert_with(&whose, full);
        bucket.lock().take(of, things, now)
    }
}
