//! Redis pub/sub, on two connections.

use futures_util::StreamExt;
use redis::aio::{MultiplexedConnection, PubSubStream};
use redis::{AsyncCommands, Client, RedisError};

use base::error::{Error, Result};

pub struct RedisReader(PubSubStream);

pub struct RedisWriter {
    connection: MultiplexedConnection,
    channel: String,
}

pub async fn connect(url: &str, channel: &str) -> Result<(RedisReader, RedisWriter)> {
    let client = Client::open(url).map_err(unavailable_error)?;
    let mut subscriber = client.get_async_pubsub().await.map_err(unavailable_error)?;
    subscriber.subscribe(channel).await.map_err(unavailable_error)?;
    let connection = client.get_multiplexed_async_connection().await.map_err(unavailable_error)?;
    Ok((RedisReader(subscriber.into_on_message()), RedisWriter { connection, channel: channel.to_owned() }))
}

/// Describes the Redis server at a URL. `Config` if it does not answer.
pub async fn describe_redis(url: &str) -> Result<String> {
    let wrong = |error: RedisError| Error::Config(format!("REDIS_URL cannot be used: {error}"));
    let mut connection = Client::open(url).map_err(wrong)?.get_multiplexed_async_connection().await.map_err(wrong)?;
    let about: String = redis::cmd("INFO").arg("server").query_async(&mut connection).await.map_err(wrong)?;
    let version = about.lines().find_map(|line| line.strip_prefix("redis_version:"));
    Ok(format!("Redis {} answers", version.unwrap_or("of an unknown version").trim()))
}

impl RedisReader {
    pub async fn next_message(&mut self) -> Result<String> {
        let message = self.0.next().await.ok_or_else(|| Error::Unavailable("the connection was lost".into()))?;
        message.get_payload().map_err(unavailable_error)
    }
}

impl RedisWriter {
    pub async fn publish(&mut self, text: String) -> Result<()> {
        self.connection.publish::<_, _, ()>(&self.channel, text).await.map_err(unavailable_error)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it by value")]
fn unavailable_error(cause: RedisError) -> Error {
    Error::Unavailable(cause.to_string())
}
