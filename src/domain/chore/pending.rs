//! Resumes jobs that were started and left unfinished. Every node does this.

use crate::app::App;
use crate::database::transaction;
use crate::domain::job::{self, JobKind};
use crate::domain::{channel, privacy, tenant};
use crate::error::Result;

/// Continues all jobs that are due. A failed job waits for the next run and does not stop the others.
pub async fn run_due_jobs(app: &App) -> Result<()> {
    let mut after = 0;
    loop {
        let jobs = job::find_due(app, after).await?;
        let Some(last) = jobs.last() else { return Ok(()) };
        after = last.id;
        for job in jobs {
            if let Err(error) = run_job(app, job).await {
                tracing::warn!(job = job.id, cause = error.log_message(), "a job failed and stays pending");
            }
        }
    }
}

async fn run_job(app: &App, due: job::DueJob) -> Result<()> {
    let tenant = tenant::get_by_id(app, due.tenant_id).await?;
    while transaction!(app.db, |txn| {
        let Some(job) = job::lock_job(txn, due.id).await? else { return Ok(false) };
        let now = app.now();
        let next = match job.kind {
            JobKind::Erase => privacy::erase_step(txn, &tenant, &job).await?,
            JobKind::Close => channel::close_step(txn, &tenant, &job, now).await?,
        };
        job::save_progress(txn, due.id, next, now).await
    })? {}
    Ok(())
}
