//! Sending: one notification and one publication per channel, for an audience of any size.

use std::collections::HashMap;
use std::sync::Arc;

use super::batch::DraftOutcome;
use super::draft::{PreparedDrafts, prepare_drafts};
use super::input::NotificationInput;
use super::{Notification, commit, load_by_ids};
use crate::catalogue;
use crate::tenant::Tenant;
use crate::user::PerformedBy;
use base::error::{Error, Result};
use model::validate;
use store::Store;

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
        if let Ok(outcomes) = commit::commit_drafts(store, tenant, drafts).await? {
            return Ok((outcomes, sent));
        }
        catalogue = catalogue::load_current(store, tenant).await?;
    }
    Err(Error::Unavailable("the catalogue changes too quickly, try again in a moment".into()))
}
