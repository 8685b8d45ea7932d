//! Measures live sessions: what one costs that is idle, and what it takes to tell all of them, or one, of something new.
//!
//! `cargo run --release --example sessions -- --sessions 1000 [--database URL of an empty database]` starts the server in a
//! process of its own (that of the same profile, or `--server`), over SQLite in a temporary folder where no database is
//! given. Each session is a user of his own with a socket, over which he is subscribed to his overview and to new items.
//! The output is Markdown. A session takes a file descriptor here and one in the server: see `ulimit -n`.
#![expect(clippy::print_stdout, reason = "a command line program talks on standard output")]

mod board;
mod figures;
mod server;
mod session;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tidings::auth::Role;
use tokio::time::sleep;

use board::Board;
use figures::{Figures, Round};
use server::Server;
use session::{Session, Want};

pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// The pause between the small requests that go on before the memory of the server is read.
const PAUSE: Duration = Duration::from_millis(50);

/// Sessions that are opened at the same time.
const AT_ONCE: usize = 64;

#[derive(Parser)]
struct Options {
    /// How many sessions.
    #[arg(long, default_value_t = 1000)]
    sessions: usize,
    /// How often each kind of sending is measured.
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Message types of the tenant, all of which an overview shows.
    #[arg(long, default_value_t = 8)]
    types: usize,
    /// What each session is subscribed to.
    #[arg(long, value_enum, default_value_t = Want::Both)]
    want: Want,
    /// Seconds for which small requests go on before the memory of the server is read: an allocator gives back what it does not
    /// need only when it is asked for something, and mimalloc only what nobody wanted for ten seconds.
    #[arg(long, default_value_t = 15)]
    settle: u64,
    /// URL of an empty database that the server can use; SQLite where it is not given.
    #[arg(long)]
    database: Option<String>,
    /// The server; that of the same build where it is not given.
    #[arg(long)]
    server: Option<std::path::PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    enough_files(options.sessions)?;
    let mut server = Server::start(options.server.clone(), options.database.as_deref(), options.sessions).await?;
    fill(&server, &options).await?;
    // What filling it has left in the memory of the process is nothing to do with sessions.
    server.restart().await?;
    warm(&server, &options).await?;
    measure(&server, &options).await
}

/// Fails where the sessions would run out of file descriptors.
fn enough_files(sessions: usize) -> Result<()> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap_or_default();
    let most: usize = line.split_whitespace().next().and_then(|most| most.parse().ok()).unwrap_or(usize::MAX);
    let needed = sessions + 200;
    if most < needed {
        return Err(format!("only {most} files may be open: run `ulimit -n {needed}` first").into());
    }
    Ok(())
}

fn user(place: usize) -> String {
    format!("user-{place}")
}

/// Types and users.
async fn fill(server: &Server, options: &Options) -> Result<()> {
    for place in 0..options.types {
        let query = "mutation($i: MessageTypeInput!) { saveMessageType(input: $i) { code } }";
        let input = json!({ "code": format!("type-{place}"), "title": format!("Type {place}"), "position": place });
        server.ask(&server::token("operator", Role::Admin), query, json!({ "i": input })).await?;
    }
    let service = server::token("shop", Role::Service);
    for first in (0..options.sessions).step_by(1000) {
        let last = (first + 1000).min(options.sessions);
        let users: Vec<Value> = (first..last).map(|place| json!({ "id": user(place) })).collect();
        server
            .ask(&service, "mutation($i: [UserInput!]!) { saveUsers(inputs: $i) { id } }", json!({ "i": users }))
            .await?;
    }
    // One item of every type, so that overviews have something to show.
    for place in 0..options.types {
        announce(server, place, "before").await?;
    }
    Ok(())
}

/// Every inbox is opened twice, so that what the server remembers of users, and the caches of SQLite, are full.
async fn warm(server: &Server, options: &Options) -> Result<()> {
    let service = server::token("shop", Role::Service);
    for _ in 0..2 {
        let chunks = (0..options.sessions).step_by(100);
        let open = async |first: usize| {
            let users: Vec<String> = (first..(first + 100).min(options.sessions)).map(user).collect();
            let query =
                "query($ids: [ID!]!) { users(ids: $ids) { overview { unread { count } types { latest { title } } } } }";
            server.ask(&service, query, json!({ "ids": users })).await.map(drop)
        };
        stream::iter(chunks).map(open).buffer_unordered(16).try_collect::<Vec<()>>().await?;
    }
    Ok(())
}

async fn announce(server: &Server, place: usize, title: &str) -> Result<Instant> {
    let query = "mutation($i: AnnouncementInput!) { sendAnnouncement(input: $i) { replayed } }";
    let content = json!({ "title": title, "body": "What is new in this version, and what to do about it." });
    let input = json!({ "type": format!("type-{place}"), "audience": { "everyone": true }, "content": content });
    server.ask(&server::token("shop", Role::Service), query, json!({ "i": input })).await?;
    Ok(Instant::now())
}

async fn message(server: &Server, place: usize, receiver: usize, title: &str) -> Result<Instant> {
    let query = "mutation($i: MessageInput!) { sendMessage(input: $i) { replayed } }";
    let content = json!({ "title": title, "body": "Could you have a look at this?" });
    let input = json!({ "type": format!("type-{place}"), "receiver": user(receiver), "content": content });
    server.ask(&server::token("shop", Role::Service), query, json!({ "i": input })).await?;
    Ok(Instant::now())
}

async fn settle(server: &Server, options: &Options) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(options.settle);
    while Instant::now() < until {
        sleep(PAUSE).await;
        server.ask(&server::token("shop", Role::Service), "{ messageTypes { code } }", Value::Null).await?;
    }
    Ok(())
}

async fn measure(server: &Server, options: &Options) -> Result<()> {
    let count = options.sessions;
    let mut figures = Figures::new(server, options.want, count);
    settle(server, options).await?;
    figures.memory("idle, without sessions", server.memory()?);

    let board = Arc::new(Board::new(count));
    let open = |place| Session::open(server.address.clone(), place, board.clone());
    let sessions = stream::iter((0..count).map(open)).buffer_unordered(AT_ONCE).try_collect::<Vec<_>>().await?;
    settle(server, options).await?;
    figures.memory("with sockets that have shown their tokens", server.memory()?);

    let began = Instant::now();
    let follow = |session: Session| session.follow(options.want);
    let following = stream::iter(sessions.into_iter().map(follow)).buffer_unordered(AT_ONCE);
    let tasks = following.try_collect::<Vec<_>>().await?;
    figures.subscribed_in(began.elapsed());
    settle(server, options).await?;
    figures.memory("with their subscriptions", server.memory()?);

    // The first of each is for warming up.
    for round in 0..=options.rounds {
        let place = round % options.types;
        for receiver in [None, Some((round * 7919 + 13) % count)] {
            let title = format!("round {round} to {receiver:?}");
            let listeners = if receiver.is_some() { 1 } else { count };
            board.expect(&title, listeners, options.want);
            let before = server.reading().await?;
            let acknowledged = match receiver {
                None => announce(server, place, &title).await?,
                Some(receiver) => message(server, place, receiver, &title).await?,
            };
            let arrivals = board.arrivals().await?;
            let after = server.reading().await?;
            if round > 0 {
                figures.add(receiver, Round::new(acknowledged, arrivals, &before, &after));
            }
        }
    }
    settle(server, options).await?;
    figures.memory("after all of this", server.memory()?);
    for task in tasks {
        task.abort();
    }
    server.is_alone().await?;
    settle(server, options).await?;
    figures.memory("when all have left", server.memory()?);
    println!("{figures}");
    Ok(())
}
