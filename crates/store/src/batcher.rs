//! Batches database work of concurrent requests.
//!
//! There is no batching delay: a request that finds capacity starts at once. Requests that arrive while all capacity is
//! in use wait, as they would for a connection or a lock, and then run together in one batch.

use std::fmt::{self, Debug, Formatter};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::{ACQUIRE_TIMEOUT, Principal, with_deadline};
use base::error::{Error, Result};

/// Runs a batch of jobs and returns one result per job, in order. If the whole call fails, nothing was done, except for
/// `UNAVAILABLE`: then the outcome is unknown.
type BatchWork<C, T, O> = for<'a> fn(&'a C, &'a mut [Vec<T>]) -> BoxFuture<'a, Result<Vec<Result<O>>>>;

/// Limits of a batcher.
#[derive(Clone, Copy, Debug)]
pub struct BatchLimits {
    /// Maximum number of concurrent batches. From the third on, a batch only starts if a full one is waiting.
    pub rounds: usize,
    /// Maximum number of items in a batch. A single job may exceed it.
    pub things: usize,
    /// A job that has no connection after this time fails with `UNAVAILABLE`; waiting for a batch and within it both
    /// count.
    pub patience: Duration,
    /// If a batch of several jobs takes longer than this, its jobs run one by one, because one of them may be waiting
    /// for a lock. Only for work that can be cancelled at any moment.
    pub splits_after: Option<Duration>,
}

/// Number of batches that start with any waiting job. While this many are running, jobs collect until they fill a
/// batch. So each statement serves as many jobs as possible, yet a database with many processors still runs as many
/// statements as it may.
const EARLY: usize = 2;

/// A batch that takes longer than this no longer blocks the next one: it may be waiting for a lock that only one of its
/// jobs needs.
const SLOW: Duration = Duration::from_secs(2);

/// The part of a job's patience that is reserved for waiting for a connection inside the batch.
const IN_ROUND: Duration = Duration::from_millis(500);

/// A batcher for one principal. A job is a list of `T` items with one result `O`; `C` is the context of the work.
pub struct Batcher<C, T, O> {
    party: Principal,
    work: BatchWork<C, T, O>,
    bounds: BatchLimits,
    waiting: Mutex<BatchQueue<T, O>>,
}

struct BatchQueue<T, O> {
    jobs: Vec<BatchJob<T, O>>,
    /// Identifies the newest job.
    ticket: u64,
    /// Running batch loops. Each looks for more jobs after its batch.
    under_way: usize,
}

/// The items of a job, and the channel for its result.
struct BatchJob<T, O> {
    things: Vec<T>,
    done: oneshot::Sender<Result<O>>,
    since: Instant,
    ticket: u64,
}

impl<T, O> BatchQueue<T, O> {
    /// Whether the waiting jobs fill a batch.
    fn has_full_batch(&self, bounds: BatchLimits) -> bool {
        self.jobs.iter().map(|job| job.things.len()).sum::<usize>() >= bounds.things
    }
}

impl<C, T, O> Debug for Batcher<C, T, O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let waiting = self.waiting.lock();
        write!(f, "{} jobs waiting, {} batches running", waiting.jobs.len(), waiting.under_way)
    }
}

impl BatchLimits {
    /// Limits for batched reads: they use a quarter of the connections. With more, fewer requests would share a
    /// statement; with fewer, a request would wait longer for other batches.
    pub fn for_reads(connections: u32, things: usize) -> Self {
        Self { rounds: (connections as usize / 4).max(1), things, patience: ACQUIRE_TIMEOUT, splits_after: Some(SLOW) }
    }
}

impl<C, T, O> Batcher<C, T, O> {
    /// An empty batcher.
    pub fn new(party: Principal, work: BatchWork<C, T, O>, bounds: BatchLimits) -> Self {
        Self { party, work, bounds, waiting: Mutex::new(BatchQueue { jobs: Vec::new(), ticket: 0, under_way: 0 }) }
    }

    /// Takes the jobs of the next batch and drops jobs that have no caller any more. If none is to start, the batch
    /// loop ends: the result is empty and `under_way` decreases by one.
    fn next_batch(&self) -> Vec<BatchJob<T, O>> {
        let mut waiting = self.waiting.lock();
        waiting.jobs.retain(|job| !job.done.is_closed());
        let is_needed =
            if waiting.under_way > EARLY { waiting.has_full_batch(self.bounds) } else { !waiting.jobs.is_empty() };
        if !is_needed {
            waiting.under_way -= 1;
            return Vec::new();
        }
        let mut many = 0;
        let over = waiting.jobs.iter().position(|job| {
            many += job.things.len();
            many > self.bounds.things
        });
        let fit = over.map_or(waiting.jobs.len(), |over| over.max(1));
        waiting.jobs.drain(..fit).collect()
    }
}

impl<C: Clone + Send + Sync + 'static, T: Send + 'static, O: Send + 'static> Batcher<C, T, O> {
    /// Runs a job in a batch with the other waiting jobs.
    ///
    /// A job that has started continues if the caller is dropped: it completes or fails as a whole.
    pub async fn submit(self: &Arc<Self>, context: impl FnOnce() -> C, things: Vec<T>) -> Result<O> {
        let (done, mut outcome) = oneshot::channel();
        let since = Instant::now();
        let (ticket, begins) = {
            let mut waiting = self.waiting.lock();
            waiting.ticket += 1;
            let ticket = waiting.ticket;
            waiting.jobs.push(BatchJob { things, done, since, ticket });
            let has_room = waiting.under_way < self.bounds.rounds;
            let begins = has_room && (waiting.under_way < EARLY || waiting.has_full_batch(self.bounds));
            waiting.under_way += usize::from(begins);
            (ticket, begins)
        };
        if begins {
            tokio::spawn(run_batches(self.clone(), context()));
        }
        let in_line = timeout_at(since + self.bounds.patience.saturating_sub(IN_ROUND), &mut outcome);
        let outcome = match in_line.await {
            Ok(outcome) => outcome,
            Err(_) if self.withdraw(ticket) => return Err(Error::database_busy()),
            Err(_) => outcome.await,
        };
        outcome.map_err(|_| Error::Unavailable("the server is shutting down".into()))?
    }

    /// Removes a job from the queue. Returns false if a batch has already started with it.
    fn withdraw(&self, ticket: u64) -> bool {
        let mut waiting = self.waiting.lock();
        let place = waiting.jobs.iter().position(|job| job.ticket == ticket);
        place.is_some_and(|place| {
            waiting.jobs.remove(place);
            true
        })
    }
}

async fn run_batches<C, T, O>(together: Arc<Batcher<C, T, O>>, context: C)
where
    C: Clone + Send + Sync + 'static,
    T: Send + 'static,
    O: Send + 'static,
{
    loop {
        let jobs = together.next_batch();
        let Some(first) = jobs.first() else { return };
        let until = first.since + together.bounds.patience;
        let round = with_deadline(until, run_batch(together.clone(), context.clone(), jobs));
        // If the work panics, its callers notice that their channels were dropped.
        let mut round = AssertUnwindSafe(together.party.clone().run_as(round)).catch_unwind().boxed();
        if timeout(SLOW, &mut round).await.is_err() {
            tokio::spawn(round);
        }
    }
}

async fn run_batch<C, T, O>(together: Arc<Batcher<C, T, O>>, context: C, jobs: Vec<BatchJob<T, O>>)
where
    C: Clone + Send + Sync + 'static,
    T: Send + 'static,
    O: Send + 'static,
{
    let (mut jobs, waiting): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.things, job.done)).unzip();
    let work = together.work;
    let outcomes = batch_results(work, &context, &mut jobs);
    let outcomes = match together.bounds.splits_after.filter(|_| waiting.len() > 1) {
        Some(most) => timeout(most, outcomes).await.unwrap_or_else(|_| Err(Error::lock_unavailable())),
        None => outcomes.await,
    };
    // Sending fails if the caller is gone, which does not matter.
    match outcomes {
        Ok(outcomes) => waiting.into_iter().zip(outcomes).for_each(|(done, outcome)| drop(done.send(outcome))),
        Err(_) => {
            for (mut job, done) in jobs.into_iter().zip(waiting) {
                let (context, party) = (context.clone(), together.party.clone());
                tokio::spawn(party.run_as(async move { drop(done.send(run_alone(work, &context, &mut job).await)) }));
            }
        }
    }
}

/// Runs jobs as one batch. If the batch fails, each job runs alone, so that one job's error does not fail the others.
/// Returns an error only if a lock is held by another transaction: the caller then runs the jobs separately, so that
/// only one waits for it.
async fn batch_results<C: Sync, T: Send, O: Send>(
    work: BatchWork<C, T, O>,
    context: &C,
    jobs: &mut [Vec<T>],
) -> Result<Vec<Result<O>>> {
    match work(context, jobs).await {
        Ok(outcomes) => Ok(outcomes),
        Err(error) if jobs.len() == 1 => Ok(vec![Err(error)]),
        Err(error) if error.is_lock_unavailable() => Err(error),
        // The work may have been done, so it must not be repeated.
        Err(Error::Unavailable(why)) => Ok(jobs.iter().map(|_| Err(Error::Unavailable(why.clone()))).collect()),
        Err(_) => {
            let mut outcomes = Vec::with_capacity(jobs.len());
            for job in jobs {
                outcomes.push(run_alone(work, context, job).await);
            }
            Ok(outcomes)
        }
    }
}

async fn run_alone<C: Sync, T: Send, O: Send>(work: BatchWork<C, T, O>, context: &C, job: &mut Vec<T>) -> Result<O> {
    let lost = || Err(Error::internal("a batch returned no outcome for a job"));
    work(context, std::slice::from_mut(job)).await.and_then(|mut only| only.pop().unwrap_or_else(lost))
}
