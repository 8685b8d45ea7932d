//! An application with its own pages, users and sessions that embeds Tidings with `async_graphql_axum`: the inboxes of
//! its signed-in users at `/inbox`, and the operators' console.
//!
//! Run `cargo run --example embed`, then open the address that it prints.
#![expect(clippy::print_stdout, reason = "it says where to look")]

mod host;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::clock::Clock;
use base::config::ServerConfig;
use tidings::app::App;
use tidings::demo;
use tidings::worker;
use tokio::net::TcpListener;

use host::Host;

/// Tokens are only for the console; the application's own users have sessions.
const SECRET: &str = "only-for-this-example-0123456789abcdef";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let database = format!("sqlite://{}?mode=rwc", folder.path().join("embed.db").display());
    let app = App::start(ServerConfig::for_database(&database, SECRET), Clock::System).await?;
    demo::fill_tenant(&app).await?;
    // The background tasks (schedules, expiry, counters) run until this is dropped.
    let live = Arc::default();
    let _worker = worker::start(&app, &live).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("open http://{}, and sign in as {}", listener.local_addr()?, demo::USER);
    axum::serve(listener, Host::new(app, live).routes()).await?;
    Ok(())
}
