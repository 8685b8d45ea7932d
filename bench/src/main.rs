//! What Tidings does a second, at what latency and for how much CPU and memory: measured against the limit of its
//! database and against other designs, in rounds in which all of them take turns.
//!
//! `cargo run --release -p bench -- <what>` over SQLite, or over the PostgreSQL of `BENCH_DATABASE_URL` (a database of its
//! own, which is filled the first time). Figures are printed as Markdown tables: of each, the median and the range over all rounds.
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

/// Measures Tidings.
#[derive(Parser)]
enum Command {
    /// The overview, against its limit and three designs of notification tables.
    Overview(Plan),
    /// Overviews of which nothing is new, also by their tags; with a board on the Redis at `BENCH_REDIS_URL`, too.
    Poll(Plan),
    /// The overview of users with very much, against that of an ordinary one.
    Large(Plan),
    /// A list of 20, against its limit.
    List(Plan),
    /// Marking one, against its limit, and ten thousand.
    Mark(Plan),
    /// Sending to one, to everyone, in batches, and against its limit and bare INSERTs.
    Send(Plan),
    /// A user's first visit, after 30 days.
    Visit(Plan),
    /// Open sockets.
    Live(Plan),
    /// Rules: at rest, a large result, many new rows, and how soon they are heard.
    Rules(Plan),
    /// Webhooks: what they cost a send, how many a second, how soon, and beside one that does not answer.
    Delivery(Plan),
    /// Start-up, binary, idle memory.
    Start(Plan),
    /// All of these.
    All(Plan),
    /// Fails where overviews, lists, marks or sends cost more of what their limits do than was accepted.
    Gate {
        #[command(flatten)]
        ground: Ground,
        /// Keeps what is measured as what is accepted.
        #[arg(long)]
        accept: bool,
    },
    /// Prints the plans of the statements of the data path, over an empty database.
    Plans {
        /// URL of the empty database: SQLite, PostgreSQL or MariaDB.
        database: String,
        /// Without statistics but those that the database gathers by itself.
        #[arg(long)]
        fresh: bool,
    },
    /// Serves what Tidings is measured against.
    #[command(hide = true)]
    Contender(contender::Options),
}

/// Where and how often.
#[derive(clap::Args, Clone)]
pub struct Plan {
    /// How often each contender has its turn.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// How long a turn is, in seconds.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    #[command(flatten)]
    ground: Ground,
}

/// Over which database, and with which server.
#[derive(clap::Args, Clone)]
pub struct Ground {
    /// URL of a PostgreSQL database for the data; SQLite in target/bench where it is not given.
    #[arg(long, env = "BENCH_DATABASE_URL", hide_env_values = true)]
    database: Option<String>,
    /// URL of the Redis that a board hangs in.
    #[arg(long, env = "BENCH_REDIS_URL", default_value = "redis://127.0.0.1:6379", hide_env_values = true)]
    redis: String,
    /// The server's binary; built with the profile `dist`, as a release is, if not given.
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
