//! Measures throughput, latency, CPU and memory of Tidings and compares them with the limit of its database and with
//! other designs; in each round all contenders take turns.
//!
//! Run `cargo run --release -p bench -- <what>` over SQLite, or over the PostgreSQL database at `BENCH_DATABASE_URL`,
//! which must be used for nothing else and is filled on first use. Prints Markdown tables with the median and range of
//! each figure.
#![expect(clippy::print_stdout, reason = "a command line program talks on standard output")]
#![expect(clippy::cast_precision_loss, reason = "measured figures are far below 2^52")]
#![expect(clippy::cast_possible_wrap, reason = "nothing is counted here to 2^63")]

mod contender;
mod contest;
mod data;
mod figures;
mod gate;
mod load;
mod machine;
mod place;
mod plans;
mod proxy;
mod server;
mod work;

use clap::Parser;

use place::Place;

pub type BoxedError = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T, E = BoxedError> = std::result::Result<T, E>;

/// Benchmarks of Tidings.
#[derive(Parser)]
enum Command {
    /// Overview: compared with its limit and three designs of notification tables.
    Overview(Plan),
    /// Unchanged overviews, also with `ETag`s; on PostgreSQL also with Redis validation (`BENCH_REDIS_URL`).
    Poll(Plan),
    /// Overview of users with large inboxes, compared with an ordinary user.
    Large(Plan),
    /// List of 20 items, compared with its limit.
    List(Plan),
    /// Marking one item, compared with its limit, and ten thousand.
    Mark(Plan),
    /// Sends to one user, to everyone and in batches, compared with the limit and bare INSERTs.
    Send(Plan),
    /// A user's first visit after 30 days.
    Visit(Plan),
    /// Open sockets.
    Live(Plan),
    /// Rules: idle, a large result, many new rows, and the delay until users see an item.
    Rules(Plan),
    /// Webhooks: cost per send, throughput, delay, and the effect of an endpoint that does not respond.
    Delivery(Plan),
    /// Start-up time, binary size and idle memory.
    Start(Plan),
    /// All of these.
    All(Plan),
    /// Fail if overviews, lists, marks or sends cost more, relative to their limits, than was accepted.
    Gate {
        #[command(flatten)]
        ground: Ground,
        /// Store the measured values as the accepted ones.
        #[arg(long)]
        accept: bool,
    },
    /// Print the query plans of the main statements, over an empty database.
    Plans {
        /// URL of the empty database: SQLite, PostgreSQL or MariaDB.
        database: String,
        /// Only with the statistics that the database collects by itself.
        #[arg(long)]
        fresh: bool,
    },
    /// Run the programs that Tidings is compared with.
    #[command(hide = true)]
    Contender(contender::Options),
}

/// Options of a measurement.
#[derive(clap::Args, Clone)]
pub struct Plan {
    /// Turns of each contender.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Length of a turn, in seconds.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[command(flatten)]
    ground: Ground,
}

/// The database and the server.
#[derive(clap::Args, Clone)]
pub struct Ground {
    /// URL of a PostgreSQL database for the data; by default SQLite in target/bench.
    #[arg(long, env = "BENCH_DATABASE_URL", hide_env_values = true)]
    database: Option<String>,
    /// URL of the Redis for Redis validation.
    #[arg(long, env = "BENCH_REDIS_URL", default_value = "redis://127.0.0.1:6379", hide_env_values = true)]
    redis: String,
    /// Path of the server's binary; by default it is built with the profile `dist`, as for a release.
    #[arg(long)]
    server: Option<std::path::PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let (what, plan): (&[&'static str], Plan) = match Command::parse() {
        Command::Overview(plan) => (&["overview"], plan),
        Command::Poll(plan) => (&["poll"], plan),
        Command::Large(plan) => (&["large"], plan),
        Command::List(plan) => (&["list"], plan),
        Command::Mark(plan) => (&["mark"], plan),
        Command::Send(plan) => (&["send"], plan),
        Command::Visit(plan) => (&["visit"], plan),
        Command::Live(plan) => (&["live"], plan),
        Command::Rules(plan) => (&["rules"], plan),
        Command::Delivery(plan) => (&["delivery"], plan),
        Command::Start(plan) => (&["start"], plan),
        Command::All(plan) => (&work::ALL, plan),
        Command::Plans { database, fresh } => return Ok(plans::run(&database, fresh).await?),
        Command::Gate { ground, accept } => return gate::run(&ground, accept).await,
        Command::Contender(options) => return contender::serve(options).await,
    };
    let place = if matches!(what, ["rules" | "delivery"]) {
        Place::bare(&plan.ground)?
    } else {
        Place::prepare(&plan.ground).await?
    };
    for what in what {
        let cases = work::run(what, &place, &plan).await?;
        figures::print(what, &place, &cases);
    }
    Ok(())
}
