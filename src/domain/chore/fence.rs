//! Prepares a node for a database that is a different one than before, or has a different history.

use std::time::Duration;

use entity::gap::{self, Column};
use entity::prelude::*;
use futures_util::future::BoxFuture;
use tokio::time::sleep;

use super::raise::{Standing, raise_logs, stand, standing};
use crate::app::App;
use crate::database::{Lineage, Transaction, passing, raise_generated, transaction};
use crate::domain::live::Live;
use crate::error::{Ailment, Error, Result};
use crate::model::gaps::Gaps;

/// How far numbers are raised: more than all tenants together can have used in the lost part of the history.
const BY: i64 = 10_000_000;

/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// Opens the fence again each time it closes.
pub async fn keep(app: &App, live: &Live) {
    loop {
        app.db.fence.closed().await;
        let mut was_told = false;
        while let Err(error) = settle(app, live).await {
            if !std::mem::replace(&mut was_told, true) {
                tracing::warn!(cause = error.told(), "the database cannot be used yet");
            }
            sleep(PAUSE).await;
        }
    }
}

/// Compares the lineage of the connections with the lineage that the numbers belong to. If they differ, clears the
/// caches and raises the numbers, unless another node has done that. Then the pool lends connections again.
///
/// Fails with `Unavailable` if the database accepts no writes.
pub fn settle<'a>(app: &'a App, live: &'a Live) -> BoxFuture<'a, Result<()>> {
    Box::pin(passing(settled(app, live)))
}

async fn settled(app: &App, live: &Live) -> Result<()> {
    let fence = &app.db.fence;
    let Some(lineage) = app.db.lineage().await? else { return Ok(()) };
    let (known, number) = fence.known();
    if known.as_ref().is_some_and(|known| known.name == lineage.name) {
        // The connections led to another database only for a moment.
        return opened(app, &lineage, number).await;
    }
    if lineage.is_read_only {
        return Err(Ailment::ReadOnly.error().into());
    }
    if known.is_some() {
        if lineage.is_unfinished() {
            return Err(Error::Unavailable("the database is being restored".into()));
        }
        forget(app, live);
    }
    let number = raised(app, &lineage, (known.is_some(), number)).await?;
    *app.gaps.write() = gaps(app).await?;
    if known.is_some() {
        // Clears it again: earlier requests may have filled the caches meanwhile.
        forget(app, live);
    }
    opened(app, &lineage, number).await
}

async fn opened(app: &App, lineage: &Lineage, number: u64) -> Result<()> {
    if !app.db.fence.open(lineage, number) {
        return Err(Error::Unavailable("the connections lead to another database again".into()));
    }
    app.db.close_strays().await;
    Ok(())
}

/// Clears everything that may now be wrong. Sessions end, and reconnect with their cursors.
fn forget(app: &App, live: &Live) {
    app.db.fence.begin_era();
    app.caches.clear();
    if let Some(board) = &app.board {
        board.forget();
    }
    live.end();
}

/// Raises all numbers, unless that was already done. Returns how often they have been raised. Nodes take turns.
///
/// Without a lineage row, no node has seen this database before. Only a node that knew another one can detect a change.
async fn raised(app: &App, lineage: &Lineage, (knew_another, number): (bool, u64)) -> Result<u64> {
    // If this database missed the last raise, it may have given out numbers since that no other database knows.
    let is_done = |of: &Standing| of.name == *lineage.name && of.number >= number;
    let further = |of: &Standing| {
        let number = of.number.max(number) + 1;
        let times = i64::try_from(number - of.number).unwrap_or(1);
        (number, times * BY)
    };
    let generated = transaction!(app.db, |txn| {
        match stood(txn, knew_another).await? {
            Some(of) if !is_done(&of) => raise_generated(txn, further(&of).1).await,
            _ => Ok(()),
        }
    });
    match generated {
        // The database user lacks the privilege. The operator must know, but the server can still serve requests.
        Err(Error::Internal(cause)) => {
            let cause = Error::Internal(cause).told();
            let hint = "this database user may not raise generated ids: run `tidings restored` as a user who may";
            tracing::error!(cause, "{hint}");
        }
        other => other?,
    }
    let (number, tenants) = transaction!(app.db, |txn| {
        let (number, tenants) = match stood(txn, knew_another).await? {
            Some(of) if is_done(&of) => return Ok((of.number, None)),
            Some(of) => {
                let (number, by) = further(&of);
                (number, Some(raise_logs(txn, by, app.now()).await?))
            }
            None => (number, None),
        };
        stand(txn, &Standing { number, name: (*lineage.name).to_owned() }).await?;
        Ok((number, tenants))
    })?;
    if let Some(tenants) = tenants {
        tracing::warn!(
            tenants,
            number,
            lineage = &*lineage.name,
            "raised all ids and log positions, so that lost ones are not used again"
        );
    }
    Ok(number)
}

/// The lineage row. If it is missing and this node knew another database, returns an empty lineage.
async fn stood(txn: &Transaction, knew_another: bool) -> Result<Option<Standing>> {
    let stood = standing(txn).await?;
    Ok(stood.or_else(|| knew_another.then(|| Standing { number: 0, name: String::new() })))
}

/// The gaps in the logs of all tenants.
async fn gaps(app: &App) -> Result<Gaps> {
    let mut gaps = Gaps::default();
    let all = gap::Entity::find().order_by_asc(Column::UptoSeq).all(&app.db.read).await?;
    for gap::Model { tenant_id, after_seq, upto_seq, .. } in all {
        gaps.add(tenant_id, after_seq, upto_seq);
    }
    Ok(gaps)
}
