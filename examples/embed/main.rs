//! An application with pages, users and sessions of its own, in which Tidings is mounted by `async_graphql_axum`: its users'
//! inboxes at `/inbox`, for whoever has signed in there, and the operators' console.
//!
//! `cargo run --example embed`, then open the address that it prints.
#![expect(clippy::print_stdout, reason = "it says where to look")]

mod host;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tidings::app::App;
use tidings::clock::Clock;
use tidings::config::Config;
use tidings::{demo, worker};
use tokio::net::TcpListener;

use host::Host;

/// Tokens are for the console only: the application's own users have sessions.
const SECRET: &str = "only-for-this-example-0123456789abcdef";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let database = format!("sqlite://{}?mode=rwc", folder.path().join("embed.db").display());
    let app = App::start(Config::over(&database, SECRET), Clock::System).await?;
    demo::fill(&app).await?;
    // What is scheduled, expires and is counted: in the background, for as long as this is kept.
    let live = Arc::default();
    let _worker = worker::start(&app, &live).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("open http://{}, and sign in as {}", listener.local_addr()?, demo::USER);
    axum::serve(listener, Host::new(app, live).routes()).await?;
    Ok(())
}
