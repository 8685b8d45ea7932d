//! Listens to a PostgreSQL notification channel.

use std::convert::Infallible;
use std::fmt::{self, Debug, Formatter};
use std::io::ErrorKind;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::Executor;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::broadcast;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::failure::QueryFailure;

/// Notifications kept for a slow receiver. When it overflows, the receiver gets an error.
const BACKLOG: usize = 64;

/// The pause before reconnecting: the first and the maximum.
const AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(10)];

/// After this time without a notification, the connection is checked.
const QUIET: Duration = Duration::from_secs(30);

/// How long the check may take.
const ANSWER: Duration = Duration::from_secs(5);

/// A connection that listens, from the first subscription until it is closed or dropped.
pub struct SourceListener {
    options: PgConnectOptions,
    channel: String,
    news: broadcast::Sender<Arc<str>>,
    task: OnceLock<AbortHandle>,
}

impl Debug for SourceListener {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceListener").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl SourceListener {
    pub fn new(options: PgConnectOptions, channel: &str) -> Self {
        let news = broadcast::Sender::new(BACKLOG);
        Self { options, channel: channel.to_owned(), news, task: OnceLock::new() }
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        let receiver = self.news.subscribe();
        self.task.get_or_init(|| {
            tokio::spawn(run_listener(self.options.clone(), self.channel.clone(), self.news.clone())).abort_handle()
        });
        receiver
    }

    pub fn close(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

impl Drop for SourceListener {
    fn drop(&mut self) {
        self.close();
    }
}

async fn run_listener(options: PgConnectOptions, channel: String, news: broadcast::Sender<Arc<str>>) {
    let mut pause = AGAIN[0];
    loop {
        let Err(cause) = receive_notifications(&options, &channel, &news, &mut pause).await;
        tracing::warn!("cannot listen to the channel {channel:?} of a source: {}", QueryFailure::from(&cause));
        sleep(pause).await;
        pause = (pause * 2).min(AGAIN[1]);
    }
}

/// Receives notifications until the connection is lost.
async fn receive_notifications(
    options: &PgConnectOptions,
    channel: &str,
    news: &broadcast::Sender<Arc<str>>,
    pause: &mut Duration,
) -> sqlx::Result<Infallible> {
    let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
    let mut listener = PgListener::connect_with(&pool.connect_lazy_with(options.clone())).await?;
    listener.eager_reconnect(false);
    listener.listen(channel).await?;
    *pause = AGAIN[0];
    // Tells receivers that notifications before this point may be missing. Sending fails without receivers.
    let _ = news.send("".into());
    loop {
        let Ok(heard) = timeout(QUIET, listener.try_recv()).await else {
            // Detects connections that broke silently.
            let answer = timeout(ANSWER, listener.execute("SELECT 1")).await;
            answer.map_err(|_| sqlx::Error::Io(ErrorKind::TimedOut.into()))??;
            continue;
        };
        let Some(notification) = heard? else { return Err(sqlx::Error::Io(ErrorKind::ConnectionReset.into())) };
        let _ = news.send(notification.payload().into());
    }
}
