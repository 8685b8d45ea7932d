//! What goes on in the background, from start-up to shutdown.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sea_orm::DbBackend;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};
use tracing::Instrument;

use crate::app::App;
use crate::database::each_host;
use crate::domain::chore::{Chore, drift, fence, pending, sweep};
use crate::domain::lane;
use crate::domain::live::{self, Live};
use crate::domain::outbound::Lanes;
use crate::domain::rule::{self, Scanner};
use crate::domain::{notification, privacy, tally};
use crate::error::Result;
use crate::hub::Bus;

/// How often the end of each log is looked at, for what the hub was not told, and what has expired.
const LOOK: Duration = Duration::from_secs(1);

/// How often the schedule is looked at: what is due goes out within a second.
const PUBLISH: Duration = Duration::from_millis(500);

/// How often rules are looked for that are due.
const SCAN: Duration = Duration::from_millis(500);

/// How often it is looked what is to be sent to the outside, whatever was told.
const LANES: Duration = Duration::from_millis(500);

/// How long it is gathered whose log has grown.
const GROWTH: Duration = Duration::from_millis(20);

/// How long what a source says is gathered, so that it does not say it too often.
const GATHER: Duration = Duration::from_millis(100);

/// How often a node asks whether a chore is due, and its own, and whether a job is waiting.
const CHORES: Duration = Duration::from_secs(5);

/// How often this node's clock is compared with the database's.
const CLOCKS: Duration = Duration::from_secs(5);

/// How long after one loop the next begins, so that a start does not open a connection for each of them.
const APART: Duration = Duration::from_millis(10);

/// How often it is measured whether the board is right: each node looks at what it remembers itself.
const DRIFT: Duration = Duration::from_mins(1);

/// How often room is made of what is remembered for a while and counts no more.
const FORGET: Duration = Duration::from_mins(1);

/// The loops of a server; they end when this is dropped.
#[derive(Debug)]
pub struct Worker {
    _loops: JoinSet<()>,
    lanes: Arc<Lanes>,
}

impl Worker {
    /// Ends all loops. What is on its way to the outside has three seconds.
    pub async fn stop(self) {
        self.lanes.stop().await;
    }
}

/// Starts all loops.
pub fn start<'a>(app: &'a Arc<App>, live: &'a Arc<Live>) -> BoxFuture<'a, Result<Worker>> {
    Box::pin(started(app, live))
}

async fn started(app: &Arc<App>, live: &Arc<Live>) -> Result<Worker> {
    let mut loops = JoinSet::new();
    if let Some(bus) = bus(app).await? {
        let app = app.clone();
        loops.spawn(async move {
            if let Err(error) = bus.run(&app.hub, &app.pulse, &app.metrics).await {
                tracing::error!(cause = error.told(), "the bus between nodes cannot be used");
            }
        });
    }
    app.db.fence.arm();
    if let Err(error) = fence::settle(app, live).await {
        // It is tried again below. `/readyz` reports it.
        tracing::error!(cause = error.told(), "the database cannot be used yet");
    }
    let (fenced, told) = (app.clone(), live.clone());
    loops.spawn(async move { fence::keep(&fenced, &told).await });
    let live = live.clone();
    every(&mut loops, app, LOOK, "the end of the log cannot be looked at", move |app| {
        let live = live.clone();
        async move { live::poll(&app, &live).await }
    });
    every(&mut loops, app, FORGET, "nothing can be forgotten", |app| async move {
        app.caches.forget_old();
        Ok(())
    });
    every(&mut loops, app, CLOCKS, "the clocks cannot be compared", |app| async move { app.compare_clocks().await });
    every(&mut loops, app, PUBLISH, "what is due cannot be published", |app| async move {
        notification::publish_due(&app).await.map(drop)
    });
    let scanner = Arc::new(Scanner::default());
    for source in app.sources.all() {
        let Some(news) = source.notifications() else { continue };
        loops.spawn(heed(app.clone(), scanner.clone(), source.name().to_owned(), news));
    }
    every(&mut loops, app, SCAN, "rules cannot be looked for", move |app| {
        let scanner = scanner.clone();
        async move { scanner.look(&app).await }
    });
    every(&mut loops, app, CHORES, "rules without a source cannot be looked for", |app| async move {
        if app.agreed.is_in_doubt() { Ok(()) } else { rule::fail_the_sourceless(&app).await }
    });
    let lanes = Arc::new(Lanes::default());
    loops.spawn(send_what_is_new(app.clone(), lanes.clone()));
    let looking = lanes.clone();
    every(&mut loops, app, LANES, "what is to be sent cannot be looked for", move |app| {
        let lanes = looking.clone();
        async move { lanes.look(&app).await }
    });
    every(&mut loops, app, CHORES, "what sends to the outside cannot be counted", |app| async move {
        lane::count(&app).await
    });
    every(&mut loops, app, CHORES, "what was sent cannot be counted", |app| async move {
        if Chore::Count.is_ours(&app).await? {
            let span = tracing::debug_span!(target: "tidings::trace", "count");
            tally::count(&app).instrument(span).await?;
        }
        Ok(())
    });
    every(&mut loops, app, CHORES, "what is old cannot be deleted", |app| async move {
        if !app.agreed.is_in_doubt() && Chore::Sweep.is_ours(&app).await? {
            let span = tracing::debug_span!(target: "tidings::trace", "sweep");
            let swept = sweep::sweep(&app).instrument(span).await?;
            tracing::info!(?swept, "swept");
        }
        Ok(())
    });
    every(&mut loops, app, CHORES, "what is left of users who are gone cannot be deleted", |app| async move {
        if Chore::Orphans.is_ours(&app).await? {
            let span = tracing::debug_span!(target: "tidings::trace", "orphans");
            let found = privacy::sweep_orphans(&app).instrument(span).await?;
            tracing::info!(found, "looked for what is left of users who are gone");
        }
        Ok(())
    });
    if app.board.is_some() {
        every(&mut loops, app, DRIFT, "drift cannot be measured", |app| async move { drift::measure(&app).await });
    }
    every(&mut loops, app, CHORES, "jobs cannot be looked for", |app| async move {
        pending::work(&app).instrument(tracing::debug_span!(target: "tidings::trace", "jobs")).await
    });
    Ok(Worker { _loops: loops, lanes })
}

/// Does something again and again, and says so when it cannot be done.
fn every<Work, Done>(loops: &mut JoinSet<()>, app: &Arc<App>, period: Duration, failure: &'static str, work: Work)
where
    Work: Fn(Arc<App>) -> Done + Send + 'static,
    Done: Future<Output = Result<()>> + Send + 'static,
{
    let app = app.clone();
    let first = Instant::now() + APART * u32::try_from(loops.len()).unwrap_or_default();
    loops.spawn(async move {
        let mut ticks = interval_at(first, period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = work(app.clone()).await {
                tracing::warn!(cause = error.told(), "{failure}");
            }
        }
    });
}

/// Runs the rules of a source as soon as it says that it has news.
async fn heed(app: Arc<App>, scanner: Arc<Scanner>, source: String, mut news: broadcast::Receiver<Arc<str>>) {
    while !matches!(news.recv().await, Err(RecvError::Closed)) {
        let (mut heard_at, until) = (app.now(), Instant::now() + GATHER);
        while let Ok(Ok(_) | Err(RecvError::Lagged(_))) = timeout_at(until, news.recv()).await {
            heard_at = app.now();
        }
        let heeded = async {
            rule::has_news(&app, &source, heard_at).await?;
            scanner.look(&app).await
        };
        if let Err(error) = heeded.await {
            tracing::warn!(source, cause = error.told(), "what a source says cannot be heeded");
        }
    }
}

/// Sends to the outside what a log has grown by, as soon as that is told.
async fn send_what_is_new(app: Arc<App>, lanes: Arc<Lanes>) {
    loop {
        app.hub.growth().await;
        tokio::time::sleep(GROWTH).await;
        if let Err(error) = lanes.look_for(&app, app.hub.grown()).await {
            tracing::warn!(cause = error.told(), "what is to be sent cannot be looked for");
        }
    }
}

/// Redis where it is configured, else PostgreSQL's own; SQLite has one process, and MySQL nothing of the kind.
async fn bus(app: &App) -> Result<Option<Bus>> {
    if let Some(url) = &app.config.redis_url {
        let channel = format!("tidings:{}", app.db.name().await?);
        return Ok(Some(Bus::Redis { url: url.clone(), channel }));
    }
    let database = &app.config.database;
    if app.db.backend() != DbBackend::Postgres {
        return Ok(None);
    }
    let url = database.direct_url.as_deref().unwrap_or(database.url());
    Ok(Some(Bus::Postgres(each_host(database.setting(), url)?)))
}
