//! Revalidates cached data by the invalidation tokens in Redis. Concurrent requests share a round trip.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use entity::ids::UserId;
use futures_util::FutureExt;

use super::database::{PROOFS, ValidityList};
use super::queries::{SubscribedChannelRow, select_subscriptions};
use crate::tenant::{Tenant, TenantContext};
use base::clock::Millis;
use base::error::Result;
use cluster::invalidation::{InvalidationKey, InvalidationStore, TokenSnapshot, channel_share};
use model::cache_validator::{CacheValidator, ChannelShards, InvalidationWatch, hash_tokens};
use store::{BatchLimits, Batcher, Principal, Store};

/// A user with more channels than this watches all 256 channel tokens of the tenant.
const CHANNELS: i64 = 1000;

/// Concurrent round trips to Redis per tenant: while one is under way, the next batch gathers.
const ROUNDS: usize = 2;

/// How long a request waits for its round trip.
const PATIENCE: Duration = Duration::from_secs(2);

/// The batcher for Redis checks of a tenant's users.
type RedisCheckBatcher = Batcher<TenantContext, Arc<CacheValidator>, RedisValidity>;

/// A type of its own, so that this queue differs from the queue for the database.
struct RedisValidity(ValidityList);

/// For each validator, the log position its data is valid for, by Redis alone. All `None` without Redis.
pub(super) async fn check_redis(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    proofs: &[Arc<CacheValidator>],
) -> ValidityList {
    let mut held = vec![None; proofs.len()];
    let Some(invalidation) = &store.invalidation else { return held };
    let now = store.now();
    let watched: Vec<usize> = (0..proofs.len()).filter(|place| usable_watch(&proofs[*place], now).is_some()).collect();
    if !watched.is_empty() && invalidation.is_trusted() {
        let bounds = BatchLimits { rounds: ROUNDS, things: PROOFS, patience: PATIENCE, splits_after: None };
        let looks = tenant.queues.get_or_create(|| {
            RedisCheckBatcher::new(
                Principal::for_tenant(tenant.id),
                |(store, tenant), jobs| check_batch(store, tenant, jobs).boxed(),
                bounds,
            )
        });
        let asked = watched.iter().map(|place| proofs[*place].clone()).collect();
        // If the check fails, the database decides.
        if let Ok(RedisValidity(cursors)) = looks.submit(|| (store.clone(), tenant.clone()), asked).await {
            for (place, cursor) in watched.into_iter().zip(cursors) {
                held[place] = cursor;
            }
        }
    }
    let hits = held.iter().flatten().count();
    store.metrics.board_hits.inc_by(hits as u64);
    store.metrics.board_misses.inc_by((held.len() - hits) as u64);
    held
}

async fn check_batch(
    store: &Store,
    tenant: &Tenant,
    jobs: &mut [Vec<Arc<CacheValidator>>],
) -> Result<Vec<Result<RedisValidity>>> {
    let proofs: Vec<Arc<CacheValidator>> = jobs.iter().flatten().cloned().collect();
    let hanging = match &store.invalidation {
        Some(invalidation) => load_valid_hashes(invalidation, tenant, &proofs, store.now()).await,
        None => vec![None; proofs.len()],
    };
    let held = |(proof, hung): (&Arc<CacheValidator>, Option<u64>)| hung.map(|_| proof.complete_upto());
    let mut held = proofs.iter().zip(hanging).map(held);
    Ok(jobs.iter().map(|job| Ok(RedisValidity(held.by_ref().take(job.len()).collect()))).collect())
}

/// For each validator, the hash of its tokens if it is still valid.
pub(super) async fn load_valid_hashes(
    invalidation: &InvalidationStore,
    tenant: &Tenant,
    proofs: &[Arc<CacheValidator>],
    now: Millis,
) -> Vec<Option<u64>> {
    let watches: Vec<Option<InvalidationWatch>> = proofs.iter().map(|proof| usable_watch(proof, now)).collect();
    let good = || proofs.iter().zip(&watches).filter_map(|(proof, watch)| Some((proof, watch.as_ref()?)));
    let shares = good().fold(ChannelShards::default(), |all, (_, watch)| all.union(watch.shares));
    let places = invalidation_keys(tenant, good().map(|(proof, _)| proof.user), shares);
    let Some(tokens) = invalidation.get_tokens(&places).await else { return vec![None; proofs.len()] };
    let hung = |(proof, watch): (&Arc<CacheValidator>, &Option<InvalidationWatch>)| {
        let watch = watch.as_ref()?;
        token_hash(proof.user, tenant, &tokens, watch.shares).filter(|hung| *hung == watch.hung)
    };
    proofs.iter().zip(&watches).map(hung).collect()
}

fn usable_watch(proof: &CacheValidator, now: Millis) -> Option<InvalidationWatch> {
    proof.watch.lock().filter(|watch| watch.is_fresh(now))
}

/// The invalidation keys, without duplicates. The tenant's key comes first.
fn invalidation_keys(
    tenant: &Tenant,
    users: impl Iterator<Item = UserId>,
    shares: ChannelShards,
) -> Vec<InvalidationKey> {
    let users: BTreeSet<UserId> = users.collect();
    let channels = shares.iter().map(|share| InvalidationKey::Channels(tenant.id, share));
    std::iter::once(InvalidationKey::Tenant(tenant.id))
        .chain(users.into_iter().map(InvalidationKey::User))
        .chain(channels)
        .collect()
}

/// The hash of all tokens that a user's inbox depends on. `None` if one is missing.
fn token_hash(user: UserId, tenant: &Tenant, tokens: &TokenSnapshot, shares: ChannelShards) -> Option<u64> {
    hash_tokens(invalidation_keys(tenant, std::iter::once(user), shares).into_iter().map(|place| tokens.get(place)))
}

/// The tokens as they were before the database was read.
pub(super) struct RegisteredTokens {
    tokens: TokenSnapshot,
    shares: HashMap<UserId, ChannelShards>,
    began: Instant,
    began_at: Millis,
}

/// Registers tokens for everything that the inboxes depend on. `None` without Redis, or if Redis is not trusted.
///
/// Registers the user's token before it reads their subscriptions: a later change of these invalidates that token.
pub(super) async fn register_tokens(
    store: &Store,
    tenant: &Tenant,
    proofs: impl Iterator<Item = &Arc<CacheValidator>>,
    now: Millis,
) -> Result<Option<RegisteredTokens>> {
    let Some(invalidation) = store.invalidation.as_ref().filter(|invalidation| invalidation.is_trusted()) else {
        return Ok(None);
    };
    let began = Instant::now();
    let watches: BTreeMap<UserId, Option<InvalidationWatch>> =
        proofs.map(|proof| (proof.user, *proof.watch.lock())).collect();
    let Some(mut tokens) = invalidation
        .register_tokens(&invalidation_keys(tenant, watches.keys().copied(), ChannelShards::default()))
        .await
    else {
        return Ok(None);
    };
    let known = |(user, watch): (UserId, Option<InvalidationWatch>)| {
        let watch = watch.filter(|watch| tokens.get(InvalidationKey::User(user)) == Some(watch.listening));
        Some((user, watch?.shares))
    };
    let mut shares: HashMap<UserId, ChannelShards> =
        watches.iter().filter_map(|(user, watch)| known((*user, *watch))).collect();
    let unknown: Vec<UserId> = watches.into_keys().filter(|user| !shares.contains_key(user)).collect();
    shares.extend(load_channel_shares(store, tenant, &unknown).await?);
    let all = shares.values().fold(ChannelShards::default(), |all, of| all.union(*of));
    let Some(channels) = invalidation.register_tokens(&invalidation_keys(tenant, std::iter::empty(), all)).await else {
        return Ok(None);
    };
    tokens.add(channels);
    Ok(Some(RegisteredTokens { tokens, shares, began, began_at: now }))
}

/// The channel tokens that each user depends on.
async fn load_channel_shares(
    store: &Store,
    tenant: &Tenant,
    users: &[UserId],
) -> Result<HashMap<UserId, ChannelShards>> {
    let mut all: HashMap<UserId, ChannelShards> = HashMap::with_capacity(users.len());
    if users.is_empty() {
        return Ok(all);
    }
    let rows: Vec<SubscribedChannelRow> =
        select_subscriptions(&store.db.read, users, CHANNELS).fetch_by_name(&store.db.read).await?;
    for SubscribedChannelRow { user_id, channel_id, subscription_count } in rows {
        let of = all.entry(user_id).or_default();
        of.add(channel_share(tenant.everyone));
        match channel_id {
            Some(channel) => of.add(channel_share(channel)),
            None if subscription_count > CHANNELS => *of = ChannelShards::ALL,
            None => {}
        }
    }
    Ok(all)
}

impl RegisteredTokens {
    /// Records that the database has confirmed the data since, and when the tenant's next notification expires.
    pub fn record_validity(&self, tenant: &Tenant, proof: &CacheValidator, expires_at: Millis) {
        let user = proof.user;
        let Some((shares, listening)) =
            self.shares.get(&user).copied().zip(self.tokens.get(InvalidationKey::User(user)))
        else {
            return;
        };
        let Some(hung) = token_hash(user, tenant, &self.tokens, shares) else { return };
        *proof.watch.lock() =
            Some(InvalidationWatch { shares, listening, hung, asked: (self.began, self.began_at), expires_at });
    }
}
