//! Sends inside the caller's transaction: notifications of rules, and alarms. Also changes the params of a rule's
//! notifications.

use entity::ids::Seq;

use super::amend::{NotificationChange, update_within};
use super::draft::{self, NotificationDraft, PreparedDrafts, check_inputs, prepare_drafts};
use super::input::NotificationInput;
use super::send::{self, BatchOutcome, DraftOutcome, OutdatedCatalogue, write_batch};
use super::{Notification, NotificationContent};
use crate::catalogue::{self, Catalogue};
use crate::tenant::Tenant;
use crate::user::PerformedBy;
use base::error::{Error, Result};
use model::content::ContentChange;
use store::{Store, Transaction};

/// Drafts that can be sent unless the catalogue changes.
#[derive(Debug, Default)]
pub struct PreparedSend(Vec<NotificationDraft>);

/// Refuses inputs that cannot be sent. `path` returns the caller's field of each. Creates no users.
pub async fn check_sendable(
    store: &Store,
    tenant: &Tenant,
    inputs: &[NotificationInput],
    path: impl Fn(usize) -> String,
) -> Result<()> {
    let catalogue = catalogue::load_current(store, tenant).await?;
    let refused = check_inputs(store, PerformedBy::Backend, &catalogue, inputs).into_iter();
    let mut refused: Vec<(usize, Error)> =
        refused.map(|(place, error)| (place, error.with_field_prefix(&path(place)))).collect();
    refused.extend(draft::check_groups(store, tenant, inputs, &refused, &path).await?);
    refused.into_iter().min_by_key(|(place, _)| *place).map_or(Ok(()), |(_, error)| Err(error))
}

/// Resolves all names of up to 1,000 inputs. Creates new users and actions.
pub async fn prepare_send(store: &Store, tenant: &Tenant, inputs: &[NotificationInput]) -> Result<PreparedSend> {
    if inputs.is_empty() {
        return Ok(PreparedSend::default());
    }
    let inputs = (inputs, catalogue::load_current(store, tenant).await?);
    let PreparedDrafts { drafts, .. } =
        prepare_drafts(store, tenant, PerformedBy::Backend, inputs, |place| format!("[{place}]")).await?;
    Ok(PreparedSend(drafts))
}

/// Sends all drafts in the caller's transaction, and returns the notifications in the order of the drafts.
pub async fn send_prepared(
    txn: &Transaction,
    store: &Store,
    tenant: &Tenant,
    raising: &PreparedSend,
) -> Result<Result<Vec<Notification>, OutdatedCatalogue>> {
    if raising.0.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    let BatchOutcome::All(outcomes) = write_batch(txn, store, tenant, &[&raising.0]).await? else {
        return Ok(Err(OutdatedCatalogue));
    };
    let mut raised = Vec::with_capacity(raising.0.len());
    for outcome in outcomes {
        for outcome in outcome? {
            let DraftOutcome::New(of) = outcome else {
                return Err(Error::internal("a prepared send has no idempotency key"));
            };
            raised.push(*of);
        }
    }
    Ok(Ok(raised))
}

/// Replaces the params of a published notification. Returns the seq of the log entry, if there is one. A notification
/// that is retracted, expired or deleted stays as it is.
pub async fn update_params(
    txn: &Transaction,
    store: &Store,
    tenant: &Tenant,
    catalogue: &Catalogue,
    (id, content): (i64, &NotificationContent),
) -> Result<Option<Seq>> {
    let params = ContentChange { params: Some(content.params.clone()), ..ContentChange::default() };
    match update_within(
        txn,
        store,
        tenant,
        catalogue,
        (id, &NotificationChange { content: params, ..NotificationChange::default() }),
    )
    .await
    {
        Err(Error::Conflict(_)) => Ok(None),
        done => done,
    }
}

/// Counts the committed notifications, and records the end of the log.
pub fn record_sent(store: &Store, tenant: &Tenant, raised: &[Notification]) {
    for of in raised {
        send::count_notification(store, tenant, of);
    }
}
