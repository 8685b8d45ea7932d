//! The way to Redis. A connection is to one run of it: after a restart or a failover it is lost, and the next one is to another run.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, Pipeline, RedisError, cmd, pipe};

use super::place::Token;
use crate::error::{Error, Result};

/// Keys of one command.
const KEYS: usize = 1000;

/// A token goes after this, and is hung up again by whoever misses it.
pub const LASTS: Duration = Duration::from_mins(10);

/// A connection.
#[derive(Clone)]
pub struct Link {
    connection: MultiplexedConnection,
    /// The run of Redis that it is to.
    pub run: Arc<str>,
}

impl Link {
    /// Fails where the Redis at the URL does not answer, or is a copy of another.
    pub async fn open(url: &str) -> Result<Self> {
        let client = Client::open(url).map_err(away)?;
        let mut connection = client.get_multiplexed_async_connection().await.map_err(away)?;
        let run = run_of(&mut connection).await?;
        Ok(Self { connection, run })
    }

    /// Whether it still leads to where it led to.
    pub async fn holds(&mut self) -> Result<()> {
        let run = run_of(&mut self.connection).await?;
        if run == self.run { Ok(()) } else { Err(Error::Unavailable("it was restarted".into())) }
    }

    /// What hangs at places: one round trip.
    ///
    /// The first is read by a command that a copy of another Redis refuses, so that none is read whose other half lags behind.
    pub async fn tokens(&mut self, keys: &[String]) -> Result<Vec<Option<Token>>> {
        let Some((first, rest)) = keys.split_first() else { return Ok(Vec::new()) };
        let mut all = pipe();
        read(&mut all, rest);
        all.cmd("GETEX").arg(first).arg("PX").arg(millis());
        let mut found: Vec<redis::Value> = all.query_async(&mut self.connection).await.map_err(away)?;
        let first = found.pop().as_ref().and_then(token);
        Ok(std::iter::once(first).chain(tokens(&found)).collect())
    }

    /// Hangs a token up at each place where there is none, and returns what hangs there then: one round trip.
    pub async fn hang(&mut self, keys: &[String], token: Token) -> Result<Vec<Option<Token>>> {
        let mut all = pipe();
        for key in keys {
            let set = all.cmd("SET").arg(key).arg(&token.to_be_bytes()[..]).arg("NX").arg("PX").arg(millis());
            set.ignore();
        }
        read(&mut all, keys);
        let found: Vec<redis::Value> = all.query_async(&mut self.connection).await.map_err(away)?;
        Ok(tokens(&found).collect())
    }

    /// Takes down whatever hangs at places: one round trip. A Redis that is full does it, too.
    pub async fn take_down(&mut self, keys: &[String]) -> Result<()> {
        let mut all = pipe();
        for keys in keys.chunks(KEYS) {
            all.cmd("UNLINK").arg(keys).ignore();
        }
        all.query_async(&mut self.connection).await.map_err(away)
    }
}

fn read(all: &mut Pipeline, keys: &[String]) {
    for keys in keys.chunks(KEYS) {
        all.cmd("MGET").arg(keys);
    }
}

fn tokens(found: &[redis::Value]) -> impl Iterator<Item = Option<Token>> {
    found.iter().filter_map(redis::Value::as_sequence).flatten().map(token)
}

/// Nothing where there is nothing, or what is no token.
fn token(value: &redis::Value) -> Option<Token> {
    let redis::Value::BulkString(bytes) = value else { return None };
    Some(Token::from_be_bytes(bytes.as_slice().try_into().ok()?))
}

fn millis() -> u64 {
    u64::try_from(LASTS.as_millis()).unwrap_or(u64::MAX)
}

/// What the Redis at a URL says of itself; `Config` where no board can hang there.
pub async fn examine(url: &str) -> Result<String> {
    let wrong = |error: RedisError| Error::Config(format!("REDIS_URL cannot be used: {error}"));
    let mut connection = Client::open(url).map_err(wrong)?.get_multiplexed_async_connection().await.map_err(wrong)?;
    let about: String = cmd("INFO").query_async(&mut connection).await.map_err(wrong)?;
    judged(&about)
}

fn judged(about: &str) -> Result<String> {
    let of = |field: &str| about.lines().find_map(|line| line.strip_prefix(field)).map_or("unknown", str::trim);
    let version = of("redis_version:");
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    if (numbers.next(), numbers.next()) < (Some(6), Some(2)) {
        return Err(Error::Config(format!("the board needs Redis 6.2 or newer, and this is {version}")));
    }
    if of("role:") != "master" {
        return Err(Error::Config("the board needs the Redis that others copy, and this is a copy".into()));
    }
    let advice = match (of("maxmemory:"), of("maxmemory_policy:")) {
        ("0", _) => ", and takes as much memory as there is",
        (_, "noeviction") => ", and hangs up nothing more once it is full: maxmemory-policy allkeys-lru is better",
        _ => ", and forgets when it is full, as it may",
    };
    Ok(format!("Redis {version} holds it{advice}"))
}

/// By what a Redis is told from others, from itself after a restart, and after it was a copy of another.
async fn run_of(connection: &mut MultiplexedConnection) -> Result<Arc<str>> {
    let about: String = cmd("INFO").query_async(connection).await.map_err(away)?;
    let of = |field: &str| about.lines().find_map(|line| line.strip_prefix(field)).map(str::trim);
    match (of("run_id:"), of("master_replid:"), of("role:")) {
        (Some(run), Some(history), Some("master")) => Ok(format!("{run}.{history}").into()),
        (.., Some("slave")) => Err(Error::Unavailable("it is a copy of another Redis".into())),
        _ => Err(Error::Unavailable("it does not say which it is".into())),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err gives it away")]
fn away(cause: RedisError) -> Error {
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
            judged(&about).map_err(|error| error.to_string())
        };
        assert_eq!(said("7.2.4", "master", "").unwrap(), "Redis 7.2.4 holds it, and takes as much memory as there is");
        assert!(said("6.2.0", "master", "noeviction").unwrap().ends_with("allkeys-lru is better"));
        assert!(said("10.0.1", "master", "allkeys-lru").unwrap().ends_with("as it may"));
        assert!(said("6.0.16", "master", "").unwrap_err().contains("6.2 or newer"));
        assert!(said("7.0.0", "slave", "").unwrap_err().contains("this is a copy"));
        assert!(judged("").is_err());
    }
}
