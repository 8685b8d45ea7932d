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

use super::Route;
use super::bucket::Allowance;
use crate::app::App;
use crate::error::{Error, Result};
use crate::graphql::viewer::Who;

/// The kind of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    Operations,
    Made,
    Network(Route),
    Link,
    Route(Route),
}

pub type Whose = (What, Who);

/// Longest wait of a request for Redis.
const PATIENCE: Duration = Duration::from_millis(50);

/// Time limit for connecting. Requests do not wait that long.
const CONNECT: Duration = Duration::from_secs(2);

/// Pause after a failure of Redis.
const REST: Duration = Duration::from_secs(1);

/// The connection to the shared buckets.
#[derive(Debug)]
pub struct Shared {
    url: String,
    script: Script,
    link: Mutex<Link>,
}

#[derive(Debug)]
enum Link {
    /// The connection, and the key prefix of this database's buckets.
    Up(MultiplexedConnection, Arc<str>),
    /// No attempt to connect before this instant.
    Down { until: Instant, is_told: bool },
}

impl Shared {
    /// Not connected yet: the first request connects.
    pub fn new(url: String) -> Self {
        let link = Mutex::new(Link::Down { until: Instant::now(), is_told: false });
        Self { url, script: Script::new(include_str!("take.lua")), link }
    }

    /// Takes things from a caller's bucket, and returns the missing parts as `Bucket::take` does; `None` if Redis
    /// fails.
    pub async fn take(self: &Arc<Self>, app: &Arc<App>, whose: &Whose, of: Allowance, things: i64) -> Option<i64> {
        let (mut connection, prefix) = self.link(app).await?;
        let mut call = self.script.prepare_invoke();
        call.key(key(&prefix, whose)).arg(of.many).arg(things).arg(of.millis);
        let answered = timeout(PATIENCE, call.invoke_async(&mut connection)).await;
        let Ok(answer): Result<Result<i64, RedisError>, _> = answered else {
            self.lost(app, &"it does not answer in time");
            return None;
        };
        answer.inspect_err(|error| self.lost(app, error)).ok()
    }

    /// The connection, or `None`. While there is none, at most one request a second tries to connect.
    async fn link(self: &Arc<Self>, app: &Arc<App>) -> Option<(MultiplexedConnection, Arc<str>)> {
        {
            let mut link = self.link.lock();
            match &mut *link {
                Link::Up(connection, prefix) => return Some((connection.clone(), prefix.clone())),
                Link::Down { until, .. } if *until > Instant::now() => return None,
                Link::Down { until, .. } => *until = Instant::now() + CONNECT + REST,
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
                if let Link::Down { is_told: true, .. } = *link {
                    tracing::info!("Redis is back: the nodes count rates together again");
                }
                app.metrics.rate_shared.set(1);
                *link = Link::Up(connection.clone(), prefix.clone());
                return Some((connection, prefix));
            }
            Ok(Err(Error::Internal(cause))) => self.lost(&app, &cause),
            Ok(Err(error)) => self.lost(&app, &error),
            Err(_) => self.lost(&app, &"it cannot be reached in time"),
        }
        None
    }

    fn lost(&self, app: &App, why: &dyn std::fmt::Display) {
        let mut link = self.link.lock();
        if !matches!(*link, Link::Down { is_told: true, .. }) {
            tracing::warn!(%why, "Redis is unavailable: each node counts rates for itself");
        }
        app.metrics.rate_shared.set(0);
        *link = Link::Down { until: Instant::now() + REST, is_told: true };
    }
}

/// The key of a caller's bucket. It is a hash, so that it does not reveal the caller.
fn key(prefix: &str, (what, (tenant, role, sub)): &Whose) -> String {
    let digest = Sha256::digest(format!("{what:?}:{tenant}:{role}:{sub}"));
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(&digest[..16]))
}
