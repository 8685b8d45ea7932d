//! `tidings serve`: runs the server from start-up to shutdown.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;

use base::config::ServerConfig;
use base::error::{Error, Result};
use store::{self, FileAccess, FileLock};
use tidings::app::App;
use tidings::http::Server;
use tidings::worker;

/// Locks and opens the database for serving. Creates and migrates it if necessary.
pub async fn open_app(config: ServerConfig) -> Result<(FileLock, Arc<App>)> {
    config.check()?;
    let held = FileLock::acquire(config.database.url(), FileAccess::Serving)?;
    let clock = config.clock();
    Ok((held, App::start(config, clock).await?))
}

/// Opens an existing database for another command.
///
/// Fails with `Config` if the database does not exist.
pub async fn open_existing_app(config: ServerConfig, wanted: FileAccess) -> Result<(FileLock, Arc<App>)> {
    config.check()?;
    let url = config.database.url();
    if let Some(file) = store::sqlite_path(url).filter(|file| !file.exists()) {
        return Err(Error::Config(format!("there is no database {}: is DATABASE_URL right?", file.display())));
    }
    let held = FileLock::acquire(url, wanted)?;
    let there = store::open(&config.database).await?;
    let is_made = there.check_migrated().await;
    there.close().await;
    is_made?;
    let clock = config.clock();
    Ok((held, App::start(config, clock).await?))
}

/// Serves until a shutdown signal. Calls `greet` with the address once the server listens.
pub async fn serve(config: ServerConfig, greet: impl AsyncFnOnce(SocketAddr) -> Result<()>) -> Result<()> {
    let (_held, app) = open_app(config).await?;
    serve_app(app, Router::new(), greet).await
}

/// Serves an application that is already open, with additional pages.
pub async fn serve_app(app: Arc<App>, pages: Router, greet: impl AsyncFnOnce(SocketAddr) -> Result<()>) -> Result<()> {
    let listener = tidings::http::listen(app.config.listen.address)?;
    let address = listener.local_addr().map_err(Error::internal)?;
    tracing::info!(%address, database = ?app.db.backend(), "serving");
    greet(address).await?;
    let live = Arc::default();
    let worker = worker::start(&app, &live).await?;
    Server::new(app.clone(), live).with_pages(pages).serve(listener, shutdown_signal()).await?;
    worker.stop().await;
    app.rules.sources.close().await;
    tracing::info!("stopped");
    app.db.close().await;
    Ok(())
}

/// Resolves on Ctrl-C, or on SIGTERM from a process supervisor.
async fn shutdown_signal() {
    let interrupt = async {
        // If the signal cannot be received, wait forever: the server must not stop for that reason.
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
