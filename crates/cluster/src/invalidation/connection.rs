//! The connection to Redis. It belongs to one run of Redis: a restart or a failover ends it.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, Pipeline, RedisError, cmd, pipe};

use super::key::InvalidationToken;
use base::error::{Error, Result};

/// The most keys of one command.
const KEYS: usize = 1000;

/// The lifetime of a token. A reader that misses it registers a new one.
pub const LASTS: Duration = Duration::from_mins(10);

/// A connection to one run of Redis.
#[derive(Clone)]
pub struct RedisConnection {
    connection: MultiplexedConnection,
    /// The run of Redis that it connects to.
    pub run: Arc<str>,
}

impl RedisConnection {
    /// Fails if the Redis at the URL does not answer, or is a replica.
    pub async fn open(url: &str) -> Result<Self> {
        let client = Client::open(url).map_err(unavailable_error)?;
        let mut connection = client.get_multiplexed_async_connection().await.map_err(unavailable_error)?;
        let run = read_run_id(&mut connection).await?;
        Ok(Self { connection, run })
    }

    /// Checks that the connection still leads to the same run.
    pub async fn check_run(&mut self) -> Result<()> {
        let run = read_run_id(&mut self.connection).await?;
        if run == self.run { Ok(()) } else { Err(Error::Unavailable("Redis was restarted or replaced".into())) }
    }

    /// The tokens under these keys, in one round trip.
    ///
    /// The first key is read with GETEX, which a replica refuses: a replica may lag behind.
    pub async fn get_tokens(&mut self, keys: &[String]) -> Result<Vec<Option<InvalidationToken>>> {
        let Some((first, rest)) = keys.split_first() else { return Ok(Vec::new()) };
        let mut all = pipe();
        push_reads(&mut all, rest);
        all.cmd("GETEX").arg(first).arg("PX").arg(lifetime_millis());
        let mut found: Vec<redis::Value> = all.query_async(&mut self.connection).await.map_err(unavailable_error)?;
        let first = found.pop().as_ref().and_then(parse_token);
        Ok(std::iter::once(first).chain(parse_tokens(&found)).collect())
    }

    /// Sets a token under each key that has none, and returns the tokens then present: one round trip.
    pub async fn register_tokens(
        &mut self,
        keys: &[String],
        token: InvalidationToken,
    ) -> Result<Vec<Option<InvalidationToken>>> {
        let mut all = pipe();
        for key in keys {
            let set = all.cmd("SET").arg(key).arg(&token.to_be_bytes()[..]).arg("NX").arg("PX").arg(lifetime_millis());
            set.ignore();
        }
        push_reads(&mut all, keys);
        let found: Vec<redis::Value> = all.query_async(&mut self.connection).await.map_err(unavailable_error)?;
        Ok(parse_tokens(&found).collect())
    }

    /// Deletes the tokens under these keys: one round trip. Works even if Redis is out of memory.
    pub async fn delete_tokens(&mut self, keys: &[String]) -> Result<()> {
        let mut all = pipe();
        for keys in keys.chunks(KEYS) {
            all.cmd("UNLINK").arg(keys).ignore();
        }
        all.query_async(&mut self.connection).await.map_err(unavailable_error)
    }
}

fn push_reads(all: &mut Pipeline, keys: &[String]) {
    for keys in keys.chunks(KEYS) {
        all.cmd("MGET").arg(keys);
    }
}

fn parse_tokens(found: &[redis::Value]) -> impl Iterator<Item = Option<InvalidationToken>> {
    found.iter().filter_map(redis::Value::as_sequence).flatten().map(parse_token)
}

/// `None` if there is no value, or it is not a token.
fn parse_token(value: &redis::Value) -> Option<InvalidationToken> {
    let redis::Value::BulkString(bytes) = value else { return None };
    Some(InvalidationToken::from_be_bytes(bytes.as_slice().try_into().ok()?))
}

fn lifetime_millis() -> u64 {
    u64::try_from(LASTS.as_millis()).unwrap_or(u64::MAX)
}

/// Describes the Redis at a URL. `Config` if it cannot hold invalidation tokens.
pub async fn describe_redis(url: &str) -> Result<String> {
    let wrong = |error: RedisError| Error::Config(format!("REDIS_URL cannot be used: {error}"));
    let mut connection = Client::open(url).map_err(wrong)?.get_multiplexed_async_connection().await.map_err(wrong)?;
    let about: String = cmd("INFO").query_async(&mut connection).await.map_err(wrong)?;
    describe_info(&about)
}

fn describe_info(about: &str) -> Result<String> {
    let of = |field: &str| about.lines().find_map(|line| line.strip_prefix(field)).map_or("unknown", str::trim);
    let version = of("redis_version:");
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    if (numbers.next(), numbers.next()) < (Some(6), Some(2)) {
        return Err(Error::Config(format!("TIDINGS_BOARD needs Redis 6.2 or newer, but this is {version}")));
    }
    if of("role:") != "master" {
        return Err(Error::Config("TIDINGS_BOARD needs a Redis primary, but this is a replica".into()));
    }
    let advice = match (of("maxmemory:"), of("maxmemory_policy:")) {
        ("0", _) => ", and has no memory limit",
        (_, "noeviction") => ", but refuses writes once it is full: set maxmemory-policy to allkeys-lru",
        _ => ", and evicts keys once it is full, as it should",
    };
    Ok(format!("Redis {version} is suitable{advice}"))
}

/// Identifies a run of Redis. It changes with a restart, and when a replica is promoted.
async fn read_run_id(connection: &mut MultiplexedConnection) -> Result<Arc<str>> {
    let about: String = cmd("INFO").query_async(connection).await.map_err(unavailable_error)?;
    let of = |field: &str| about.lines().find_map(|line| line.strip_prefix(field)).map(str::trim);
    match (of("run_id:"), of("master_replid:"), of("role:")) {
        (Some(run), Some(history), Some("master")) => Ok(format!("{run}.{history}").into()),
        (.., Some("slave")) => Err(Error::Unavailable("it is a replica of another Redis".into())),
        _ => Err(Error::Unavailable("it does not report its run id".into())),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it by value")]
fn unavailable_error(cause: RedisError) -> Error {
    Error::Unavailable(cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redis_is_judged_by_what_it_says() {
        let said = |version: &str, role: &str, policy: &str| {
            let most = i32::from(!policy.is_empty());
            let about =
                format!("redis_version:{version}\r\nrole:{role}\r\nmaxmemory:{most}\r\nmaxmemory_policy:{policy}\r\n");
            describe_info(&about).map_err(|error| error.to_string())
        };
        assert_eq!(said("7.2.4", "master", "").unwrap(), "Redis 7.2.4 is suitable, and has no memory limit");
        assert!(said("6.2.0", "master", "noeviction").unwrap().ends_with("set maxmemory-policy to allkeys-lru"));
        assert!(said("10.0.1", "master", "allkeys-lru").unwrap().ends_with("as it should"));
        assert!(said("6.0.16", "master", "").unwrap_err().contains("6.2 or newer"));
        assert!(said("7.0.0", "slave", "").unwrap_err().contains("this is a replica"));
        assert!(describe_info("").is_err());
    }
}
