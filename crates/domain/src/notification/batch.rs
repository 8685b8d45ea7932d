//! Writes several sends (jobs) in one transaction, each completely or not at all.

use std::collections::{BTreeMap, HashMap};

use entity::ids::{Seq, UserId};
use sea_orm::ConnectionTrait;

use super::draft::NotificationDraft;
use super::idempotency::EarlierSend;
use super::publish::{self, NewPublication};
use super::routing::NotificationRouting;
use super::write::{self, AllocationRequest, LogAllocation};
use super::{Notification, find_by_keys, imported_state, schedule};
use crate::tenant::Tenant;
use crate::user;
use base::clock::Millis;
use base::error::Result;
use store::Store;
use store::Transaction;

/// The outcome of a draft.
#[derive(Debug)]
pub(super) enum DraftOutcome {
    New(Box<Notification>),
    /// The number of the notification sent before under the same key.
    Replayed(i64),
}

/// The catalogue has changed since the drafts were prepared. The caller prepares them again.
#[derive(Clone, Copy, Debug)]
pub struct OutdatedCatalogue;

/// The outcome of a transaction.
pub(super) enum BatchOutcome {
    /// The outcomes of the jobs, in order.
    All(Vec<Result<Vec<DraftOutcome>>>),
    /// Nothing was written: the drafts were prepared with another version of the catalogue than this one.
    Nothing { catalogue_version: i64 },
}

/// Writes the drafts of jobs: all of each job, or none.
///
/// Reads as much as it can beforehand and takes the seqs as late as it can: the tenant's row is locked from then on.
pub(super) async fn write_batch(
    txn: &Transaction,
    store: &Store,
    tenant: &Tenant,
    jobs: &[&[NotificationDraft]],
) -> Result<BatchOutcome> {
    let SortedDrafts { fates, new } = sort_drafts(txn, tenant, jobs, store.now()).await?;
    let mut written = Vec::new();
    if !new.is_empty() {
        let due: Vec<&NotificationDraft> = new.iter().copied().filter(|draft| draft.publish_at.is_none()).collect();
        let envelopes: Vec<&NotificationRouting> = due.iter().map(|draft| &draft.envelope).collect();
        let channels = publish::load_channels(txn, tenant, &envelopes).await?;
        let versions = new.iter().map(|draft| draft.envelope.catalogue_version);
        let catalogue_version = versions.clone().max().unwrap_or_default();
        let is_uniform = versions.clone().all(|of| of == catalogue_version);
        // Only if all agree: this transaction commits in any case, and seqs that it took would be gaps in the log.
        let now = store.now();
        let take = AllocationRequest {
            seqs: due.len(),
            ids: new.len(),
            catalogue_version,
            at: due.iter().map(|draft| draft.begins_at(now)).max().unwrap_or(now),
            holds_past: due.iter().any(|draft| draft.past.is_some()),
        };
        let head = if is_uniform { write::allocate_entries(txn, tenant, take, now).await? } else { None };
        let Some(head) = head else {
            let (_, catalogue_version) = crate::tenant::load_head(txn, tenant).await?;
            return Ok(BatchOutcome::Nothing { catalogue_version });
        };
        let renamed = replace_erased_users(txn, store, tenant, &new, &head).await?;
        let new: Vec<&NotificationDraft> = if renamed.is_empty() { new } else { renamed.iter().collect() };
        written = write::insert_notifications(txn, tenant, &new, &head).await?;
        let mut published = Vec::with_capacity(due.len());
        for (draft, of) in new.iter().zip(&written) {
            if let Some(seq) = of.seq {
                published.push(NewPublication { envelope: &draft.envelope, seq, expires_at: of.expires_at });
            }
        }
        let delivered = publish::publish_all(txn, tenant, &published, &channels, head.now).await?;
        for of in &mut written {
            let count = of.seq.and_then(|seq| delivered.get(&seq));
            of.delivered_count = count.copied().unwrap_or(of.delivered_count);
        }
        imported_state::store_imported_state(txn, tenant, &new, &written).await?;
        schedule::store_schedule(txn, tenant, &new, &written).await?;
    }
    let outcome = |fate| match fate {
        DraftFate::New(place) => DraftOutcome::New(Box::new(written[place].clone())),
        DraftFate::SameAs(place) => DraftOutcome::Replayed(written[place].id),
        DraftFate::Existing(id) => DraftOutcome::Replayed(id),
    };
    let outcomes = fates.into_iter().map(|fates| Ok(fates?.into_iter().map(outcome).collect()));
    Ok(BatchOutcome::All(outcomes.collect()))
}

/// The drafts, with erased users replaced by the users that have their ids now; empty if no named user was erased. No
/// user can be erased before the commit, because an erasure writes to the tenant's row, which is locked.
async fn replace_erased_users(
    txn: &Transaction,
    store: &Store,
    tenant: &Tenant,
    drafts: &[&NotificationDraft],
    head: &LogAllocation,
) -> Result<Vec<NotificationDraft>> {
    tenant.observe_erased_count(head.erased_count);
    let doubtful = drafts.iter().filter(|draft| draft.envelope.erased_count != head.erased_count);
    let named: BTreeMap<UserId, &String> =
        doubtful.flat_map(|draft| &draft.names).map(|(user, name)| (*user, name)).collect();
    let gone = user::find_missing(txn, tenant, &named.keys().copied().collect()).await?;
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let free: Vec<String> = gone.iter().map(|user| named[user].clone()).collect();
    let window = user::InboxStart { from: store.now() - store.config.retention_millis(), before: Seq(head.first_seq) };
    let users = user::find_or_create_within(txn, tenant, &free, window, store.now()).await?;
    let heirs: HashMap<UserId, UserId> = gone.into_iter().zip(users).collect();
    Ok(drafts.iter().map(|draft| draft.with_users_replaced(&heirs)).collect())
}

/// What happens to a draft. Indices are positions among the new drafts.
enum DraftFate {
    New(usize),
    /// Another new draft of the transaction has the same key.
    SameAs(usize),
    /// The notification with this number was sent before under the same key.
    Existing(i64),
}

struct SortedDrafts<'a> {
    /// By job and draft; an error refuses the whole job.
    fates: Vec<Result<Vec<DraftFate>>>,
    new: Vec<&'a NotificationDraft>,
}

/// Separates new drafts from those that were sent before.
async fn sort_drafts<'a>(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    jobs: &[&'a [NotificationDraft]],
    now: Millis,
) -> Result<SortedDrafts<'a>> {
    let keys = jobs.iter().copied().flatten().filter_map(|draft| draft.idempotency_key.as_ref());
    let keys: Vec<&str> = keys.map(|key| key.kept.as_str()).collect();
    let found = find_by_keys(db, tenant, &keys).await?;
    let existing = (found.into_iter().collect(), now);
    let mut sorted = SortedDrafts { fates: Vec::with_capacity(jobs.len()), new: Vec::new() };
    let mut used: HashMap<&str, usize> = HashMap::new();
    for job in jobs {
        let (before, mut fates) = (sorted.new.len(), Ok(Vec::with_capacity(job.len())));
        for draft in *job {
            let fate = sort_draft(draft, &existing, &mut used, &mut sorted.new);
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

fn sort_draft<'a>(
    draft: &'a NotificationDraft,
    (existing, now): &(HashMap<String, EarlierSend>, Millis),
    used: &mut HashMap<&'a str, usize>,
    new: &mut Vec<&'a NotificationDraft>,
) -> Result<DraftFate> {
    if let Some(key) = &draft.idempotency_key {
        if let Some(kept) = existing.get(&key.kept) {
            return if draft.said.is_same_as(*kept, *now) {
                Ok(DraftFate::Existing(kept.id))
            } else {
                Err(key.conflict_error())
            };
        }
        if let Some(place) = used.get(key.kept.as_str()) {
            let is_same = new[*place].said.fingerprint == draft.said.fingerprint;
            return if is_same { Ok(DraftFate::SameAs(*place)) } else { Err(key.conflict_error()) };
        }
        used.insert(&key.kept, new.len());
    }
    new.push(draft);
    Ok(DraftFate::New(new.len() - 1))
}
