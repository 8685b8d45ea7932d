//! What a rule does, in transactions of its own: raise several, and change their words.

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

/// Notifications that can be raised, as far as the catalogue does not change.
#[derive(Debug, Default)]
pub struct Raising(Vec<Draft>);

/// Refuses what cannot be raised; `path` says where the caller has each. Users that are new are not made.
pub async fn raisable(app: &App, tenant: &Tenant, inputs: &[Input], path: impl Fn(usize) -> String) -> Result<()> {
    let catalogue = catalogue::current(app, tenant).await?;
    let refused = refused(app, By::Partner, &catalogue, inputs).into_iter();
    let mut refused: Vec<(usize, Error)> = refused.map(|(place, error)| (place, error.within(&path(place)))).collect();
    refused.extend(grouped::refuse(app, tenant, inputs, &refused, &path).await?);
    refused.into_iter().min_by_key(|(place, _)| *place).map_or(Ok(()), |(_, error)| Err(error))
}

/// Looks up all that is named, and makes users and actions that are new; at most 1,000 at once.
pub async fn raising(app: &App, tenant: &Tenant, inputs: &[Input]) -> Result<Raising> {
    if inputs.is_empty() {
        return Ok(Raising::default());
    }
    let inputs = (inputs, catalogue::current(app, tenant).await?);
    let Prepared { drafts, .. } = prepare(app, tenant, By::Partner, inputs, |place| format!("[{place}]")).await?;
    Ok(Raising(drafts))
}

/// Sends all of them with whatever else the transaction does, and returns what was sent, in their order.
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
            let Outcome::New(of) = outcome else { return Err(Error::internal("what a rule raises has no key")) };
            raised.push(*of);
        }
    }
    Ok(Ok(raised))
}

/// Gives one that is published other params, and returns the place in the log up to which that says something. One that was taken
/// back, has expired or is gone stays as it is.
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

/// Counts what was raised, now that it is on disk, and notes how far the log goes.
pub fn has_raised(app: &App, tenant: &Tenant, raised: &[Notification]) {
    for of in raised {
        commit::count_one(app, tenant, of);
    }
}
