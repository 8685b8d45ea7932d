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
use base::error::Result;
use cluster::hub::NodeBus;
use delivery::destination;
use delivery::workers::DeliveryWorkers;
use domain::{counters, notification};
use live::LiveRooms;
use maintenance::privacy;
use maintenance::scheduled::{ScheduledTask, drift, fence, pending_jobs, sweep};
use rules::RuleScanner;
use store::urls_by_host;

/// How often the end of each log is polled, for notices that the hub has missed and for expired items.
const LOOK: Duration = Duration::from_secs(1);

/// How often the schedule is polled. Due notifications are published within a second.
const PUBLISH: Duration = Duration::from_millis(500);

/// How often due rules are looked for.
const SCAN: Duration = Duration::from_millis(500);

/// How often pending deliveries are looked for, in addition to notices.
const DELIVERIES: Duration = Duration::from_millis(500);

/// How long notices of grown logs are gathered before deliveries are looked for.
const GROWTH: Duration = Duration::from_millis(20);

/// How long notifications of a source are gathered, so that frequent ones start one scan.
const GATHER: Duration = Duration::from_millis(100);

/// How often a node looks for due maintenance tasks, its own tasks and waiting jobs.
const TASKS: Duration = Duration::from_secs(5);

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
pub struct BackgroundLoops {
    _loops: JoinSet<()>,
    workers: Arc<DeliveryWorkers>,
}

impl BackgroundLoops {
    /// Ends all loops. Deliveries in flight have three seconds.
    pub async fn stop(self) {
        self.workers.stop().await;
    }
}

/// Starts all loops.
pub fn start<'a>(app: &'a Arc<App>, live: &'a Arc<LiveRooms>) -> BoxFuture<'a, Result<BackgroundLoops>> {
    Box::pin(start_loops(app, live))
}

async fn start_loops(app: &Arc<App>, live: &Arc<LiveRooms>) -> Result<BackgroundLoops> {
    let mut loops = JoinSet::new();
    if let Some(bus) = configured_bus(app).await? {
        let app = app.clone();
        loops.spawn(async move {
            if let Err(error) = bus.run(&app.hub, &app.activity, &app.metrics).await {
                tracing::error!(cause = error.log_message(), "the bus between nodes cannot be used");
            }
        });
    }
    app.db.fence.arm();
    if let Err(error) = fence::reconcile_lineage(app, live).await {
        // The loop below tries again. `/readyz` reports the failure.
        tracing::error!(cause = error.log_message(), "the database cannot be used yet");
    }
    let (fenced, told) = (app.clone(), live.clone());
    loops.spawn(async move { fence::keep_open(&fenced, &told).await });
    let live = live.clone();
    spawn_periodic(&mut loops, app, LOOK, "could not read the end of the log", move |app| {
        let live = live.clone();
        async move { live::poll_changes(&app, &live).await }
    });
    spawn_periodic(&mut loops, app, FORGET, "could not evict old cache entries", |app| async move {
        app.caches.remove_expired();
        Ok(())
    });
    spawn_periodic(
        &mut loops,
        app,
        CLOCKS,
        "could not compare the clocks",
        |app| async move { app.compare_clocks().await },
    );
    spawn_periodic(&mut loops, app, PUBLISH, "could not publish scheduled notifications", |app| async move {
        notification::publish_due(&app).await.map(drop)
    });
    let scanner = Arc::new(RuleScanner::default());
    for source in app.rules.sources.all() {
        let Some(news) = source.subscribe_notifications() else { continue };
        loops.spawn(watch_source(app.clone(), scanner.clone(), source.name().to_owned(), news));
    }
    spawn_periodic(&mut loops, app, SCAN, "could not look for due rules", move |app| {
        let scanner = scanner.clone();
        async move { scanner.start_due_scans(&app.rules).await }
    });
    spawn_periodic(&mut loops, app, TASKS, "could not look for rules without a source", |app| async move {
        if app.shared_clock.is_in_doubt() { Ok(()) } else { rules::fail_without_source(&app.rules).await }
    });
    let workers = Arc::new(DeliveryWorkers::default());
    loops.spawn(deliver_on_growth(app.clone(), workers.clone()));
    let looking = workers.clone();
    spawn_periodic(&mut loops, app, DELIVERIES, "could not look for due deliveries", move |app| {
        let workers = looking.clone();
        async move { workers.start_due(&app.delivery).await }
    });
    spawn_periodic(&mut loops, app, TASKS, "could not count the destinations", |app| async move {
        destination::update_metrics(&app).await
    });
    spawn_periodic(&mut loops, app, TASKS, "could not count deliveries and reads of notifications", |app| async move {
        if ScheduledTask::Count.try_claim(&app).await? {
            let span = tracing::debug_span!(target: "tidings::trace", "count");
            counters::update_counters(&app).instrument(span).await?;
        }
        Ok(())
    });
    spawn_periodic(&mut loops, app, TASKS, "could not delete old data", |app| async move {
        if !app.shared_clock.is_in_doubt() && ScheduledTask::Sweep.try_claim(&app).await? {
            let span = tracing::debug_span!(target: "tidings::trace", "sweep");
            let swept = sweep::sweep_all(&app.delivery).instrument(span).await?;
            tracing::info!(?swept, "swept");
        }
        Ok(())
    });
    spawn_periodic(&mut loops, app, TASKS, "could not delete the data of erased users", |app| async move {
        if ScheduledTask::Orphans.try_claim(&app).await? {
            let span = tracing::debug_span!(target: "tidings::trace", "orphans");
            let found = privacy::sweep_orphans(&app).instrument(span).await?;
            tracing::info!(found, "looked for data of erased users");
        }
        Ok(())
    });
    if app.invalidation.is_some() {
        spawn_periodic(&mut loops, app, DRIFT, "could not check the cached overviews", |app| async move {
            drift::measure_drift(&app).await
        });
    }
    spawn_periodic(&mut loops, app, TASKS, "could not look for pending jobs", |app| async move {
        pending_jobs::run_due_jobs(&app).instrument(tracing::debug_span!(target: "tidings::trace", "jobs")).await
    });
    Ok(BackgroundLoops { _loops: loops, workers })
}

/// Repeats a task, and logs its failures.
fn spawn_periodic<Work, Done>(
    loops: &mut JoinSet<()>,
    app: &Arc<App>,
    period: Duration,
    failure: &'static str,
    work: Work,
) where
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
                tracing::warn!(cause = error.log_message(), "{failure}");
            }
        }
    });
}

/// Runs the rules of a source as soon as it sends a notification.
async fn watch_source(
    app: Arc<App>,
    scanner: Arc<RuleScanner>,
    source: String,
    mut news: broadcast::Receiver<Arc<str>>,
) {
    while !matches!(news.recv().await, Err(RecvError::Closed)) {
        let (mut heard_at, until) = (app.now(), Instant::now() + GATHER);
        while let Ok(Ok(_) | Err(RecvError::Lagged(_))) = timeout_at(until, news.recv()).await {
            heard_at = app.now();
        }
        let heeded = async {
            rules::mark_source_due(&app, &source, heard_at).await?;
            scanner.start_due_scans(&app.rules).await
        };
        if let Err(error) = heeded.await {
            tracing::warn!(
                source,
                cause = error.log_message(),
                "could not run the rules after a notification of a source"
            );
        }
    }
}

/// Starts deliveries as soon as a log has grown.
async fn deliver_on_growth(app: Arc<App>, workers: Arc<DeliveryWorkers>) {
    loop {
        app.hub.log_advanced().await;
        tokio::time::sleep(GROWTH).await;
        if let Err(error) = workers.start_due_for(&app.delivery, app.hub.take_advanced()).await {
            tracing::warn!(cause = error.log_message(), "could not look for due deliveries");
        }
    }
}

/// Redis if configured, else PostgreSQL's LISTEN and NOTIFY. SQLite has one process, and MySQL no such feature.
async fn configured_bus(app: &App) -> Result<Option<NodeBus>> {
    if let Some(url) = &app.config.redis_url {
        let channel = format!("tidings:{}", app.db.name().await?);
        return Ok(Some(NodeBus::Redis { url: url.clone(), channel }));
    }
    let database = &app.config.database;
    if app.db.backend() != DbBackend::Postgres {
        return Ok(None);
    }
    let url = database.direct_url.as_deref().unwrap_or(database.url());
    Ok(Some(NodeBus::Postgres(urls_by_host(database.setting_name(), url)?)))
}
