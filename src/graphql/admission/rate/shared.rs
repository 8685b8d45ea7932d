//! The buckets that all nodes share, in Redis: one round trip per use.
//!
//! A request never waits for an unavailable Redis: without a response in time, this node counts alone, and does not ask
//! Redis for a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{Client, RedisError, Script};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::PublicRoute;
use super::bucket::RateLimit;
use crate::app::App;
use crate::graphql::context::CallerIdentity;
use base::error::{Error, Result};

/// The kind of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BucketKind {
    Operations,
    Made,
    Network(PublicRoute),
    Link,
    Route(PublicRoute),
}

pub type BucketKey = (BucketKind, CallerIdentity);

/// Longest wait of a request for Redis.
const PATIENCE: Duration = Duration::from_millis(50);

/// Time limit for connecting. Requests do not wait that long.
const CONNECT: Duration = Duration::from_secs(2);

/// Pause after a failure of Redis.
const REST: Duration = Duration::from_secs(1);

/// The connection to the shared buckets.
#[derive(Debug)]
pub struct RedisBuckets {
    url: String,
    script: Script,
    link: Mutex<RedisLink>,
}

#[derive(Debug)]
enum RedisLink {
    /// The connection, and the key prefix of this database's buckets.
    Up(MultiplexedConnection, Arc<str>),
    /// No attempt to connect before this instant.
    Down { until: Instant, is_told: bool },
}

impl RedisBuckets {
    /// Not connected yet: the first request connects.
    pub fn new(url: String) -> Self {
        let link = Mutex::new(RedisLink::Down { until: Instant::now(), is_told: false });
        Self { url, script: Script::new(include_str!("take.lua")), link }
    }

    /// Takes things from a caller's bucket, and returns the missing parts as `TokenBucket::try_take` does; `None` if
    /// Redis fails.
    pub async fn try_take(
        self: &Arc<Self>,
        app: &Arc<App>,
        whose: &BucketKey,
        of: RateLimit,
        things: i64,
    ) -> Option<i64> {
        let (mut connection, prefix) = self.get_connection(app).await?;
        let mut call = self.script.prepare_invoke();
        call.key(redis_key(&prefix, whose)).arg(of.many).arg(things).arg(of.millis);
        let answered = timeout(PATIENCE, call.invoke_async(&mut connection)).await;
        let Ok(answer): Result<Result<i64, RedisError>, _> = answered else {
            self.mark_down(app, &"it does not answer in time");
            return None;
        };
        answer.inspect_err(|error| self.mark_down(app, error)).ok()
    }

    /// The connection, or `None`. While there is none, at most one request a second tries to connect.
    async fn get_connection(self: &Arc<Self>, app: &Arc<App>) -> Option<(MultiplexedConnection, Arc<str>)> {
        {
            let mut link = self.link.lock();
            match &mut *link {
                RedisLink::Up(connection, prefix) => return Some((connection.clone(), prefix.clone())),
                RedisLink::Down { until, .. } if *until > Instant::now() => return None,
                RedisLink::Down { until, .. } => *until = Instant::now() + CONNECT + REST,
            }
        }
        let connecting = tokio::spawn(self.clone().connect(app.clone()));
        // Connecting continues after the request stops waiting.
        timeout(PATIENCE, connecting).await.ok()?.ok()?
    }

    async fn connect(self: Arc<Self>, app: Arc<App>) -> Option<(MultiplexedConnection, Arc<str>)> {
        let connected = async {
            let client = Client::open(self.url.as_str()).map_err(Error::internal)?;
            let connection = client.get_multiplexed_async_connection().await.map_err(Error::internal)?;
            Ok::<_, Error>((connection, Arc::<str>::from(format!("tidings:{}:rate:", app.db.name().await?))))
        };
        match timeout(CONNECT, connected).await {
            Ok(Ok((connection, prefix))) => {
                let mut link = self.link.lock();
                if let RedisLink::Down { is_told: true, .. } = *link {
                    tracing::info!("Redis is back: the nodes count rates together again");
                }
                app.metrics.rate_shared.set(1);
                *link = RedisLink::Up(connection.clone(), prefix.clone());
                return Some((connection, prefix));
            }
            Ok(Err(Error::Internal(cause))) => self.mark_down(&app, &cause),
            Ok(Err(error)) => self.mark_down(&app, &error),
            Err(_) => self.mark_down(&app, &"it cannot be reached in time"),
        }
        None
    }

    fn mark_down(&self, app: &App, why: &dyn std::fmt::Display) {
        let mut link = self.link.lock();
        if !matches!(*link, RedisLink::Down { is_told: true, .. }) {
            tracing::warn!(%why, "Redis is unavailable: each node counts rates for itself");
        }
        app.metrics.rate_shared.set(0);
        *link = RedisLink::Down { until: Instant::now() + REST, is_told: true };
    }
}

/// The key of a caller's bucket. It is a hash, so that it does not reveal the caller.
fn redis_key(prefix: &str, (what, (tenant, role, sub)): &BucketKey) -> String {
    let digest = Sha256::digest(format!("{what:?}:{tenant}:{role}:{sub}"));
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(&digest[..16]))
}
