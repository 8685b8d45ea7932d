//! Group commit: the sends that wait while one transaction is under way go into the next one together.
//!
//! The tenant's row is locked from the moment a seq is taken until the commit, so that seqs are given in commit order.
//! Alone, each send would hold it for the time of a commit, and a tenant could send no faster than the disk can sync.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::draft::Draft;
use super::send::{self, Outcome, Written};
use super::tell;
use crate::app::App;
use crate::database::transaction;
use crate::domain::catalogue;
use crate::domain::tenant::Tenant;
use crate::error::{Error, Result};
use crate::metrics::Published;

/// Sends that go into one transaction, unless a single batch has more.
const DRAFTS_PER_TRANSACTION: usize = 1000;

/// How often a transaction is tried again because the catalogue or an idempotency key changed under it.
const TRIES: usize = 5;

/// Sends of one tenant that wait for the next transaction.
#[derive(Debug, Default)]
pub struct Outbox(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    jobs: Vec<Job>,
    /// Whether somebody is committing, who will look here again.
    is_draining: bool,
}

/// Drafts that are sent all or none, and who waits for it.
#[derive(Debug)]
struct Job {
    drafts: Vec<Draft>,
    done: oneshot::Sender<Result<Vec<Outcome>>>,
}

/// Commits drafts, all or none, together with whatever else the tenant sends at the moment.
///
/// Goes on when the caller goes away: what it began is then sent, or not, but never half.
pub(super) async fn commit(app: &Arc<App>, tenant: &Arc<Tenant>, drafts: Vec<Draft>) -> Result<Vec<Outcome>> {
    let (done, outcome) = oneshot::channel();
    let begins = {
        let mut waiting = tenant.outbox.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.jobs.push(Job { drafts, done });
        !std::mem::replace(&mut waiting.is_draining, true)
    };
    if begins {
        tokio::spawn(drain(app.clone(), tenant.clone()));
    }
    outcome.await.map_err(|_| Error::Unavailable("the server is shutting down".into()))?
}

/// Lets the next send begin anew where committing panicked; those who waited are told by their dropped channels.
struct Draining<'a>(&'a Outbox);

impl Drop for Draining<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.0.lock().unwrap_or_else(PoisonError::into_inner).is_draining = false;
        }
    }
}

async fn drain(app: Arc<App>, tenant: Arc<Tenant>) {
    let _guard = Draining(&tenant.outbox);
    loop {
        let jobs = {
            let mut waiting = tenant.outbox.0.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.jobs.is_empty() {
                waiting.is_draining = false;
                return;
            }
            let mut many = 0;
            let fits = waiting.jobs.iter().position(|job| {
                many += job.drafts.len();
                many > DRAFTS_PER_TRANSACTION
            });
            let fits = fits.unwrap_or(waiting.jobs.len()).max(1);
            waiting.jobs.drain(..fits).collect::<Vec<Job>>()
        };
        settle(&app, &tenant, jobs).await;
    }
}

/// Commits jobs together. Where the database refuses them, each by itself, so that one bears no blame for another.
async fn settle(app: &App, tenant: &Tenant, jobs: Vec<Job>) {
    let (mut drafts, waiting): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.drafts, job.done)).unzip();
    let outcomes = match together(app, tenant, &mut drafts).await {
        Ok(outcomes) => outcomes,
        Err(error) if drafts.len() == 1 => vec![Err(error)],
        // The connection may have gone during the commit: what was sent, or not, must not be sent again by us.
        Err(Error::Unavailable(why)) => drafts.iter().map(|_| Err(Error::Unavailable(why.clone()))).collect(),
        Err(_) => {
            let mut outcomes = Vec::with_capacity(drafts.len());
            for job in &mut drafts {
                let alone = together(app, tenant, std::slice::from_mut(job)).await;
                outcomes.push(alone.and_then(|mut only| only.pop().unwrap_or_else(lost)));
            }
            outcomes
        }
    };
    for (done, outcome) in waiting.into_iter().zip(outcomes) {
        // Who has gone away does not want to know.
        let _ = done.send(outcome);
    }
}

/// Counts what was published, now that it is on disk.
fn count(app: &App, outcomes: &[Result<Vec<Outcome>>]) {
    for outcome in outcomes.iter().flatten().flatten() {
        if let Outcome::New(of) = outcome
            && of.seq.is_some()
        {
            app.metrics.published.get_or_create(&Published { kind: of.kind.name() }).inc();
        }
    }
}

fn lost() -> Result<Vec<Outcome>> {
    Err(Error::internal("a send got lost"))
}

/// One transaction for all the jobs that can be sent; the outcome of each, in their order.
async fn together(app: &App, tenant: &Tenant, jobs: &mut [Vec<Draft>]) -> Result<Vec<Result<Vec<Outcome>>>> {
    let mut refused: HashMap<usize, Error> = HashMap::new();
    for _ in 0..TRIES {
        let sendable: Vec<&[Draft]> = jobs
            .iter()
            .enumerate()
            .filter(|(place, _)| !refused.contains_key(place))
            .map(|(_, job)| job.as_slice())
            .collect();
        match transaction!(app.db, |txn| send::write_jobs(txn, app, tenant, &sendable).await) {
            Ok(Written::All(outcomes, notice)) => {
                tell(app, tenant, *notice);
                count(app, &outcomes);
                let mut outcomes = outcomes.into_iter();
                let of = |place| refused.remove(&place).map_or_else(|| outcomes.next().unwrap_or_else(lost), Err);
                return Ok((0..jobs.len()).map(of).collect());
            }
            Ok(Written::Nothing { catalogue_version }) => {
                let catalogue = catalogue::at(app, tenant, catalogue_version).await?;
                for (place, job) in jobs.iter_mut().enumerate() {
                    match job.iter().map(|draft| draft.renewed(&catalogue)).collect() {
                        Ok(renewed) => *job = renewed,
                        Err(error) => drop(refused.insert(place, error)),
                    }
                }
            }
            // Somebody used the same idempotency key at the same time; now it is there to be found.
            Err(error) if crate::database::is_duplicate(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Unavailable("the catalogue changes too quickly, try again in a moment".into()))
}
