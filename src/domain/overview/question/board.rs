//! Revalidates cached data by the invalidation tokens in Redis. Concurrent requests share a round trip.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use entity::ids::UserId;
use futures_util::FutureExt;

use super::known::{Held, PROOFS};
use super::statement::{Listener, listeners};
use crate::app::App;
use crate::board::{Board, Place, Tokens, share};
use crate::clock::Millis;
use crate::database::{Bounds, Party, Together};
use crate::domain::tenant::{Needs, Tenant};
use crate::error::Result;
use crate::model::proof::{Proof, Shares, Watch, hung};

/// A user with more channels than this watches all 256 channel tokens of the tenant.
const CHANNELS: i64 = 1000;

/// Concurrent round trips to Redis per tenant: while one is under way, the next batch gathers.
const ROUNDS: usize = 2;

/// How long a request waits for its round trip.
const PATIENCE: Duration = Duration::from_secs(2);

/// The batcher for Redis checks of a tenant's users.
type Looks = Together<Needs, Arc<Proof>, ByBoard>;

/// A type of its own, so that this queue differs from the queue for the database.
struct ByBoard(Held);

/// For each validator, the log position its data is valid for, by Redis alone. All `None` without Redis.
pub(super) async fn held(app: &Arc<App>, tenant: &Arc<Tenant>, proofs: &[Arc<Proof>]) -> Held {
    let mut held = vec![None; proofs.len()];
    let Some(board) = &app.board else { return held };
    let now = app.now();
    let watched: Vec<usize> = (0..proofs.len()).filter(|place| watch_of(&proofs[*place], now).is_some()).collect();
    if !watched.is_empty() && board.is_trusted() {
        let bounds = Bounds { rounds: ROUNDS, things: PROOFS, patience: PATIENCE, splits_after: None };
        let looks = tenant
            .queues
            .of(|| Looks::new(Party::tenant(tenant.id), |(app, tenant), jobs| look(app, tenant, jobs).boxed(), bounds));
        let asked = watched.iter().map(|place| proofs[*place].clone()).collect();
        // If the check fails, the database decides.
        if let Ok(ByBoard(cursors)) = looks.ask(|| (app.clone(), tenant.clone()), asked).await {
            for (place, cursor) in watched.into_iter().zip(cursors) {
                held[place] = cursor;
            }
        }
    }
    let hits = held.iter().flatten().count();
    app.metrics.board_hits.inc_by(hits as u64);
    app.metrics.board_misses.inc_by((held.len() - hits) as u64);
    held
}

async fn look(app: &App, tenant: &Tenant, jobs: &mut [Vec<Arc<Proof>>]) -> Result<Vec<Result<ByBoard>>> {
    let proofs: Vec<Arc<Proof>> = jobs.iter().flatten().cloned().collect();
    let hanging = match &app.board {
        Some(board) => hanging(board, tenant, &proofs, app.now()).await,
        None => vec![None; proofs.len()],
    };
    let held = |(proof, hung): (&Arc<Proof>, Option<u64>)| hung.map(|_| proof.complete_upto());
    let mut held = proofs.iter().zip(hanging).map(held);
    Ok(jobs.iter().map(|job| Ok(ByBoard(held.by_ref().take(job.len()).collect()))).collect())
}

/// For each validator, the hash of its tokens if it is still valid.
pub(super) async fn hanging(board: &Board, tenant: &Tenant, proofs: &[Arc<Proof>], now: Millis) -> Vec<Option<u64>> {
    let watches: Vec<Option<Watch>> = proofs.iter().map(|proof| watch_of(proof, now)).collect();
    let good = || proofs.iter().zip(&watches).filter_map(|(proof, watch)| Some((proof, watch.as_ref()?)));
    let shares = good().fold(Shares::default(), |all, (_, watch)| all.with(watch.shares));
    let places = places(tenant, good().map(|(proof, _)| proof.user), shares);
    let Some(tokens) = board.tokens(&places).await else { return vec![None; proofs.len()] };
    let hung = |(proof, watch): (&Arc<Proof>, &Option<Watch>)| {
        let watch = watch.as_ref()?;
        hangs(proof.user, tenant, &tokens, watch.shares).filter(|hung| *hung == watch.hung)
    };
    proofs.iter().zip(&watches).map(hung).collect()
}

fn watch_of(proof: &Proof, now: Millis) -> Option<Watch> {
    proof.watch.lock().filter(|watch| watch.is_good(now))
}

/// The invalidation keys, without duplicates. The tenant's key comes first.
fn places(tenant: &Tenant, users: impl Iterator<Item = UserId>, shares: Shares) -> Vec<Place> {
    let users: BTreeSet<UserId> = users.collect();
    let channels = shares.iter().map(|share| Place::Channels(tenant.id, share));
    std::iter::once(Place::Tenant(tenant.id)).chain(users.into_iter().map(Place::User)).chain(channels).collect()
}

/// The hash of all tokens that a user's inbox depends on. `None` if one is missing.
fn hangs(user: UserId, tenant: &Tenant, tokens: &Tokens, shares: Shares) -> Option<u64> {
    hung(places(tenant, std::iter::once(user), shares).into_iter().map(|place| tokens.at(place)))
}

/// The tokens as they were before the database was read.
pub(super) struct Hung {
    tokens: Tokens,
    shares: HashMap<UserId, Shares>,
    began: Instant,
    began_at: Millis,
}

/// Registers tokens for everything that the inboxes depend on. `None` without Redis, or if Redis is not trusted.
///
/// Registers the user's token before it reads their subscriptions: a later change of these invalidates that token.
pub(super) async fn hang(
    app: &App,
    tenant: &Tenant,
    proofs: impl Iterator<Item = &Arc<Proof>>,
    now: Millis,
) -> Result<Option<Hung>> {
    let Some(board) = app.board.as_ref().filter(|board| board.is_trusted()) else { return Ok(None) };
    let began = Instant::now();
    let watches: BTreeMap<UserId, Option<Watch>> = proofs.map(|proof| (proof.user, *proof.watch.lock())).collect();
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

/// The channel tokens that each user depends on.
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
    /// Records that the database has confirmed the data since, and when the tenant's next notification expires.
    pub fn keep(&self, tenant: &Tenant, proof: &Proof, expires_at: Millis) {
        let user = proof.user;
        let Some((shares, listening)) = self.shares.get(&user).copied().zip(self.tokens.at(Place::User(user))) else {
            return;
        };
        let Some(hung) = hangs(user, tenant, &self.tokens, shares) else { return };
        *proof.watch.lock() = Some(Watch { shares, listening, hung, asked: (self.began, self.began_at), expires_at });
    }
}
