//! Jobs that were begun, and that whoever began them has left: each node goes on with them.

use crate::app::App;
use crate::database::transaction;
use crate::domain::job::{self, Kind};
use crate::domain::{channel, privacy, tenant};
use crate::error::Result;

/// Goes on with all jobs that are due. One that fails is left for the next time, and stops no other.
pub async fn work(app: &App) -> Result<()> {
    let mut after = 0;
    loop {
        let jobs = job::due(app, after).await?;
        let Some(last) = jobs.last() else { return Ok(()) };
        after = last.id;
        for job in jobs {
            if let Err(error) = finish(app, job).await {
                tracing::warn!(job = job.id, cause = error.told(), "a job has to wait");
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
