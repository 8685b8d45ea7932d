//! The background loops, from start-up to shutdown.

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

/// How often the end of each log is polled, for notices that the hub has missed and for expired items.
const LOOK: Duration = Duration::from_secs(1);

/// How often the schedule is polled. Due notifications are published within a second.
const PUBLISH: Duration = Duration::from_millis(500);

/// How often due rules are looked for.
const SCAN: Duration = Duration::from_millis(500);

/// How often pending deliveries are looked for, in addition to notices.
const LANES: Duration = Duration::from_millis(500);

/// How long notices of grown logs are gathered before deliveries are looked for.
const GROWTH: Duration = Duration::from_millis(20);

/// How long notifications of a source are gathered, so that frequent ones start one scan.
const GATHER: Duration = Duration::from_millis(100);

/// How often a node looks for due maintenance tasks, its own tasks and waiting jobs.
const CHORES: Duration = Duration::from_secs(5);

/// How often this node's clock is compared with the database's.
const CLOCKS: Duration = Duration::from_secs(5);

/// Delay between the starts of two loops, so that start-up does not open a database connection for each of them.
const APART: Duration = Duration::from_millis(10);

/// How often a node checks some of its cached overviews against Redis and the database.
const DRIFT: Duration = Duration::from_mins(1);

/// How often expired cache entries are removed.
const FORGET: Duration = Duration::from_mins(1);

/// The loops of a server. Dropping this ends them.
#[derive(Debug)]
pub struct Worker {
    _loops: JoinSet<()>,
    lanes: Arc<Lanes>,
}

impl Worker {
    /// Ends all loops. Deliveries in flight have three seconds.
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
        // The loop below tries again. `/readyz` reports the failure.
        tracing::error!(cause = error.told(), "the database cannot be used yet");
    }
    let (fenced, told) = (app.clone(), live.clone());
    loops.spawn(async move { fence::keep(&fenced, &told).await });
    let live = live.clone();
    every(&mut loops, app, LOOK, "could not read the end of the log", move |app| {
        let live = live.clone();
        async move { live::poll(&app, &live).await }
    });
    every(&mut loops, app, FORGET, "could not evict old cache entries", |app| async move {
        app.caches.forget_old();
        Ok(())
    });
    every(&mut loops, app, CLOCKS, "could not compare the clocks", |app| async move { app.compare_clocks().await });
    every(&mut loops, app, PUBLISH, "could not publish scheduled notifications", |app| async move {
        notification::publish_due(&app).await.map(drop)
    });
    let scanner = Arc::new(Scanner::default());
    for source in app.sources.all() {
        let Some(news) = source.notifications() else { continue };
        loops.spawn(heed(app.clone(), scanner.clone(), source.name().to_owned(), news));
    }
    every(&mut loops, app, SCAN, "could not look for due rules", move |app| {
        let scanner = scanner.clone();
        async move { scanner.look(&app).await }
    });
    every(&mut loops, app, CHORES, "could not look for rules without a source", |app| async move {
        if app.agreed.is_in_doubt() { Ok(()) } else { rule::fail_the_sourceless(&app).await }
    });
    let lanes = Arc::new(Lanes::default());
    loops.spawn(send_what_is_new(app.clone(), lanes.clone()));
    let looking = lanes.clone();
    every(&mut loops, app, LANES, "could not look for due deliveries", move |app| {
        let lanes = looking.clone();
        async move { lanes.look(&app).await }
    });
    every(&mut loops, app, CHORES, "could not count the destinations", |app| async move { lane::count(&app).await });
    every(&mut loops, app, CHORES, "could not count deliveries and reads of notifications", |app| async move {
        if Chore::Count.is_ours(&app).await? {
            let span = tracing::debug_span!(target: "tidings::trace", "count");
            tally::count(&app).instrument(span).await?;
        }
        Ok(())
    });
    every(&mut loops, app, CHORES, "could not delete old data", |app| async move {
        if !app.agreed.is_in_doubt() && Chore::Sweep.is_ours(&app).await? {
            let span = tracing::debug_span!(target: "tidings::trace", "sweep");
            let swept = sweep::sweep(&app).instrument(span).await?;
            tracing::info!(?swept, "swept");
        }
        Ok(())
    });
    every(&mut loops, app, CHORES, "could not delete the data of erased users", |app| async move {
        if Chore::Orphans.is_ours(&app).await? {
            let span = tracing::debug_span!(target: "tidings::trace", "orphans");
            let found = privacy::sweep_orphans(&app).instrument(span).await?;
            tracing::info!(found, "looked for data of erased users");
        }
        Ok(())
    });
    if app.board.is_some() {
        every(&mut loops, app, DRIFT, "could not check the cached overviews", |app| async move {
            drift::measure(&app).await
        });
    }
    every(&mut loops, app, CHORES, "could not look for pending jobs", |app| async move {
        pending::work(&app).instrument(tracing::debug_span!(target: "tidings::trace", "jobs")).await
    });
    Ok(Worker { _loops: loops, lanes })
}

/// Repeats a task, and logs its failures.
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

/// Runs the rules of a source as soon as it sends a notification.
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
            tracing::warn!(source, cause = error.told(), "could not run the rules after a notification of a source");
        }
    }
}

/// Starts deliveries as soon as a log has grown.
async fn send_what_is_new(app: Arc<App>, lanes: Arc<Lanes>) {
    loop {
        app.hub.growth().await;
        tokio::time::sleep(GROWTH).await;
        if let Err(error) = lanes.look_for(&app, app.hub.grown()).await {
            tracing::warn!(cause = error.told(), "could not look for due deliveries");
        }
    }
}

/// Redis if configured, else PostgreSQL's LISTEN and NOTIFY. SQLite has one process, and MySQL no such feature.
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
