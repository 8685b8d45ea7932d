//! Group commit: the sends that wait while a transaction runs go into the next one together.
//!
//! The tenant's row is locked from the assignment of a seq until the commit, so that seqs are in commit order. Without
//! batches, each send would hold the lock for a whole commit, and a tenant could send no faster than the disk can sync.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::FutureExt;

use super::Notification;
use super::batch::{self, BatchOutcome, DraftOutcome, OutdatedCatalogue};
use super::draft::NotificationDraft;
use crate::tenant::{Tenant, TenantContext};
use base::error::{Error, Result};
use base::telemetry::metrics::PublicationLabels;
use store::Store;
use store::{BatchLimits, Batcher, Principal, transaction};

/// Drafts per transaction, unless a single send has more.
const DRAFTS_PER_TRANSACTION: usize = 1000;

/// How often a transaction is retried because an idempotency key was used or the catalogue changed meanwhile.
const TRIES: usize = 5;

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
    for _ in 0..TRIES {
        let is_sendable = |(place, _): &(usize, &Vec<NotificationDraft>)| !outdated.contains(place);
        let sendable: Vec<&[NotificationDraft]> =
            jobs.iter().enumerate().filter(is_sendable).map(|(_, job)| job.as_slice()).collect();
        match transaction!(store.db, |txn| batch::write_batch(txn, store, tenant, &sendable).await) {
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
