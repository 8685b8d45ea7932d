//! The bus between nodes: PostgreSQL's LISTEN and NOTIFY, or Redis pub/sub.
//!
//! The bus may lose, repeat or delay messages, and may disconnect. Each node counts its messages with notices and
//! publishes the count with its heartbeat once a second, so that the others detect lost ones. It also receives its own
//! messages, and so notices a silent bus. While the bus is down, all sessions read the database once a second.

mod postgres;
mod redis;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

pub use self::redis::describe_redis;
use super::peers::{FORGET, NodeHeartbeat};
use super::{Hub, Notice};
use base::error::{Error, Result};
use base::telemetry::activity::ActivityTracker;
use base::telemetry::metrics::Metrics;

/// Interval of the heartbeat, and of reading the database while the bus is down.
const BEAT: Duration = Duration::from_secs(1);

/// The bus counts as down if not even our own heartbeat arrives for this long.
const SILENCE: Duration = Duration::from_secs(5);

/// The most bytes of a message. PostgreSQL's limit is 8,000.
const BYTES: usize = 7900;

/// How notices reach other nodes.
#[derive(Clone, Debug)]
pub enum NodeBus {
    /// `LISTEN` and `NOTIFY` in the database at the first URL that accepts them. The connection bypasses any pooler.
    Postgres(Vec<String>),
    /// `SUBSCRIBE` and `PUBLISH` on the Redis server at this URL, in a channel of this name.
    Redis { url: String, channel: String },
}

/// A message on the bus.
#[derive(Debug, Serialize, Deserialize)]
struct BusMessage {
    node: u64,
    /// How many messages with notices the node has sent, including this one.
    count: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notices: Vec<Notice>,
    /// The heartbeat, once a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beat: Option<NodeHeartbeat>,
}

enum BusReader {
    Postgres(postgres::PostgresReader),
    Redis(redis::RedisReader),
}

enum BusWriter {
    Postgres(postgres::PostgresWriter),
    Redis(redis::RedisWriter),
}

impl NodeBus {
    async fn connect(&self) -> Result<(BusReader, BusWriter)> {
        match self {
            Self::Postgres(urls) => {
                let mut last = Error::Unavailable("there is no host".into());
                for url in urls {
                    // A standby refuses LISTEN.
                    match postgres::connect(url).await {
                        Ok((reader, writer)) => return Ok((BusReader::Postgres(reader), BusWriter::Postgres(writer))),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
            Self::Redis { url, channel } => {
                let (reader, writer) = redis::connect(url, channel).await?;
                Ok((BusReader::Redis(reader), BusWriter::Redis(writer)))
            }
        }
    }

    /// Carries notices between this node's hub and the others for as long as it is polled.
    pub async fn run(&self, hub: &Hub, activity: &ActivityTracker, metrics: &Metrics) -> Result<()> {
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(Error::internal)?;
        let link = BusLink {
            hub,
            activity,
            metrics,
            node: u64::from_le_bytes(number) >> 11,
            sent: Mutex::new(SentCount { count: 0, last: Instant::now() }),
        };
        let mut was_away = false;
        metrics.bus_connected.set(0);
        loop {
            let failure = match timeout(SILENCE, self.connect()).await {
                Ok(Ok((reader, writer))) => {
                    metrics.bus_connected.set(1);
                    if std::mem::take(&mut was_away) {
                        tracing::info!("the bus between nodes is back");
                    }
                    // Catches up on notices from before the subscription.
                    hub.request_full_reads();
                    let ended = tokio::try_join!(link.receive_messages(reader), link.send_messages(writer));
                    metrics.bus_connected.set(0);
                    ended.err().unwrap_or_else(|| Error::Unavailable("it ended".into()))
                }
                Ok(Err(error)) => error,
                Err(_) => Error::Unavailable("it does not answer".into()),
            };
            if !std::mem::replace(&mut was_away, true) {
                tracing::warn!(%failure, "the bus between nodes is down: sessions are late by up to a second");
            }
            hub.request_full_reads();
            sleep(BEAT).await;
        }
    }
}

/// This node's end of the bus.
struct BusLink<'a> {
    hub: &'a Hub,
    activity: &'a ActivityTracker,
    metrics: &'a Metrics,
    node: u64,
    sent: Mutex<SentCount>,
}

struct SentCount {
    count: u64,
    last: Instant,
}

impl BusLink<'_> {
    async fn receive_messages(&self, mut reader: BusReader) -> Result<()> {
        let mut peers: HashMap<u64, (u64, Instant)> = HashMap::new();
        loop {
            let text = timeout(SILENCE, reader.next_message()).await;
            let text = text.map_err(|_| Error::Unavailable("it has stopped sending".into()))??;
            let Ok(message) = serde_json::from_str::<BusMessage>(&text) else {
                tracing::warn!("ignored a message on the bus between nodes that is not a notice of this version");
                continue;
            };
            if message.node == self.node {
                let sent = self.sent.lock().await;
                if sent.count == message.count {
                    self.metrics.bus_lag.set(sent.last.elapsed().as_secs_f64());
                }
                continue;
            }
            let fresh = u64::from(!message.notices.is_empty());
            let known = peers.insert(message.node, (message.count, Instant::now()));
            if let Some(beat) = message.beat {
                self.hub.peers.receive_heartbeat(message.node, beat, Instant::now());
            }
            for notice in message.notices {
                self.hub.publish_local(notice);
            }
            if let Some((before, _)) = known
                && message.count != before + fresh
            {
                self.metrics.bus_lost.inc_by(message.count.saturating_sub(before + fresh).max(1));
                self.hub.request_full_reads();
            }
            peers.retain(|_, (_, heard_at)| heard_at.elapsed() < FORGET);
        }
    }

    async fn send_messages(&self, mut writer: BusWriter) -> Result<()> {
        let mut told_at = Instant::now();
        loop {
            self.hub.outgoing.wait_ready(BEAT.saturating_sub(told_at.elapsed())).await;
            let mut notices = self.hub.outgoing.take_ready(Instant::now());
            let mut beat = None;
            if told_at.elapsed() >= BEAT {
                told_at = Instant::now();
                beat = Some(self.hub.peers.make_heartbeat(self.hub.this_node(), self.activity, told_at));
            } else if notices.is_empty() {
                continue;
            }
            loop {
                if beat.is_none() {
                    self.metrics.bus_sent.inc();
                }
                let part = self.next_message(&mut notices, beat.take()).await?;
                timeout(SILENCE, writer.publish(part))
                    .await
                    .map_err(|_| Error::Unavailable("it does not accept messages".into()))??;
                if notices.is_empty() {
                    break;
                }
            }
        }
    }

    /// A message with the heartbeat alone, or with as many notices as fit. Notices are counted before they are sent, so
    /// that the others detect a message that could not be sent.
    async fn next_message(&self, notices: &mut Vec<Notice>, beat: Option<NodeHeartbeat>) -> Result<String> {
        let mut sent = self.sent.lock().await;
        let mut message = BusMessage { node: self.node, count: sent.count, notices: Vec::new(), beat };
        let mut bytes = 64;
        while message.beat.is_none()
            && let Some(notice) = notices.pop()
        {
            let length = serde_json::to_string(&notice).map_err(Error::internal)?.len() + 1;
            if bytes + length > BYTES && message.notices.is_empty() {
                message.notices.push(Notice { everybody: true, ..Notice::for_tenant(notice.tenant) });
                break;
            }
            if bytes + length > BYTES {
                notices.push(notice);
                break;
            }
            bytes += length;
            message.notices.push(notice);
        }
        if !message.notices.is_empty() {
            message.count += 1;
        }
        *sent = SentCount { count: message.count, last: Instant::now() };
        serde_json::to_string(&message).map_err(Error::internal)
    }
}

impl BusReader {
    async fn next_message(&mut self) -> Result<String> {
        match self {
            Self::Postgres(reader) => reader.next_message().await,
            Self::Redis(reader) => reader.next_message().await,
        }
    }
}

impl BusWriter {
    async fn publish(&mut self, text: String) -> Result<()> {
        match self {
            Self::Postgres(writer) => writer.publish(text).await,
            Self::Redis(writer) => writer.publish(text).await,
        }
    }
}
