//! Sending: one notification and one publication a channel, whatever the size of the audience.

use std::collections::HashMap;
use std::sync::Arc;

use super::batch::Outcome;
use super::draft::{Prepared, prepare};
use super::input::Input;
use super::{Notification, commit, load};
use crate::app::App;
use crate::domain::catalogue;
use crate::domain::tenant::Tenant;
use crate::domain::user::By;
use crate::error::{Error, Result};
use crate::model::check;

/// The most notifications of one call.
const INPUTS: usize = 1000;

/// How often a send is tried again because the catalogue has changed under it, which it may do while a send waits in line.
const TRIES: usize = 20;

/// What came of a send.
#[derive(Clone, Debug)]
pub struct Sent {
    pub notification: Notification,
    /// The idempotency key had been used, and nothing new was sent.
    pub is_replayed: bool,
}

/// Sends up to 1,000 notifications in one transaction, all or none. `path` says where the caller gave each of them.
///
/// A key that its owner (the tenant's backend, or one user) used before, here or in an earlier call, sends nothing and returns the first one's notification; with
/// other content it is a `CONFLICT`. When this returns, what was sent is on disk.
pub async fn send(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    by: By<'_>,
    inputs: &[Input],
    path: impl Fn(usize) -> String,
) -> Result<Vec<Sent>> {
    check::count("inputs", inputs.len(), INPUTS)?;
    if inputs.is_empty() {
        return Ok(Vec::new());
    }
    let (outcomes, sent) = committed(app, tenant, by, inputs, path).await?;
    let mut outcomes = outcomes.into_iter();
    let outcome = |place| sent.get(&place).map_or_else(|| outcomes.next(), |id| Some(Outcome::Replayed(*id)));
    let outcomes: Vec<Outcome> = (0..inputs.len()).filter_map(outcome).collect();
    let number = |outcome: &Outcome| match outcome {
        Outcome::Replayed(id) => Some(*id),
        Outcome::New(_) => None,
    };
    let earlier: Vec<i64> = outcomes.iter().filter_map(number).collect();
    let mut replayed: HashMap<i64, Notification> = HashMap::new();
    if !earlier.is_empty() {
        replayed.extend(load(app, tenant, &earlier).await?.into_iter().map(|of| (of.id, of)));
    }
    let sent = |outcome| match outcome {
        Outcome::New(notification) => Ok(Sent { notification: *notification, is_replayed: false }),
        Outcome::Replayed(id) => {
            let notification = replayed.get(&id).cloned();
            let notification = notification.ok_or_else(|| Error::internal("what was sent before has vanished"))?;
            Ok(Sent { notification, is_replayed: true })
        }
    };
    outcomes.into_iter().map(sent).collect()
}

/// What came of the drafts, and what was sent before, by the places of its inputs.
async fn committed(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    by: By<'_>,
    inputs: &[Input],
    path: impl Fn(usize) -> String,
) -> Result<(Vec<Outcome>, HashMap<usize, i64>)> {
    let mut catalogue = catalogue::cached(app, tenant).await?;
    for _ in 0..TRIES {
        let Prepared { drafts, sent } = prepare(app, tenant, by, (inputs, catalogue), &path).await?;
        if drafts.is_empty() {
            return Ok((Vec::new(), sent));
        }
        if let Ok(outcomes) = commit::commit(app, tenant, drafts).await? {
            return Ok((outcomes, sent));
        }
        catalogue = catalogue::current(app, tenant).await?;
    }
    Err(Error::Unavailable("the catalogue changes too quickly, try again in a moment".into()))
}
