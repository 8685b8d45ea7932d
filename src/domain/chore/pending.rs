//! Resumes jobs that were started and left unfinished. Every node does this.

use crate::app::App;
use crate::database::transaction;
use crate::domain::job::{self, Kind};
use crate::domain::{channel, privacy, tenant};
use crate::error::Result;

/// Continues all jobs that are due. A failed job waits for the next run and does not stop the others.
pub async fn work(app: &App) -> Result<()> {
    let mut after = 0;
    loop {
        let jobs = job::due(app, after).await?;
        let Some(last) = jobs.last() else { return Ok(()) };
        after = last.id;
        for job in jobs {
            if let Err(error) = finish(app, job).await {
                tracing::warn!(job = job.id, cause = error.told(), "a job failed and stays pending");
            }
        }
    }
}

async fn finish(app: &App, due: job::Due) -> Result<()> {
    let tenant = tenant::by_id(app, due.tenant_id).await?;
    while transaction!(app.db, |txn| {
        let Some(job) = job::locked(txn, due.id).await? else { return Ok(false) };
        let now = app.now();
        let next = match job.kind {
            Kind::Erase => privacy::erase_step(txn, &tenant, &job).await?,
            Kind::Close => channel::close_step(txn, &tenant, &job, now).await?,
        };
        job::left(txn, due.id, next, now).await
    })? {}
    Ok(())
}
