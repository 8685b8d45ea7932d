//! What several requests want of the database at the same time, done for all of them in one go.
//!
//! Nobody waits for others to come: a request that finds room begins at once. Those that come while the room is taken
//! wait, as they would for a connection or a lock, and are then done together.

use std::fmt::{self, Debug, Formatter};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::{ACQUIRE_TIMEOUT, Party, hurried};
use crate::error::{Error, Result};

/// Does jobs with what is needed for it, and tells what became of each, in their order. Where it fails altogether nothing has
/// been done, but for `UNAVAILABLE`, after which nobody knows.
type Work<C, T, O> = for<'a> fn(&'a C, &'a mut [Vec<T>]) -> BoxFuture<'a, Result<Vec<Result<O>>>>;

/// How much is done at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// So many rounds are under way at the same time; more than two only while a whole one waits.
    pub rounds: usize,
    /// So many things go into one round, unless a single job has more.
    pub things: usize,
    /// Whoever has not got a connection after this is told `UNAVAILABLE`, whether they waited for a round or in it.
    pub patience: Duration,
    /// Jobs of one round that are not done after this are done one by one, since one of them may have to wait for what somebody
    /// holds. Only for work that may be given up at any moment.
    pub splits_after: Option<Duration>,
}

/// So many rounds begin with whoever waits. What comes while they are under way goes into the next one, unless it is a round's worth: so a
/// statement serves as many as it can, and a database with more processors still does as many statements at once as it may.
const EARLY: usize = 2;

/// A round that takes longer than this makes room for the next one: it may wait for what only one of its jobs needs.
const SLOW: Duration = Duration::from_secs(2);

/// So much of its patience everybody keeps for the wait in the round.
const IN_ROUND: Duration = Duration::from_millis(500);

/// Jobs of one party, each a list of things to do; what becomes of one is an `O`. A `C` is what is needed for it.
pub struct Together<C, T, O> {
    party: Party,
    work: Work<C, T, O>,
    bounds: Bounds,
    waiting: Mutex<Waiting<T, O>>,
}

struct Waiting<T, O> {
    jobs: Vec<Job<T, O>>,
    /// By which the next job is told from others.
    ticket: u64,
    /// Rounds, after each of which somebody looks here again.
    under_way: usize,
}

/// Things to do, and who waits for what becomes of them.
struct Job<T, O> {
    things: Vec<T>,
    done: oneshot::Sender<Result<O>>,
    since: Instant,
    ticket: u64,
}

impl<T, O> Waiting<T, O> {
    /// Whether what waits fills a round.
    fn fill(&self, bounds: Bounds) -> bool {
        self.jobs.iter().map(|job| job.things.len()).sum::<usize>() >= bounds.things
    }
}

impl<C, T, O> Debug for Together<C, T, O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let waiting = self.waiting.lock();
        write!(f, "{} jobs wait, {} rounds are under way", waiting.jobs.len(), waiting.under_way)
    }
}

impl Bounds {
    /// Of statements that read, each for several requests: they have a quarter of the connections. With more of them fewer
    /// requests would share one, with fewer a request would wait for others' for longer.
    pub fn reading(connections: u32, things: usize) -> Self {
        Self { rounds: (connections as usize / 4).max(1), things, patience: ACQUIRE_TIMEOUT, splits_after: Some(SLOW) }
    }
}

impl<C, T, O> Together<C, T, O> {
    /// None yet.
    pub fn new(party: Party, work: Work<C, T, O>, bounds: Bounds) -> Self {
        Self { party, work, bounds, waiting: Mutex::new(Waiting { jobs: Vec::new(), ticket: 0, under_way: 0 }) }
    }

    /// The jobs of the next round, but for those that nobody waits for any more. None where there are no others: then there is
    /// one round less.
    fn next(&self) -> Vec<Job<T, O>> {
        let mut waiting = self.waiting.lock();
        waiting.jobs.retain(|job| !job.done.is_closed());
        let is_needed = if waiting.under_way > EARLY { waiting.fill(self.bounds) } else { !waiting.jobs.is_empty() };
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

impl<C: Clone + Send + Sync + 'static, T: Send + 'static, O: Send + 'static> Together<C, T, O> {
    /// Does a job together with whatever else waits at the moment.
    ///
    /// What has begun goes on when the caller goes away: it is then done, or not, but never half.
    pub async fn ask(self: &Arc<Self>, context: impl FnOnce() -> C, things: Vec<T>) -> Result<O> {
        let (done, mut outcome) = oneshot::channel();
        let since = Instant::now();
        let (ticket, begins) = {
            let mut waiting = self.waiting.lock();
            waiting.ticket += 1;
            let ticket = waiting.ticket;
            waiting.jobs.push(Job { things, done, since, ticket });
            let has_room = waiting.under_way < self.bounds.rounds;
            let begins = has_room && (waiting.under_way < EARLY || waiting.fill(self.bounds));
            waiting.under_way += usize::from(begins);
            (ticket, begins)
        };
        if begins {
            tokio::spawn(rounds(self.clone(), context()));
        }
        let in_line = timeout_at(since + self.bounds.patience.saturating_sub(IN_ROUND), &mut outcome);
        let outcome = match in_line.await {
            Ok(outcome) => outcome,
            Err(_) if self.leave(ticket) => return Err(Error::busy()),
            Err(_) => outcome.await,
        };
        outcome.map_err(|_| Error::Unavailable("the server is shutting down".into()))?
    }

    /// Takes a job out of the line; false where a round has begun with it.
    fn leave(&self, ticket: u64) -> bool {
        let mut waiting = self.waiting.lock();
        let place = waiting.jobs.iter().position(|job| job.ticket == ticket);
        place.is_some_and(|place| {
            waiting.jobs.remove(place);
            true
        })
    }
}

async fn rounds<C, T, O>(together: Arc<Together<C, T, O>>, context: C)
where
    C: Clone + Send + Sync + 'static,
    T: Send + 'static,
    O: Send + 'static,
{
    loop {
        let jobs = together.next();
        let Some(first) = jobs.first() else { return };
        let until = first.since + together.bounds.patience;
        let round = hurried(until, round(together.clone(), context.clone(), jobs));
        // Where one panics, those who waited for it are told by their dropped channels.
        let mut round = AssertUnwindSafe(together.party.clone().does(round)).catch_unwind().boxed();
        if timeout(SLOW, &mut round).await.is_err() {
            tokio::spawn(round);
        }
    }
}

async fn round<C, T, O>(together: Arc<Together<C, T, O>>, context: C, jobs: Vec<Job<T, O>>)
where
    C: Clone + Send + Sync + 'static,
    T: Send + 'static,
    O: Send + 'static,
{
    let (mut jobs, waiting): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.things, job.done)).unzip();
    let work = together.work;
    let outcomes = outcomes(work, &context, &mut jobs);
    let outcomes = match together.bounds.splits_after.filter(|_| waiting.len() > 1) {
        Some(most) => timeout(most, outcomes).await.unwrap_or_else(|_| Err(Error::held())),
        None => outcomes.await,
    };
    // Who has gone away does not want to know.
    match outcomes {
        Ok(outcomes) => waiting.into_iter().zip(outcomes).for_each(|(done, outcome)| drop(done.send(outcome))),
        Err(_) => {
            for (mut job, done) in jobs.into_iter().zip(waiting) {
                let (context, party) = (context.clone(), together.party.clone());
                tokio::spawn(party.does(async move { drop(done.send(alone(work, &context, &mut job).await)) }));
            }
        }
    }
}

/// Does jobs at once. Where that fails, each by itself, so that one bears no blame for another. It fails itself where somebody holds
/// what one of them needs: then nobody else is to wait for that one.
async fn outcomes<C: Sync, T: Send, O: Send>(
    work: Work<C, T, O>,
    context: &C,
    jobs: &mut [Vec<T>],
) -> Result<Vec<Result<O>>> {
    match work(context, jobs).await {
        Ok(outcomes) => Ok(outcomes),
        Err(error) if jobs.len() == 1 => Ok(vec![Err(error)]),
        Err(error) if error.is_held() => Err(error),
        // What may have been done must not be done again by us.
        Err(Error::Unavailable(why)) => Ok(jobs.iter().map(|_| Err(Error::Unavailable(why.clone()))).collect()),
        Err(_) => {
            let mut outcomes = Vec::with_capacity(jobs.len());
            for job in jobs {
                outcomes.push(alone(work, context, job).await);
            }
            Ok(outcomes)
        }
    }
}

async fn alone<C: Sync, T: Send, O: Send>(work: Work<C, T, O>, context: &C, job: &mut Vec<T>) -> Result<O> {
    let lost = || Err(Error::internal("a job got lost"));
    work(context, std::slice::from_mut(job)).await.and_then(|mut only| only.pop().unwrap_or_else(lost))
}
