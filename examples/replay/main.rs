//! Replays a file of recorded activity through a running server, as a backend would, and then checks every actor's
//! inbox against a model in memory.
//!
//! Each line of the file is one activity. Its actor subscribes to the target, unless already subscribed, and then sends
//! a reminder about it. So each reminder must reach exactly the users who acted on the target before it, except its
//! actor.
//!
//! ```sh
//! export TIDINGS_TOKEN=$(tidings token --tenant replay --role service)
//! export TIDINGS_ADMIN_TOKEN=$(tidings token --tenant replay --role admin)
//! cargo run --release --example replay -- activity.jsonl.gz
//! ```
//!
//! Use a tenant with no other traffic. A second run over the same file sends nothing and checks again; after an
//! interruption it sends the missing reminders.

#![expect(clippy::print_stdout, reason = "a command line program talks on standard output")]

mod activity;
mod check;
mod client;
mod expected;
mod inbox;
mod plan;
mod send;

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::activity::Activity;
use crate::client::Client;
use crate::expected::Expected;
use crate::plan::Planner;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Maximum differences printed: enough to show a pattern, few enough not to hide the totals above.
const SHOWN_DISAGREEMENTS: usize = 10;

/// Replays recorded activity through a Tidings server and checks every inbox.
#[derive(Parser)]
struct Args {
    /// Gzip-compressed JSON Lines file, one activity per line.
    path: PathBuf,
    /// The server's GraphQL endpoint.
    #[arg(long, default_value = "http://127.0.0.1:8080/graphql")]
    url: String,
    /// A token with the role SERVICE.
    #[arg(long, env = "TIDINGS_TOKEN", hide_env_values = true)]
    token: String,
    /// A token with the role ADMIN in the same tenant; it saves the message type.
    #[arg(long, env = "TIDINGS_ADMIN_TOKEN", hide_env_values = true)]
    admin_token: String,
    /// Lines per window; all connections finish a window before the next one begins.
    #[arg(long, default_value = "4000")]
    window: NonZeroUsize,
    /// Concurrent requests.
    #[arg(long, default_value = "8")]
    connections: NonZeroUsize,
    /// Reminders per `sendNotifications`; the server accepts at most 1,000.
    #[arg(long, default_value = "500")]
    batch: NonZeroUsize,
    /// Number of actors to check the lists of; the overviews of all actors are checked.
    #[arg(long)]
    sample: Option<usize>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(disagreements) if disagreements.is_empty() => {
            println!("everything agrees");
            ExitCode::SUCCESS
        }
        Ok(disagreements) => {
            println!("{} disagreements, of which:", disagreements.len());
            for disagreement in disagreements.iter().take(SHOWN_DISAGREEMENTS) {
                println!("  {disagreement}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Replays and checks; returns the differences between server and model.
async fn run(args: &Args) -> Result<Vec<String>> {
    let activities = activity::read(&args.path)?;
    let expected = Expected::of(&activities);
    println!("{} lines by {} actors, {} items expected", activities.len(), expected.users().len(), expected.total());

    let admin = Client::new(&args.url, &args.admin_token);
    send::save_message_type(&admin).await?;
    let service = Client::new(&args.url, &args.token);
    replay(&service, &activities, args).await?;
    check::run(&service, &expected, args.connections.get(), args.sample).await
}

async fn replay(client: &Client, activities: &[Activity], args: &Args) -> Result<()> {
    let started = Instant::now();
    let mut planner = Planner::new(args.connections, args.batch);
    let mut tally = send::Tally::default();
    for window in activities.chunks(args.window.get()) {
        // The next window waits for all lanes, so that no topic runs ahead of the others by more than a window.
        tally += send::lanes(client, planner.lanes(window)).await?;
        println!(
            "replayed {} of {} lines, {} lines/s",
            tally.sent,
            activities.len(),
            per_second(tally.sent, started.elapsed()),
        );
    }
    let elapsed = started.elapsed();
    println!(
        "{} subscriptions ({} of them new), {}/s; {} reminders ({} of them sent before), {}/s; {} requests in {elapsed:.1?}",
        tally.subscribed,
        tally.created,
        per_second(tally.subscribed, elapsed),
        tally.sent,
        tally.replayed,
        per_second(tally.sent, elapsed),
        tally.requests,
    );
    Ok(())
}

fn per_second(count: usize, elapsed: Duration) -> u128 {
    count as u128 * 1_000_000 / elapsed.as_micros().max(1)
}
