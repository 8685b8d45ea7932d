//! Sending: one notification and one publication per channel, for an audience of any size.
//!
//! [`send`] prepares drafts; [`commit_drafts`] queues them; [`commit_batch`] runs one transaction for all that wait, and
//! [`write_batch`] writes it. The tenant's row is locked from the assignment of a seq until the commit, so that seqs are
//! in commit order. Without batches, each send would hold the lock for a whole commit, and a tenant could send no faster
//! than the disk can sync.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use entity::ids::{Seq, UserId};
use futures_util::FutureExt;
use sea_orm::ConnectionTrait;

use super::draft::{NotificationDraft, NotificationRouting, PreparedDrafts, prepare_drafts};
use super::idempotency::EarlierSend;
use super::input::NotificationInput;
use super::publish::{self, AllocationRequest, LogAllocation, NewPublication};
use super::{Notification, find_by_keys, import, load_by_ids, schedule};
use crate::catalogue;
use crate::tenant::{Tenant, TenantContext};
use crate::user::{self, PerformedBy};
use base::clock::Millis;
use base::error::{Error, Result};
use base::telemetry::metrics::PublicationLabels;
use model::validate;
use store::{BatchLimits, Batcher, Principal, Store, Transaction, transaction};

/// The most notifications of one call.
const INPUTS: usize = 1000;

/// How often a send is retried because the catalogue has changed, which may happen while the send waits for its batch.
const TRIES: usize = 20;

/// The outcome of one input.
#[derive(Clone, Debug)]
pub struct SendResult {
    pub notification: Notification,
    /// The idempotency key was used before, and nothing new was sent.
    pub is_replayed: bool,
}

/// Sends up to 1,000 notifications in one transaction, all or none. `path` returns the input field of each, for errors.
///
/// If the owner of a key (the tenant's backend, or one user) used it before, in this or an earlier call, nothing is
/// sent, and the first notification is returned; with other content it is a `CONFLICT`. When this returns, the
/// notifications are on disk.
pub async fn send(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    by: PerformedBy<'_>,
    inputs: &[NotificationInput],
    path: impl Fn(usize) -> String,
) -> Result<Vec<SendResult>> {
    validate::at_most("inputs", inputs.len(), INPUTS)?;
    if inputs.is_empty() {
        return Ok(Vec::new());
    }
    let (outcomes, sent) = commit_inputs(store, tenant, by, inputs, path).await?;
    let mut outcomes = outcomes.into_iter();
    let outcome = |place| sent.get(&place).map_or_else(|| outcomes.next(), |id| Some(DraftOutcome::Replayed(*id)));
    let outcomes: Vec<DraftOutcome> = (0..inputs.len()).filter_map(outcome).collect();
    let number = |outcome: &DraftOutcome| match outcome {
        DraftOutcome::Replayed(id) => Some(*id),
        DraftOutcome::New(_) => None,
    };
    let earlier: Vec<i64> = outcomes.iter().filter_map(number).collect();
    let mut replayed: HashMap<i64, Notification> = HashMap::new();
    if !earlier.is_empty() {
        replayed.extend(load_by_ids(store, tenant, &earlier).await?.into_iter().map(|of| (of.id, of)));
    }
    let sent = |outcome| match outcome {
        DraftOutcome::New(notification) => Ok(SendResult { notification: *notification, is_replayed: false }),
        DraftOutcome::Replayed(id) => {
            let notification = replayed.get(&id).cloned();
            let notification =
                notification.ok_or_else(|| Error::internal("the notification of an earlier send is missing"))?;
            Ok(SendResult { notification, is_replayed: true })
        }
    };
    outcomes.into_iter().map(sent).collect()
}

/// The outcomes of the drafts, and the notifications sent before by the positions of their inputs.
async fn commit_inputs(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    by: PerformedBy<'_>,
    inputs: &[NotificationInput],
    path: impl Fn(usize) -> String,
) -> Result<(Vec<DraftOutcome>, HashMap<usize, i64>)> {
    let mut catalogue = catalogue::load_cached(store, tenant).await?;
    for _ in 0..TRIES {
        let PreparedDrafts { drafts, sent } = prepare_drafts(store, tenant, by, (inputs, catalogue), &path).await?;
        if drafts.is_empty() {
            return Ok((Vec::new(), sent));
        }
        if let Ok(outcomes) = commit_drafts(store, tenant, drafts).await? {
            return Ok((outcomes, sent));
        }
        catalogue = catalogue::load_current(store, tenant).await?;
    }
    Err(Error::Unavailable("the catalogue changes too quickly, try again in a moment".into()))
}

/// Drafts per transaction, unless a single send has more.
const DRAFTS_PER_TRANSACTION: usize = 1000;

/// How often a transaction is retried because an idempotency key was used or the catalogue changed meanwhile.
const BATCH_TRIES: usize = 5;

/// The outcome of the drafts of one send.
type CommitResult = Result<Vec<DraftOutcome>, OutdatedCatalogue>;

/// The batcher of a tenant's sends.
type SendBatcher = Batcher<TenantContext, NotificationDraft, CommitResult>;

/// Commits drafts, all or none, in a batch with the tenant's other waiting sends.
pub(super) async fn commit_drafts(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    drafts: Vec<NotificationDraft>,
) -> Result<CommitResult> {
    let outbox = tenant.queues.get_or_create(|| {
        let (things, patience) = (DRAFTS_PER_TRANSACTION, store.db.write_timeout());
        let bounds = BatchLimits { rounds: 1, things, patience, splits_after: None };
        SendBatcher::new(
            Principal::for_tenant(tenant.id),
            |(store, tenant), jobs| commit_batch(store, tenant, jobs).boxed(),
            bounds,
        )
    });
    outbox.submit(|| (store.clone(), tenant.clone()), drafts).await
}

/// Counts the committed publications, and records the end of the log.
fn count_committed(store: &Store, tenant: &Tenant, outcomes: &[Result<Vec<DraftOutcome>>]) {
    for outcome in outcomes.iter().flatten().flatten() {
        if let DraftOutcome::New(of) = outcome {
            count_notification(store, tenant, of);
        }
    }
}

pub(super) fn count_notification(store: &Store, tenant: &Tenant, of: &Notification) {
    if let Some(seq) = of.seq {
        tenant.observe_log_end(seq);
        store.metrics.published.get_or_create(&PublicationLabels { kind: of.kind.name() }).inc();
    }
}

/// Writes all jobs that can be sent in one transaction. Returns the outcome of each job, in order.
async fn commit_batch(
    store: &Arc<Store>,
    tenant: &Arc<Tenant>,
    jobs: &mut [Vec<NotificationDraft>],
) -> Result<Vec<Result<CommitResult>>> {
    let mut outdated: HashSet<usize> = HashSet::new();
    for _ in 0..BATCH_TRIES {
        let is_sendable = |(place, _): &(usize, &Vec<NotificationDraft>)| !outdated.contains(place);
        let sendable: Vec<&[NotificationDraft]> =
            jobs.iter().enumerate().filter(is_sendable).map(|(_, job)| job.as_slice()).collect();
        match transaction!(store.db, |txn| write_batch(txn, store, tenant, &sendable).await) {
            Ok(BatchOutcome::All(outcomes)) => {
                count_committed(store, tenant, &outcomes);
                let mut outcomes = outcomes.into_iter();
                let lost = || Err(Error::internal("a batch returned no outcome for a send"));
                let of = |place| {
                    if outdated.contains(&place) {
                        Ok(Err(OutdatedCatalogue))
                    } else {
                        outcomes.next().unwrap_or_else(lost).map(Ok)
                    }
                };
                return Ok((0..jobs.len()).map(of).collect());
            }
            Ok(BatchOutcome::Nothing { catalogue_version }) => {
                let is_outdated =
                    |job: &[NotificationDraft]| job.iter().any(|of| of.envelope.catalogue_version != catalogue_version);
                outdated.extend((0..jobs.len()).filter(|place| is_outdated(&jobs[*place])));
            }
            // Another send has used the same idempotency key meanwhile. The next try finds it.
            Err(error) if store::is_duplicate_key(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Unavailable("other sends use the same idempotency keys, try again in a moment".into()))
}

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
        let head = if is_uniform { publish::allocate_entries(txn, tenant, take, now).await? } else { None };
        let Some(head) = head else {
            let (_, catalogue_version) = crate::tenant::load_head(txn, tenant).await?;
            return Ok(BatchOutcome::Nothing { catalogue_version });
        };
        let renamed = replace_erased_users(txn, store, tenant, &new, &head).await?;
        let new: Vec<&NotificationDraft> = if renamed.is_empty() { new } else { renamed.iter().collect() };
        written = publish::insert_notifications(txn, tenant, &new, &head).await?;
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
        import::store_imported_state(txn, tenant, &new, &written).await?;
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
