//! All sessions of a stopped node reconnect at once, each with its cursor, to a node with empty caches.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use auth::CallerRole;
use futures_util::future::{join_all, try_join_all};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::board::Board;
use super::session::{Session, Want};
use super::{CONNECTIONS, announce, enough_files, listener};
use crate::figures::{Case, Measured};
use crate::load::{Ask, once};
use crate::server::{Server, token};
use crate::{Place, Plan, Result};

const SOCKETS: usize = 2000;

/// Concurrent clients that request overviews, one after the other.
const CLIENTS: usize = 8;

const OVERVIEW: &str = "{ viewer { overview(cap: 99) { unread { count exact } types { type { code } unread { count } \
    latest { id title } } cursor } } }";

/// Once without other load, which shows the statements, and once while others request overviews.
pub async fn run(place: &Place, plan: &Plan) -> Result<Case> {
    enough_files(SOCKETS)?;
    let (mut alone, mut beside) = (Measured::new("nothing else"), Measured::new("and overviews by 8 clients"));
    for round in 0..plan.rounds.min(3) {
        storm(place, &format!("alone {round}"), 0, &mut alone).await?;
        storm(place, &format!("beside {round}"), CLIENTS, &mut beside).await?;
    }
    Ok(Case { name: format!("{SOCKETS} sockets come back"), contenders: vec![alone, beside] })
}

async fn storm(place: &Place, title: &str, clients: usize, measured: &mut Measured) -> Result<()> {
    let tenant = place.scene("sending").code;
    let title = format!("storm {title} of {:?}", std::process::id());
    let cursors = missed(place, tenant, &title).await?;
    let server = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let board = Arc::new(Board::new(SOCKETS));
    board.expect(&title, SOCKETS, Want::Both);
    let (statements, is_over) = (server.statements().await?, Arc::new(AtomicBool::new(false)));
    let asking = asking(server.address, tenant, clients, is_over.clone());
    let start = Instant::now();
    let coming = async {
        let open = async |(user, after): (usize, &String)| {
            Session::open(server.address, tenant, user, board.clone()).await?.resume(after).await
        };
        let tasks = try_join_all(cursors.iter().enumerate().map(open)).await?;
        let arrivals = board.arrivals().await?;
        tasks.iter().for_each(JoinHandle::abort);
        Ok::<_, crate::BoxedError>(arrivals.items.into_iter().chain(arrivals.overviews).max())
    };
    let last = coming.await;
    is_over.store(true, Ordering::Relaxed);
    let mut latencies = asking.await??;
    let last = last?.unwrap_or(start);
    measured.add("s to the last", last.saturating_duration_since(start).as_secs_f64());
    if clients == 0 {
        measured.add("statements a socket", (server.statements().await? - statements) / SOCKETS as f64);
        return Ok(());
    }
    latencies.sort_by(f64::total_cmp);
    for (name, part) in [("overviews, p50 ms", 0.5), ("overviews, p99 ms", 0.99)] {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
        let place = (latencies.len() as f64 * part) as usize;
        measured.add(name, latencies.get(place).copied().unwrap_or_default());
    }
    Ok(())
}

/// The cursors of all users, and an announcement that they have all missed.
async fn missed(place: &Place, tenant: &'static str, title: &str) -> Result<Vec<String>> {
    let server = Server::tidings(&place.binary, &place.url, CONNECTIONS).await?;
    let service = token(tenant, "shop", CallerRole::Service);
    let mut cursors = Vec::with_capacity(SOCKETS);
    for first in (0..SOCKETS).step_by(100) {
        let users: Vec<String> = (first..first + 100).map(listener).collect();
        let query = "query($ids: [ID!]!) { inboxUsers(ids: $ids) { overview { cursor } } }";
        let data = server.data(&service, query, json!({ "ids": users })).await?;
        let all = data["inboxUsers"].as_array().ok_or("there are no users")?;
        cursors.extend(all.iter().filter_map(|user| user["overview"]["cursor"].as_str().map(str::to_owned)));
    }
    announce(&server, &service, title).await?;
    if cursors.len() == SOCKETS { Ok(cursors) } else { Err("somebody has no cursor".into()) }
}

/// Clients that request overviews until the test is over; returns the latencies in milliseconds. They have a thread of
/// their own, so that they do not wait for the reconnecting clients.
fn asking(
    address: SocketAddr,
    tenant: &'static str,
    clients: usize,
    is_over: Arc<AtomicBool>,
) -> JoinHandle<Result<Vec<f64>>> {
    let all = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let clients = (0..clients).map(|client| ask(address, tenant, client, &is_over));
        Ok(runtime.block_on(join_all(clients)).concat())
    };
    tokio::task::spawn_blocking(all)
}

/// Requests overviews of other users until the test is over.
async fn ask(address: SocketAddr, tenant: &str, client: usize, is_over: &AtomicBool) -> Vec<f64> {
    let mut latencies = Vec::new();
    for turn in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let user = listener(SOCKETS + (CLIENTS * turn + client) % 500);
        let body: Value = json!({ "query": OVERVIEW });
        let start = Instant::now();
        if once(address, &Ask::graphql(&token(tenant, &user, CallerRole::User), &body)).await.is_ok() {
            latencies.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    latencies
}
