//! The server, from its start to its end.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tidings::app::App;
use tidings::config::Config;
use tidings::database::{self, Held, Use};
use tidings::error::{Error, Result};
use tidings::http::Server;
use tidings::worker;

/// Opens the database to serve it; it is made, and migrated, where it has to be.
pub async fn start(config: Config) -> Result<(Held, Arc<App>)> {
    config.check()?;
    let held = Held::of(config.database.url(), Use::Serving)?;
    let clock = config.clock();
    Ok((held, App::start(config, clock).await?))
}

/// The same for a command that works on what is there.
///
/// Fails with `Config` where there is nothing.
pub async fn start_over(config: Config, wanted: Use) -> Result<(Held, Arc<App>)> {
    config.check()?;
    let url = config.database.url();
    if let Some(file) = database::file_of(url).filter(|file| !file.exists()) {
        return Err(Error::Config(format!("there is no database {}: is DATABASE_URL right?", file.display())));
    }
    let held = Held::of(url, wanted)?;
    let there = database::open(&config.database).await?;
    let is_made = there.is_made().await;
    there.close().await;
    is_made?;
    let clock = config.clock();
    Ok((held, App::start(config, clock).await?))
}

/// Serves until it is told to stop; `greet` is told where, once somebody may come.
pub async fn serve(config: Config, greet: impl AsyncFnOnce(SocketAddr) -> Result<()>) -> Result<()> {
    let (_held, app) = start(config).await?;
    serve_over(app, Router::new(), greet).await
}

/// The same over what is open already, with further pages.
pub async fn serve_over(app: Arc<App>, pages: Router, greet: impl AsyncFnOnce(SocketAddr) -> Result<()>) -> Result<()> {
    let listener = tidings::http::listen(app.config.listen.address)?;
    let address = listener.local_addr().map_err(Error::internal)?;
    tracing::info!(%address, database = ?app.db.backend(), "serving");
    greet(address).await?;
    let live = Arc::default();
    let worker = worker::start(&app, &live).await?;
    Server::new(app.clone(), live).with(pages).serve(listener, told_to_stop()).await?;
    worker.stop().await;
    app.sources.close().await;
    tracing::info!("stopped");
    app.db.close().await;
    Ok(())
}

/// Ctrl-C, or SIGTERM from whatever supervises us.
async fn told_to_stop() {
    let interrupt = async {
        // Without the signal nobody can ask us to stop, which is no reason to.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
