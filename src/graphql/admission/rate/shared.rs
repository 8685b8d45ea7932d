//! The buckets that all nodes share, in Redis: one round trip each time.
//!
//! A request never waits for a Redis that is away: whatever is not answered in time is counted by this node alone, and
//! for a second nothing more is asked.

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

/// What somebody has a bucket of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    Operations,
    Made,
    Network(Route),
    Link,
    Route(Route),
}

pub type Whose = (What, Who);

/// How long a request waits for Redis at the most.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long connecting may take; no request waits for that.
const CONNECT: Duration = Duration::from_secs(2);

/// How long a Redis that did not answer is left alone.
const REST: Duration = Duration::from_secs(1);

/// The way to the shared buckets.
#[derive(Debug)]
pub struct Shared {
    url: String,
    script: Script,
    link: Mutex<Link>,
}

#[derive(Debug)]
enum Link {
    /// Connected, and under which name this database's buckets are kept.
    Up(MultiplexedConnection, Arc<str>),
    /// Not before this instant.
    Down { until: Instant, is_told: bool },
}

impl Shared {
    /// Not connected yet; the first who asks connects.
    pub fn new(url: String) -> Self {
        let link = Mutex::new(Link::Down { until: Instant::now(), is_told: false });
        Self { url, script: Script::new(include_str!("take.lua")), link }
    }

    /// Takes things out of a caller's bucket, and returns what is missing for that, as `Bucket::take` does; nothing
    /// where Redis cannot say.
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

    /// The connection; nothing while there is none. One request a second tries to get one.
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
        // It goes on when nobody waits for it any more.
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
                    tracing::info!("rates are counted together with other nodes again");
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
            tracing::warn!(%why, "Redis is away: each node counts rates for itself");
        }
        app.metrics.rate_shared.set(0);
        *link = Link::Down { until: Instant::now() + REST, is_told: true };
    }
}

/// Where a caller's bucket is kept: it does not tell who they are.
fn key(prefix: &str, (what, (tenant, role, sub)): &Whose) -> String {
    let digest = Sha256::digest(format!("{what:?}:{tenant}:{role}:{sub}"));
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(&digest[..16]))
}
