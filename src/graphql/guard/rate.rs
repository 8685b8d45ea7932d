//! How many operations a caller may run: a bucket of tokens each, which all nodes share where there is a Redis.

mod bucket;
mod shared;

use std::sync::{Arc, Mutex, PoisonError};

use entity::ids::TenantId;
use moka::future::Cache;

use crate::app::App;
use crate::auth::Role;
use crate::error::{Error, Result};
use crate::graphql::Viewer;
pub use bucket::Bucket;
use shared::Shared;

/// Callers that are remembered. One who is forgotten begins anew with a full bucket.
const CALLERS: u64 = 100_000;

/// The buckets of all callers.
#[derive(Clone, Debug)]
pub struct Rates {
    user: u32,
    staff: u32,
    /// Those of this node, which count where there is no Redis, or while it is away.
    buckets: Cache<Who, Arc<Mutex<Bucket>>>,
    shared: Option<Arc<Shared>>,
}

type Who = (TenantId, Role, String);

impl Rates {
    /// Full buckets of the sizes that the settings say.
    pub fn new(app: &App) -> Self {
        let limits = &app.config.limits;
        let shared = app.config.redis_url.clone().map(|url| Arc::new(Shared::new(url)));
        Self { user: limits.rate, staff: limits.staff_rate, buckets: Cache::new(CALLERS), shared }
    }

    /// Takes so many operations out of a caller's bucket, which holds those of a minute; `RATE_LIMITED` where it has
    /// not got them. A single request is never larger than a full bucket. All who have no token share one.
    pub async fn take(&self, app: &Arc<App>, viewer: Option<&Viewer>, operations: usize) -> Result<()> {
        let role = viewer.map_or(Role::User, |viewer| viewer.role);
        let rate = if role == Role::User { self.user } else { self.staff };
        if rate == 0 || operations == 0 {
            return Ok(());
        }
        let now = app.now();
        let caller = match viewer {
            Some(viewer) => (viewer.tenant.id, role, viewer.sub.clone()),
            None => (TenantId::default(), role, String::new()),
        };
        if let Some(shared) = &self.shared {
            if let Some(missing) = shared.take(app, &caller, rate, operations).await {
                return enough(rate, missing);
            }
            app.metrics.rate_alone.inc();
        }
        let full = || Arc::new(Mutex::new(Bucket::full(rate, now)));
        let bucket = self.buckets.get_with(caller, async { full() }).await;
        let missing = bucket.lock().unwrap_or_else(PoisonError::into_inner).take(rate, operations, now);
        enough(rate, missing)
    }
}

/// `RATE_LIMITED` where something is missing, with the time that it takes to come.
fn enough(rate: u32, missing: i64) -> Result<()> {
    if missing <= 0 {
        return Ok(());
    }
    Err(Error::RateLimited { retry_after: bucket::seconds(rate, missing) })
}
