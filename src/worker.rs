//! What goes on in the background, from start-up to shutdown.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::DbBackend;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tracing::Instrument;

use crate::app::App;
use crate::domain::chore::{Chore, pending, sweep};
use crate::domain::live::{self, Live};
use crate::domain::{notification, privacy, tally};
use crate::error::Result;
use crate::hub::Bus;

/// How often the end of each log is looked at, for what the hub was not told, and what has expired.
const LOOK: Duration = Duration::from_secs(1);

/// How often the schedule is looked at: what is due goes out within a second.
const PUBLISH: Duration = Duration::from_millis(500);

/// How often a node asks whether a chore is due, and its own, and whether a job is waiting.
const CHORES: Duration = Duration::from_secs(5);

/// How often this node's clock is compared with the database's.
const CLOCKS: Duration = Duration::from_secs(5);

/// The loops of a server; they end when this is dropped.
#[derive(Debug)]
pub struct Worker {
    _loops: JoinSet<()>,
}

/// Starts all loops.
pub async fn start(app: &Arc<App>, live: &Arc<Live>) -> Result<Worker> {
    let mut loops = JoinSet::new();
    if let Some(bus) = bus(app).await? {
        let app = app.clone();
        loops.spawn(async move {
            if let Err(error) = bus.run(&app.hub, &app.metrics).await {
                tracing::error!(cause = error.told(), "the bus between nodes cannot be used");
            }
        });
    }
    let live = live.clone();
    every(&mut loops, app, LOOK, "the end of the log cannot be looked at", move |app| {
        let live = live.clone();
        async move { live::poll(&app, &live).await }
    });
    every(&mut loops, app, CLOCKS, "the clocks cannot be compared", |app| async move { app.compare_clocks().await });
    every(&mut loops, app, PUBLISH, "what is due cannot be published", |app| async move {
        notification::publish_due(&app).await.map(drop)
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
    every(&mut loops, app, CHORES, "jobs cannot be looked for", |app| async move {
        pending::work(&app).instrument(tracing::debug_span!(target: "tidings::trace", "jobs")).await
    });
    Ok(Worker { _loops: loops })
}

/// Does something again and again, and says so when it cannot be done.
fn every<Work, Done>(loops: &mut JoinSet<()>, app: &Arc<App>, period: Duration, failure: &'static str, work: Work)
where
    Work: Fn(Arc<App>) -> Done + Send + 'static,
    Done: Future<Output = Result<()>> + Send + 'static,
{
    let app = app.clone();
    loops.spawn(async move {
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = work(app.clone()).await {
                tracing::warn!(cause = error.told(), "{failure}");
            }
        }
    });
}

/// Redis where it is configured, else PostgreSQL's own; SQLite has one process, and MySQL nothing of the kind.
async fn bus(app: &App) -> Result<Option<Bus>> {
    if let Some(url) = &app.config.redis_url {
        let channel = format!("tidings:{}", app.db.name().await?);
        return Ok(Some(Bus::Redis { url: url.clone(), channel }));
    }
    let url = app.config.database.url().to_owned();
    Ok((app.db.backend() == DbBackend::Postgres).then_some(Bus::Postgres(url)))
}
