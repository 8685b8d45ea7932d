//! Publish and subscribe of Redis, on two connections.

use futures_util::StreamExt;
use redis::aio::{MultiplexedConnection, PubSubStream};
use redis::{AsyncCommands, Client, RedisError};

use crate::error::{Error, Result};

pub struct Reader(PubSubStream);

pub struct Writer {
    connection: MultiplexedConnection,
    channel: String,
}

pub async fn connect(url: &str, channel: &str) -> Result<(Reader, Writer)> {
    let client = Client::open(url).map_err(away)?;
    let mut subscriber = client.get_async_pubsub().await.map_err(away)?;
    subscriber.subscribe(channel).await.map_err(away)?;
    let connection = client.get_multiplexed_async_connection().await.map_err(away)?;
    Ok((Reader(subscriber.into_on_message()), Writer { connection, channel: channel.to_owned() }))
}

impl Reader {
    pub async fn next(&mut self) -> Result<String> {
        let message = self.0.next().await.ok_or_else(|| Error::Unavailable("the connection was lost".into()))?;
        message.get_payload().map_err(away)
    }
}

impl Writer {
    pub async fn publish(&mut self, text: String) -> Result<()> {
        self.connection.publish::<_, _, ()>(&self.channel, text).await.map_err(away)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err gives it away")]
fn away(cause: RedisError) -> Error {
    Error::Unavailable(cause.to_string())
}
