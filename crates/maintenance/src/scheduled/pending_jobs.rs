//! Resumes jobs that were started and left unfinished. Every node does this.

use crate::privacy;
use base::error::Result;
use domain::job::{self, JobKind};
use domain::{channel, tenant};
use store::{Store, transaction};

/// Continues all jobs that are due. A failed job waits for the next run and does not stop the others.
pub async fn run_due_jobs(store: &Store) -> Result<()> {
    let mut after = 0;
    loop {
        let jobs = job::find_due(store, after).await?;
        let Some(last) = jobs.last() else { return Ok(()) };
        after = last.id;
        for job in jobs {
            if let Err(error) = run_job(store, job).await {
                tracing::warn!(job = job.id, cause = error.log_message(), "a job failed and stays pending");
            }
        }
    }
}

async fn run_job(store: &Store, due: job::DueJob) -> Result<()> {
    let tenant = tenant::get_by_id(store, due.tenant_id).await?;
    while transaction!(store.db, |txn| {
        let Some(job) = job::lock_job(txn, due.id).await? else { return Ok(false) };
        let now = store.now();
        let next = match job.kind {
            JobKind::Erase => privacy::erase_step(txn, &tenant, &job).await?,
            JobKind::Close => channel::close_step(txn, &tenant, &job, now).await?,
        };
        job::save_progress(txn, due.id, next, now).await
    })? {}
    Ok(())
}
