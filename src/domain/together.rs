//! What several requests want of the database at the same time, done for all of them in one go.
//!
//! Nobody waits for others to come: a request that finds room begins at once. Those that come while all the room is taken
//! wait, as they would for a connection or a lock, and are then done together.

use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::tenant::Tenant;
use crate::app::App;
use crate::database::ACQUIRE_TIMEOUT;
use crate::error::{Error, Result};

/// Does jobs of a tenant, and tells what became of each, in their order. Where it fails altogether nothing has been done,
/// but for `UNAVAILABLE`, after which nobody knows.
type Work<T, O> = for<'a> fn(&'a Arc<App>, &'a Arc<Tenant>, &'a mut [Vec<T>]) -> BoxFuture<'a, Result<Vec<Result<O>>>>;

/// How much is done at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// So many rounds are under way at the same time.
    pub rounds: usize,
    /// So many things go into one round, unless a single job has more.
    pub things: usize,
    /// Whoever has waited for longer than this until a round had room for him is told `UNAVAILABLE`.
    pub patience: Duration,
}

/// Jobs of one tenant, each a list of things to do; what becomes of one is an `O`.
pub struct Together<T, O> {
    work: Work<T, O>,
    bounds: Bounds,
    waiting: Mutex<Waiting<T, O>>,
}

struct Waiting<T, O> {
    jobs: Vec<Job<T, O>>,
    /// Rounds, after each of which somebody looks here again.
    under_way: usize,
}

/// Things to do, and who waits for what becomes of them.
struct Job<T, O> {
    things: Vec<T>,
    done: oneshot::Sender<Result<O>>,
    since: Instant,
}

impl<T, O> Debug for Together<T, O> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let waiting = self.waiting();
        write!(f, "{} jobs wait, {} rounds are under way", waiting.jobs.len(), waiting.under_way)
    }
}

impl Bounds {
    /// Of statements that read, each for several requests: they have a quarter of the connections. With more of them fewer
    /// requests would share one, with fewer a request would wait for others' for longer.
    pub fn reading(app: &App, things: usize) -> Self {
        let connections = app.config.database.connections as usize;
        Self { rounds: (connections / 4).max(1), things, patience: ACQUIRE_TIMEOUT }
    }
}

impl<T, O> Together<T, O> {
    /// None yet.
    pub fn new(work: Work<T, O>, bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { work, bounds, waiting: Mutex::new(Waiting { jobs: Vec::new(), under_way: 0 }) })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<T, O>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The jobs of the next round, but for those that nobody waits for any more, or has waited for too long. None where there
    /// are no others: then there is one round less.
    fn next(&self) -> Vec<Job<T, O>> {
        let mut waiting = self.waiting();
        for job in waiting.jobs.extract_if(.., |job| job.since.elapsed() > self.bounds.patience) {
            let _ = job.done.send(Err(Error::busy()));
        }
        waiting.jobs.retain(|job| !job.done.is_closed());
        if waiting.jobs.is_empty() {
            waiting.under_way -= 1;
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

impl<T: Send + 'static, O: Send + 'static> Together<T, O> {
    /// Does a job together with whatever else waits at the moment.
    ///
    /// What has begun goes on when the caller goes away: it is then done, or not, but never half.
    pub async fn ask(self: &Arc<Self>, app: &Arc<App>, tenant: &Arc<Tenant>, things: Vec<T>) -> Result<O> {
        let (done, outcome) = oneshot::channel();
        let begins = {
            let mut waiting = self.waiting();
            waiting.jobs.push(Job { things, done, since: Instant::now() });
            let begins = waiting.under_way < self.bounds.rounds;
            waiting.under_way += usize::from(begins);
            begins
        };
        if begins {
            tokio::spawn(rounds(self.clone(), app.clone(), tenant.clone()));
        }
        outcome.await.map_err(|_| Error::Unavailable("the server is shutting down".into()))?
    }
}

/// Makes room again where a round panicked; those who waited for it are told by their dropped channels.
struct Room<'a, T, O>(&'a Together<T, O>);

impl<T, O> Drop for Room<'_, T, O> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.waiting().under_way -= 1;
        }
    }
}

async fn rounds<T: Send, O: Send>(together: Arc<Together<T, O>>, app: Arc<App>, tenant: Arc<Tenant>) {
    let _room = Room(&together);
    loop {
        let jobs = together.next();
        if jobs.is_empty() {
            return;
        }
        let (mut jobs, waiting): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.things, job.done)).unzip();
        let outcomes = outcomes(together.work, &app, &tenant, &mut jobs).await;
        for (done, outcome) in waiting.into_iter().zip(outcomes) {
            // Who has gone away does not want to know.
            let _ = done.send(outcome);
        }
    }
}

/// Does jobs at once. Where that fails, each by itself, so that one bears no blame for another.
async fn outcomes<T: Send, O: Send>(
    work: Work<T, O>,
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    jobs: &mut [Vec<T>],
) -> Vec<Result<O>> {
    match work(app, tenant, jobs).await {
        Ok(outcomes) => outcomes,
        Err(error) if jobs.len() == 1 => vec![Err(error)],
        // What may have been done must not be done again by us.
        Err(Error::Unavailable(why)) => jobs.iter().map(|_| Err(Error::Unavailable(why.clone()))).collect(),
        Err(_) => {
            let mut outcomes = Vec::with_capacity(jobs.len());
            for job in jobs {
                let alone = work(app, tenant, std::slice::from_mut(job)).await;
                let lost = || Err(Error::internal("a job got lost"));
                outcomes.push(alone.and_then(|mut only| only.pop().unwrap_or_else(lost)));
            }
            outcomes
        }
    }
}
