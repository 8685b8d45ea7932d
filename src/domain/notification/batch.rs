//! Writes several sends (jobs) in one transaction, each completely or not at all.

use std::collections::{BTreeMap, HashMap};

use entity::ids::{Seq, UserId};
use sea_orm::ConnectionTrait;

use super::draft::Draft;
use super::envelope::Envelope;
use super::key::Kept;
use super::publish::{self, Publication};
use super::write::{self, Head, Take};
use super::{Notification, by_keys, schedule, state};
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::tenant::Tenant;
use crate::domain::user;
use crate::error::Result;

/// The outcome of a draft.
#[derive(Debug)]
pub(super) enum Outcome {
    New(Box<Notification>),
    /// The number of the notification sent before under the same key.
    Replayed(i64),
}

/// The catalogue has changed since the drafts were prepared. The caller prepares them again.
#[derive(Clone, Copy, Debug)]
pub struct Outdated;

/// The outcome of a transaction.
pub(super) enum Written {
    /// The outcomes of the jobs, in order.
    All(Vec<Result<Vec<Outcome>>>),
    /// Nothing was written: the drafts were prepared with another version of the catalogue than this one.
    Nothing { catalogue_version: i64 },
}

/// Writes the drafts of jobs: all of each job, or none.
///
/// Reads as much as it can beforehand and takes the seqs as late as it can: the tenant's row is locked from then on.
pub(super) async fn write_jobs(txn: &Transaction, app: &App, tenant: &Tenant, jobs: &[&[Draft]]) -> Result<Written> {
    let Sorted { fates, new } = sort(txn, tenant, jobs, app.now()).await?;
    let mut written = Vec::new();
    if !new.is_empty() {
        let due: Vec<&Draft> = new.iter().copied().filter(|draft| draft.publish_at.is_none()).collect();
        let envelopes: Vec<&Envelope> = due.iter().map(|draft| &draft.envelope).collect();
        let channels = publish::listened(txn, tenant, &envelopes).await?;
        let versions = new.iter().map(|draft| draft.envelope.catalogue_version);
        let catalogue_version = versions.clone().max().unwrap_or_default();
        let is_uniform = versions.clone().all(|of| of == catalogue_version);
        // Only if all agree: this transaction commits in any case, and seqs that it took would be gaps in the log.
        let now = app.now();
        let take = Take {
            seqs: due.len(),
            ids: new.len(),
            catalogue_version,
            at: due.iter().map(|draft| draft.begins_at(now)).max().unwrap_or(now),
            holds_past: due.iter().any(|draft| draft.past.is_some()),
        };
        let head = if is_uniform { write::take(txn, tenant, take, now).await? } else { None };
        let Some(head) = head else {
            let (_, catalogue_version) = crate::domain::tenant::head(txn, tenant).await?;
            return Ok(Written::Nothing { catalogue_version });
        };
        let renamed = renamed(txn, app, tenant, &new, &head).await?;
        let new: Vec<&Draft> = if renamed.is_empty() { new } else { renamed.iter().collect() };
        written = write::notifications(txn, tenant, &new, &head).await?;
        let mut published = Vec::with_capacity(due.len());
        for (draft, of) in new.iter().zip(&written) {
            if let Some(seq) = of.seq {
                published.push(Publication { envelope: &draft.envelope, seq, expires_at: of.expires_at });
            }
        }
        let delivered = publish::publish(txn, tenant, &published, &channels, head.now).await?;
        for of in &mut written {
            let count = of.seq.and_then(|seq| delivered.get(&seq));
            of.delivered_count = count.copied().unwrap_or(of.delivered_count);
        }
        state::keep(txn, tenant, &new, &written).await?;
        schedule::keep(txn, tenant, &new, &written).await?;
    }
    let outcome = |fate| match fate {
        Fate::New(place) => Outcome::New(Box::new(written[place].clone())),
        Fate::SameAs(place) => Outcome::Replayed(written[place].id),
        Fate::Existing(id) => Outcome::Replayed(id),
    };
    let outcomes = fates.into_iter().map(|fates| Ok(fates?.into_iter().map(outcome).collect()));
    Ok(Written::All(outcomes.collect()))
}

/// The drafts, with erased users replaced by the users that have their ids now; empty if no named user was erased. No
/// user can be erased before the commit, because an erasure writes to the tenant's row, which is locked.
async fn renamed(txn: &Transaction, app: &App, tenant: &Tenant, drafts: &[&Draft], head: &Head) -> Result<Vec<Draft>> {
    tenant.saw_erased(head.erased_count);
    let doubtful = drafts.iter().filter(|draft| draft.envelope.erased_count != head.erased_count);
    let named: BTreeMap<UserId, &String> =
        doubtful.flat_map(|draft| &draft.names).map(|(user, name)| (*user, name)).collect();
    let gone = user::gone(txn, tenant, &named.keys().copied().collect()).await?;
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let free: Vec<String> = gone.iter().map(|user| named[user].clone()).collect();
    let window = user::Window { from: app.now() - app.config.retention_millis(), before: Seq(head.first_seq) };
    let users = user::mention_within(txn, tenant, &free, window, app.now()).await?;
    let heirs: HashMap<UserId, UserId> = gone.into_iter().zip(users).collect();
    Ok(drafts.iter().map(|draft| draft.renamed(&heirs)).collect())
}

/// What happens to a draft. Indices are positions among the new drafts.
enum Fate {
    New(usize),
    /// Another new draft of the transaction has the same key.
    SameAs(usize),
    /// The notification with this number was sent before under the same key.
    Existing(i64),
}

struct Sorted<'a> {
    /// By job and draft; an error refuses the whole job.
    fates: Vec<Result<Vec<Fate>>>,
    new: Vec<&'a Draft>,
}

/// Separates new drafts from those that were sent before.
async fn sort<'a>(db: &impl ConnectionTrait, tenant: &Tenant, jobs: &[&'a [Draft]], now: Millis) -> Result<Sorted<'a>> {
    let keys = jobs.iter().copied().flatten().filter_map(|draft| draft.idempotency_key.as_ref());
    let keys: Vec<&str> = keys.map(|key| key.kept.as_str()).collect();
    let found = by_keys(db, tenant, &keys).await?;
    let existing = (found.into_iter().collect(), now);
    let mut sorted = Sorted { fates: Vec::with_capacity(jobs.len()), new: Vec::new() };
    let mut used: HashMap<&str, usize> = HashMap::new();
    for job in jobs {
        let (before, mut fates) = (sorted.new.len(), Ok(Vec::with_capacity(job.len())));
        for draft in *job {
            let fate = fate(draft, &existing, &mut used, &mut sorted.new);
            match (fate, &mut fates) {
                (Ok(fate), Ok(fates)) => fates.push(fate),
                (Err(error), Ok(_)) => fates = Err(error),
                (_, Err(_)) => break,
            }
        }
        if fates.is_err() {
            sorted.new.truncate(before);
            used.retain(|_, place| *place < before);
        }
        sorted.fates.push(fates);
    }
    Ok(sorted)
}

fn fate<'a>(
    draft: &'a Draft,
    (existing, now): &(HashMap<String, Kept>, Millis),
    used: &mut HashMap<&'a str, usize>,
    new: &mut Vec<&'a Draft>,
) -> Result<Fate> {
    if let Some(key) = &draft.idempotency_key {
        if let Some(kept) = existing.get(&key.kept) {
            return if draft.said.is(*kept, *now) { Ok(Fate::Existing(kept.id)) } else { Err(key.conflict()) };
        }
        if let Some(place) = used.get(key.kept.as_str()) {
            let is_same = new[*place].said.fingerprint == draft.said.fingerprint;
            return if is_same { Ok(Fate::SameAs(*place)) } else { Err(key.conflict()) };
        }
        used.insert(&key.kept, new.len());
    }
    new.push(draft);
    Ok(Fate::New(new.len() - 1))
}
