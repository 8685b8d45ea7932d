//! Sends for a rule, and changes notifications of a rule, inside the rule's transactions.

use entity::ids::Seq;

use super::amend::{Patch, update_within};
use super::batch::{Outcome, Outdated, Written, write_jobs};
use super::draft::{Draft, Prepared, prepare, refused};
use super::input::Input;
use super::{Content, Notification, commit, grouped};
use crate::app::App;
use crate::database::Transaction;
use crate::domain::catalogue::{self, Catalogue};
use crate::domain::tenant::Tenant;
use crate::domain::user::By;
use crate::error::{Error, Result};
use crate::model::content::ContentChange;

/// Drafts that can be sent unless the catalogue changes.
#[derive(Debug, Default)]
pub struct Raising(Vec<Draft>);

/// Refuses inputs that cannot be sent. `path` returns the caller's field of each. Creates no users.
pub async fn raisable(app: &App, tenant: &Tenant, inputs: &[Input], path: impl Fn(usize) -> String) -> Result<()> {
    let catalogue = catalogue::current(app, tenant).await?;
    let refused = refused(app, By::Partner, &catalogue, inputs).into_iter();
    let mut refused: Vec<(usize, Error)> = refused.map(|(place, error)| (place, error.within(&path(place)))).collect();
    refused.extend(grouped::refuse(app, tenant, inputs, &refused, &path).await?);
    refused.into_iter().min_by_key(|(place, _)| *place).map_or(Ok(()), |(_, error)| Err(error))
}

/// Resolves all names of up to 1,000 inputs. Creates new users and actions.
pub async fn raising(app: &App, tenant: &Tenant, inputs: &[Input]) -> Result<Raising> {
    if inputs.is_empty() {
        return Ok(Raising::default());
    }
    let inputs = (inputs, catalogue::current(app, tenant).await?);
    let Prepared { drafts, .. } = prepare(app, tenant, By::Partner, inputs, |place| format!("[{place}]")).await?;
    Ok(Raising(drafts))
}

/// Sends all drafts in the caller's transaction, and returns the notifications in the order of the drafts.
pub async fn raise(
    txn: &Transaction,
    app: &App,
    tenant: &Tenant,
    raising: &Raising,
) -> Result<Result<Vec<Notification>, Outdated>> {
    if raising.0.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    let Written::All(outcomes) = write_jobs(txn, app, tenant, &[&raising.0]).await? else { return Ok(Err(Outdated)) };
    let mut raised = Vec::with_capacity(raising.0.len());
    for outcome in outcomes {
        for outcome in outcome? {
            let Outcome::New(of) = outcome else {
                return Err(Error::internal("a notification of a rule has no idempotency key"));
            };
            raised.push(*of);
        }
    }
    Ok(Ok(raised))
}

/// Replaces the params of a published notification. Returns the seq of the log entry, if there is one. A notification
/// that is retracted, expired or deleted stays as it is.
pub async fn reword(
    txn: &Transaction,
    app: &App,
    tenant: &Tenant,
    catalogue: &Catalogue,
    (id, content): (i64, &Content),
) -> Result<Option<Seq>> {
    let params = ContentChange { params: Some(content.params.clone()), ..ContentChange::default() };
    match update_within(txn, app, tenant, catalogue, (id, &Patch { content: params, ..Patch::default() })).await {
        Err(Error::Conflict(_)) => Ok(None),
        done => done,
    }
}

/// Counts the committed notifications, and records the end of the log.
pub fn has_raised(app: &App, tenant: &Tenant, raised: &[Notification]) {
    for of in raised {
        commit::count_one(app, tenant, of);
    }
}
