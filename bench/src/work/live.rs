//! Open sockets: their memory, and the time and CPU until all of them have received a notification.

pub mod board;
pub mod session;
mod storm;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::CallerRole;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::CONNECTIONS;
use crate::figures::{Case, Measured, median, named};
use crate::machine::{self, Postgres};
use crate::server::{Server, token};
use crate::{Place, Plan, Result};
use board::Board;
use session::{Session, Want};

const SIZES: [usize; 2] = [1000, 5000];

const DELIVERY: &str = "CPU µs a delivery";

/// Sends per bare connection, and bytes per send: those of an item without a long text.
const SENDS: usize = 20;
const SENT: usize = 300;

/// Announcements per round: several, because CPU time has a resolution of 10 ms. Each comes `APART` after the last one
/// has arrived, so that no overview was sent just before.
const ANNOUNCEMENTS: usize = 10;
const APART: Duration = Duration::from_millis(200);

/// Users do not connect in the order of their accounts: each is this many accounts after the one before. It has no
/// divisor in common with a size.
const STRIDE: usize = 2711;

/// Sessions opened concurrently.
const AT_ONCE: usize = 64;

/// How long small requests go on before memory is read, and the pause between them: the allocator returns memory only
/// when it is called, and only memory that was unused for ten seconds.
const SETTLE: Duration = Duration::from_secs(13);
const PAUSE: Duration = Duration::from_millis(50);

/// Files that a process needs besides one per session.
const FILES: usize = 500;

pub async fn run(place: &Place, plan: &Plan) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for size in SIZES {
        // For both ends of a bare connection.
        enough_files(2 * size)?;
        let mut all = vec![spawn_blocking(move || bare(size)).await??];
        for (name, want) in
            [("items", Want::Items), ("overviews", Want::Overviews), ("items and overviews", Want::Both)]
        {
            eprintln!("{size} sockets: {name}");
            all.push(sockets(place, plan, size, (name, want)).await?);
        }
        cases.push(Case { name: format!("{size} sockets"), contenders: all });
    }
    eprintln!("a storm of sockets");
    cases.push(storm::run(place, plan).await?);
    Ok(cases)
}

/// Fails if the limit of open files is too low for the sessions.
fn enough_files(sessions: usize) -> Result<()> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap_or_default();
    let most: usize = line.split_whitespace().next().and_then(|most| most.parse().ok()).unwrap_or(usize::MAX);
    let needed = sessions + FILES;
    if most < needed {
        return Err(format!("only {most} files may be open: run `ulimit -n {needed}` first").into());
    }
    Ok(())
}

/// CPU time of bare sends on `size` local connections: a lower bound for a delivery.
fn bare(size: usize) -> Result<Measured> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut connections = Vec::with_capacity(size);
    for _ in 0..size {
        let receives = TcpStream::connect(listener.local_addr()?)?;
        let (sends, _) = listener.accept()?;
        sends.set_nodelay(true)?;
        connections.push((sends, receives));
    }
    let (message, mut received, mut cpu) = ([0; SENT], [0; SENT], 0.0);
    for _ in 0..SENDS {
        let before = machine::cpu(std::process::id())?;
        for (sends, _) in &mut connections {
            sends.write_all(&message)?;
        }
        cpu += machine::cpu(std::process::id())? - before;
        for (_, receives) in &mut connections {
            receives.read_exact(&mut received)?;
        }
    }
    let mut measured = Measured::new("a bare send");
    measured.add(DELIVERY, cpu / (SENDS * size) as f64);
    Ok(measured)
}

/// A user who has received only announcements to everyone, so that all of them see the same.
pub fn listener(place: usize) -> String {
    format!("s{place}")
}

/// Measures `size` users with one socket each, who receive announcements to everyone.
async fn sockets(place: &Place, plan: &Plan, size: usize, (name, want): (&str, Want)) -> Result<Measured> {
    let tenant = place.scene("sending").code;
    let server = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let postgres = Postgres::watch(&place.url).await?;
    let service = token(tenant, "shop", CallerRole::Service);
    // Sync their inboxes and fill the server's caches before measuring.
    warm(&server, &service, size).await?;
    settle(&server, &service).await?;
    let alone = machine::memory(server.pid())?;
    let board = Arc::new(Board::new(size));
    let open = |user| Session::open(server.address, tenant, user, board.clone());
    let sessions = stream::iter((0..size).map(|place| open(place * STRIDE % size)))
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<_>>()
        .await?;
    let following = stream::iter(sessions.into_iter().map(|session| session.follow(want))).buffer_unordered(AT_ONCE);
    let tasks = following.try_collect::<Vec<_>>().await?;
    settle(&server, &service).await?;
    let mut measured = Measured::new(name);
    measured.add("KiB a socket", (machine::memory(server.pid())? - alone) / size as f64);

    let deliveries = (ANNOUNCEMENTS * if want == Want::Both { 2 * size } else { size }) as f64;
    // The first round is a warm-up.
    for round in 0..=plan.rounds {
        let (statements, mut times) = (server.statements().await?, Vec::new());
        let before = (machine::cpu(server.pid())?, postgres.cpu().await?);
        for number in 0..ANNOUNCEMENTS {
            sleep(APART).await;
            let title = format!("{name} {round} {number} of {size} at {:?}", std::process::id());
            board.expect(&title, size, want);
            let start = announce(&server, &service, &title).await?;
            let arrivals = board.arrivals().await?;
            let arrived = arrivals.items.into_iter().chain(arrivals.overviews);
            let took = arrived.map(|at| at.saturating_duration_since(start).as_secs_f64() * 1e3);
            times.push(took.collect::<Vec<_>>());
        }
        let cpu = machine::cpu(server.pid())? - before.0;
        let database = postgres.cpu().await?.zip(before.1).map(|(after, before)| after - before);
        let statements = server.statements().await? - statements;
        if round == 0 {
            continue;
        }
        for times in &times {
            measured.add("ms to the median", median(times));
            measured.add("ms to the last", times.iter().copied().fold(0.0, f64::max));
        }
        measured.add(DELIVERY, cpu / deliveries);
        if let Some(database) = database {
            measured.add("CPU µs a delivery, database", database / deliveries);
        }
        measured.add(named::STATEMENTS, statements / ANNOUNCEMENTS as f64);
    }
    for task in tasks {
        task.abort();
    }
    Ok(measured)
}

async fn warm(server: &Server, service: &str, size: usize) -> Result<()> {
    let open = async |first: usize| {
        let users: Vec<String> = (first..(first + 100).min(size)).map(listener).collect();
        let query = "query($ids: [ID!]!) { inboxUsers(ids: $ids) { overview { unread { count } } } }";
        server.data(service, query, json!({ "ids": users })).await.map(drop)
    };
    stream::iter((0..size).step_by(100)).map(open).buffer_unordered(4).try_collect::<Vec<()>>().await?;
    Ok(())
}

async fn announce(server: &Server, service: &str, title: &str) -> Result<Instant> {
    let query = "mutation($i: SendAnnouncementInput!) { sendAnnouncement(input: $i) { replayed } }";
    let content = json!({ "title": title, "body": "What is new in this version, and what to do about it." });
    let input = json!({ "type": "type-2", "audience": { "everyone": true }, "content": content });
    server.data(service, query, json!({ "i": input })).await?;
    Ok(Instant::now())
}

async fn settle(server: &Server, service: &str) -> Result<()> {
    let until = Instant::now() + SETTLE;
    while Instant::now() < until {
        sleep(PAUSE).await;
        server.data(service, "{ messageTypes { code } }", json!({})).await?;
    }
    Ok(())
}
