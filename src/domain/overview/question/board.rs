//! Whether overviews that are remembered still hold, by what hangs on the board. Requests that ask at the same time ask together.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use entity::ids::{Seq, UserId};
use futures_util::FutureExt;

use super::known::ENTRIES;
use super::statement::{Listener, listeners};
use crate::app::App;
use crate::board::{Board, Place, Tokens, share};
use crate::clock::Millis;
use crate::database::{Bounds, Party, Together};
use crate::domain::tenant::{Needs, Tenant};
use crate::error::Result;
use crate::model::overview::{Entry, Shares, Watch, hung};

/// Who listens to more channels than this watches all of them.
const CHANNELS: i64 = 1000;

/// Rounds to Redis at a time: while one is under way, the next one gathers.
const ROUNDS: usize = 2;

/// How long a request waits for its round.
const PATIENCE: Duration = Duration::from_secs(2);

/// Requests of a tenant's users that wait to hear what hangs on the board.
type Looks = Together<Needs, Arc<Entry>, Held>;

/// Overviews that hold. Of a type of its own, by which their queue is told from that of the questions to the database.
struct Held(HashMap<UserId, Seq>);

/// Those of the entries that hold by the board alone, and the others: all of them where there is none.
pub(super) async fn held(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    entries: Vec<Arc<Entry>>,
) -> (HashMap<UserId, Seq>, Vec<Arc<Entry>>) {
    let Some(board) = &app.board else { return (HashMap::new(), entries) };
    let (now, many) = (app.now(), entries.len());
    let (watched, mut others): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| watch_of(entry, now).is_some());
    let mut held = HashMap::new();
    if !watched.is_empty() && board.is_trusted() {
        let bounds = Bounds { rounds: ROUNDS, things: ENTRIES, patience: PATIENCE, splits_after: None };
        let looks = tenant
            .queues
            .of(|| Looks::new(Party::tenant(tenant.id), |(app, tenant), jobs| look(app, tenant, jobs).boxed(), bounds));
        // Whatever goes wrong with it, the database knows.
        if let Ok(Held(holding)) = looks.ask(|| (app.clone(), tenant.clone()), watched.clone()).await {
            held = holding;
        }
    }
    others.extend(watched.into_iter().filter(|entry| !held.contains_key(&entry.overview.user)));
    app.metrics.board_hits.inc_by(held.len() as u64);
    app.metrics.board_misses.inc_by((many - held.len()) as u64);
    (held, others)
}

async fn look(app: &App, tenant: &Tenant, jobs: &mut [Vec<Arc<Entry>>]) -> Result<Vec<Result<Held>>> {
    let entries: Vec<Arc<Entry>> = jobs.iter().flatten().cloned().collect();
    let holding = match &app.board {
        Some(board) => holding(board, tenant, &entries, app.now()).await,
        None => Vec::new(),
    };
    let holding: HashSet<*const Entry> = holding.iter().map(|(entry, _)| Arc::as_ptr(entry)).collect();
    let of = |entry: &Arc<Entry>| {
        let holds = holding.contains(&Arc::as_ptr(entry));
        holds.then(|| (entry.overview.user, entry.complete_upto()))
    };
    Ok(jobs.iter().map(|job| Ok(Held(job.iter().filter_map(of).collect()))).collect())
}

/// Which of the entries hold, and what hangs for each.
pub(super) async fn holding(
    board: &Board,
    tenant: &Tenant,
    entries: &[Arc<Entry>],
    now: Millis,
) -> Vec<(Arc<Entry>, u64)> {
    let watched = entries.iter().filter_map(|entry| Some((entry, watch_of(entry, now)?)));
    let watched: Vec<(&Arc<Entry>, Watch)> = watched.collect();
    let users = watched.iter().map(|(entry, _)| entry.overview.user);
    let shares = watched.iter().fold(Shares::default(), |all, (_, watch)| all.with(watch.shares));
    let places = places(tenant, users, shares);
    let Some(tokens) = board.tokens(&places).await else { return Vec::new() };
    let holds = |of: &&(&Arc<Entry>, Watch)| of.0.hangs(tenant, &tokens, of.1.shares) == Some(of.1.hung);
    watched.iter().filter(holds).map(|(entry, watch)| ((*entry).clone(), watch.hung)).collect()
}

fn watch_of(entry: &Entry, now: Millis) -> Option<Watch> {
    entry.watch.lock().filter(|watch| watch.is_good(now))
}

/// The tenant's first, and each once.
fn places(tenant: &Tenant, users: impl Iterator<Item = UserId>, shares: Shares) -> Vec<Place> {
    let users: BTreeSet<UserId> = users.collect();
    let channels = shares.iter().map(|share| Place::Channels(tenant.id, share));
    std::iter::once(Place::Tenant(tenant.id)).chain(users.into_iter().map(Place::User)).chain(channels).collect()
}

impl Entry {
    /// What hangs where this depends on it; nothing where it is not all there.
    fn hangs(&self, tenant: &Tenant, tokens: &Tokens, shares: Shares) -> Option<u64> {
        hung(places(tenant, std::iter::once(self.overview.user), shares).into_iter().map(|place| tokens.at(place)))
    }
}

/// What hung on the board before the database was asked.
pub(super) struct Hung {
    tokens: Tokens,
    shares: HashMap<UserId, Shares>,
    began: Instant,
    began_at: Millis,
}

/// Hangs up what overviews depend on; nothing where there is no board, or it is not to be believed.
///
/// What users listen to is read once their own token hangs, which is taken down where they listen to something else.
pub(super) async fn hang(
    app: &App,
    tenant: &Tenant,
    entries: impl Iterator<Item = &Arc<Entry>>,
    now: Millis,
) -> Result<Option<Hung>> {
    let Some(board) = app.board.as_ref().filter(|board| board.is_trusted()) else { return Ok(None) };
    let began = Instant::now();
    let watches: BTreeMap<UserId, Option<Watch>> =
        entries.map(|entry| (entry.overview.user, *entry.watch.lock())).collect();
    let Some(mut tokens) = board.hang(&places(tenant, watches.keys().copied(), Shares::default())).await else {
        return Ok(None);
    };
    let known = |(user, watch): (UserId, Option<Watch>)| {
        let watch = watch.filter(|watch| tokens.at(Place::User(user)) == Some(watch.listening));
        Some((user, watch?.shares))
    };
    let mut shares: HashMap<UserId, Shares> =
        watches.iter().filter_map(|(user, watch)| known((*user, *watch))).collect();
    let unknown: Vec<UserId> = watches.into_keys().filter(|user| !shares.contains_key(user)).collect();
    shares.extend(listened(app, tenant, &unknown).await?);
    let all = shares.values().fold(Shares::default(), |all, of| all.with(*of));
    let Some(channels) = board.hang(&places(tenant, std::iter::empty(), all)).await else { return Ok(None) };
    tokens.add(channels);
    Ok(Some(Hung { tokens, shares, began, began_at: now }))
}

/// Of which channels users have to hear.
async fn listened(app: &App, tenant: &Tenant, users: &[UserId]) -> Result<HashMap<UserId, Shares>> {
    let mut all: HashMap<UserId, Shares> = HashMap::with_capacity(users.len());
    if users.is_empty() {
        return Ok(all);
    }
    let rows: Vec<Listener> = listeners(&app.db.read, users, CHANNELS).rows(&app.db.read).await?;
    for Listener { user_id, channel_id, subscription_count } in rows {
        let of = all.entry(user_id).or_default();
        of.add(share(tenant.everyone));
        match channel_id {
            Some(channel) => of.add(share(channel)),
            None if subscription_count > CHANNELS => *of = Shares::ALL,
            None => {}
        }
    }
    Ok(all)
}

impl Hung {
    /// Notes that the database has said since that an overview holds, and when something of the tenant expires next.
    pub fn keep(&self, tenant: &Tenant, entry: &Entry, expires_at: Millis) {
        let user = entry.overview.user;
        let Some((shares, listening)) = self.shares.get(&user).copied().zip(self.tokens.at(Place::User(user))) else {
            return;
        };
        let Some(hung) = entry.hangs(tenant, &self.tokens, shares) else { return };
        *entry.watch.lock() = Some(Watch { shares, listening, hung, asked: (self.began, self.began_at), expires_at });
    }
}
