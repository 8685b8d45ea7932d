//! Sessions that come, or come back: where each inbox stands, and what each of them missed.
//!
//! When a node ends, all its sessions come back elsewhere within seconds. What they ask of the database they ask together: one
//! statement serves as many of them as wait for it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use futures_util::FutureExt;

use super::newer::{Span, newer};
use crate::app::App;
use crate::database::{Bounds, Party, Together};
use crate::domain::inbox::Item;
use crate::domain::inbox::standing;
use crate::domain::tenant::{Needs, Tenant, head};
use crate::domain::user;
use crate::error::{Error, Result};

/// Inboxes whose places are asked for in one statement.
const PLACES: usize = 256;

/// Sessions for which what they missed is read in one statement.
const READERS: usize = 64;

/// How many entries of the log a session may have missed so that it reads them together with others.
pub(super) const NEAR: i64 = 256;

/// Where a session begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The user's inbox is complete up to here.
    pub end: Seq,
    /// What was published before this may be gone.
    pub oldest: Seq,
}

/// What a session missed: what came after a place in the log, and up to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missed {
    pub user: UserId,
    pub after: Seq,
    pub upto: Seq,
}

/// Sessions of a tenant that wait to hear where they begin.
type Places = Together<Needs, UserId, Place>;

/// Sessions of a tenant that wait to hear what they missed.
type Missing = Together<Needs, Missed, Vec<Item>>;

/// Where a session of a user begins: at the end of the log, up to which the inbox is synced where it is behind.
pub(super) async fn place(app: &Arc<App>, tenant: &Arc<Tenant>, user: UserId) -> Result<Place> {
    let waiting = tenant.queues.of(|| {
        let bounds = Bounds::reading(app.config.database.connections, PLACES);
        Places::new(Party::tenant(tenant.id), |(app, tenant), jobs| places(app, tenant, jobs).boxed(), bounds)
    });
    waiting.ask(|| (app.clone(), tenant.clone()), vec![user]).await
}

/// The items that a session missed, oldest first; of a part of the log of at most [`NEAR`] entries.
pub(super) async fn missed(app: &Arc<App>, tenant: &Arc<Tenant>, of: Missed) -> Result<Vec<Item>> {
    let waiting = tenant.queues.of(|| {
        let bounds = Bounds::reading(app.config.database.connections, READERS);
        Missing::new(Party::tenant(tenant.id), |(app, tenant), jobs| all_missed(app, tenant, jobs).boxed(), bounds)
    });
    waiting.ask(|| (app.clone(), tenant.clone()), vec![of]).await
}

/// Two statements, whose users are in the order of their ids; where inboxes are behind, their sync too.
async fn places(app: &App, tenant: &Tenant, jobs: &mut [Vec<UserId>]) -> Result<Vec<Result<Place>>> {
    let mut users: Vec<UserId> = jobs.iter().flatten().copied().collect();
    users.sort_unstable();
    users.dedup();
    let known = users.len();
    let oldest = user::before(&app.db.read, tenant, app.now() - app.config.retention_millis()).await?;
    let mut ends: HashMap<UserId, Seq> = HashMap::with_capacity(users.len());
    let mut behind = Vec::new();
    for standing in standing::of(&app.db.read, tenant, users).await? {
        if ends.insert(standing.user, standing.complete_upto()).is_none() && standing.is_behind() {
            behind.push(standing.user);
        }
    }
    if !behind.is_empty() {
        let end = standing::caught_up(app, tenant, &behind).await?;
        ends.extend(behind.into_iter().map(|user| (user, end)));
    }
    if ends.len() < known {
        // One of them was erased: whoever asks again finds who has the id now.
        head(&app.db.read, tenant).await?;
    }
    let place = |job: &Vec<UserId>| {
        let end = job.iter().find_map(|user| ends.get(user)).ok_or(Error::Erased)?;
        Ok(Place { end: *end, oldest: Seq(oldest) })
    };
    Ok(jobs.iter().map(place).collect())
}

/// Two statements for all whose parts of the log lie side by side.
async fn all_missed(app: &App, tenant: &Tenant, jobs: &mut [Vec<Missed>]) -> Result<Vec<Result<Vec<Item>>>> {
    let mut all: Vec<Missed> = jobs.iter().flatten().copied().collect();
    all.sort_unstable_by_key(|of| of.after);
    let mut by_user: HashMap<UserId, BTreeMap<Seq, Item>> = HashMap::with_capacity(all.len());
    let mut rest = all.as_slice();
    while let Some(first) = rest.first() {
        let (together, further) = rest.split_at(rest.partition_point(|of| of.after.0 - first.after.0 <= NEAR));
        rest = further;
        let mut users: Vec<UserId> = together.iter().map(|of| of.user).collect();
        users.sort_unstable();
        users.dedup();
        let after = first.after;
        let upto = together.iter().map(|of| of.upto).max().unwrap_or_default();
        for item in newer(app, tenant, &users, Span { after, upto, types: None, limit: None }).await?.items {
            by_user.entry(item.user).or_default().insert(item.seq, item);
        }
    }
    let own = |of: &Missed| {
        let is_own = |item: &&Item| of.after < item.seq && item.seq <= of.upto;
        by_user.get(&of.user).into_iter().flat_map(BTreeMap::values).filter(is_own).cloned().collect::<Vec<_>>()
    };
    Ok(jobs.iter().map(|job| Ok(job.iter().flat_map(own).collect())).collect())
}
