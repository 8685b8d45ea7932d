//! What goes on in the background, from start-up to shutdown.

use std::sync::Arc;
use std::time::Duration;

use sea_orm::DbBackend;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;
use crate::domain::live;
use crate::error::Result;
use crate::hub::Bus;

/// How often the end of each log is looked at, for what the hub was not told.
const LOOK: Duration = Duration::from_secs(1);

/// The loops of a server; they end when this is dropped.
#[derive(Debug)]
pub struct Worker {
    _loops: JoinSet<()>,
}

/// Starts all loops.
pub async fn start(app: &Arc<App>) -> Result<Worker> {
    let mut loops = JoinSet::new();
    if let Some(bus) = bus(app).await? {
        let app = app.clone();
        loops.spawn(async move {
            if let Err(error) = bus.run(&app.hub, &app.metrics).await {
                tracing::error!(%error, "the bus between nodes cannot be used");
            }
        });
    }
    let looking = app.clone();
    loops.spawn(async move {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = live::look(&looking).await {
                tracing::warn!(%error, "the end of the log cannot be looked at");
            }
        }
    });
    Ok(Worker { _loops: loops })
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
