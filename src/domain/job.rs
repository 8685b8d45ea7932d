//! Jobs: work of several transactions, whose first one writes it down. It is brought to its end whatever becomes of the
//! request that began it, and of the node.
//!
//! A step is one transaction of a bounded size, which locks the job's row, does a part of the work and writes down how far
//! it came. So it does not matter who takes it: the request does as long as it is there, and so does, every few seconds,
//! each node; where they meet, they take turns.

use entity::job::{self, ActiveModel, Column};
use entity::prelude::*;
use sea_orm::sea_query::ExprTrait;

use super::tenant::{self, Tenant};
use super::{channel, user};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::error::Result;

pub use entity::job::Kind;

/// Jobs that are looked for at once.
const JOBS: u64 = 100;

/// The longest that a job may be put off, in milliseconds. A time that is farther off was set by a clock that went wrong,
/// and does not count.
const FARTHEST: Millis = 3_600_000;

/// A job whose row is locked.
#[derive(Debug, DerivePartialModel)]
#[sea_orm(entity = "job::Entity")]
pub struct Job {
    kind: Kind,
    /// The user or the channel.
    #[sea_orm(from_col = "subject_id")]
    pub subject: i64,
    /// How far it has come. It begins at 0.
    pub place: i64,
}

/// What is left to do after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The rest, from there on; not before an instant, where that is in the future.
    At {
        place: i64,
        due_at: Millis,
    },
    Done,
}

/// Writes down that something is to be done, in the transaction that does the first of it.
pub async fn begin(
    txn: &Transaction,
    tenant: &Tenant,
    (kind, subject): (Kind, i64),
    name: Option<&str>,
    now: Millis,
) -> Result<()> {
    let job = ActiveModel {
        tenant_id: Set(tenant.id),
        kind: Set(kind),
        subject_id: Set(subject),
        name: Set(name.map(str::to_owned)),
        created_at: Set(now),
        ..Default::default()
    };
    job::Entity::insert(job).exec_without_returning(txn).await?;
    Ok(())
}

/// The jobs of a kind that go by this name and are not done.
pub async fn named(app: &App, tenant: &Tenant, kind: Kind, name: &str) -> Result<Vec<i64>> {
    let named = job::Entity::of_tenant(tenant.id).filter(Column::Kind.eq(kind)).filter(Column::Name.eq(name));
    let named = named.order_by_asc(Column::Id).limit(JOBS).select_only().column(Column::Id);
    Ok(named.into_tuple().all(&app.db.read).await?)
}

/// Brings a job to its end, or to where it has to wait.
pub async fn finish(app: &App, tenant: &Tenant, id: i64) -> Result<()> {
    while transaction!(app.db, |txn| step(txn, app, tenant, id).await)? {}
    Ok(())
}

/// Goes on with all jobs that are due. One that fails is left for the next time, and stops no other.
pub async fn work(app: &App) -> Result<()> {
    let mut after = 0;
    loop {
        let now = app.now();
        let due = Column::DueAt.lte(now).or(Column::DueAt.gt(now + FARTHEST));
        let jobs = job::Entity::find().filter(Column::Id.gt(after)).filter(due).order_by_asc(Column::Id);
        let jobs = jobs.limit(JOBS).all(&app.db.read).await?;
        if jobs.is_empty() {
            return Ok(());
        }
        for job in jobs {
            after = job.id;
            if let Err(error) = async { finish(app, &*tenant::by_id(app, job.tenant_id).await?, after).await }.await {
                tracing::warn!(job = after, cause = error.told(), "a job has to wait");
            }
        }
    }
}

/// Does a part of a job; false where nothing is left to do for now.
async fn step(txn: &Transaction, app: &App, tenant: &Tenant, id: i64) -> Result<bool> {
    let job = job::Entity::find_by_id(id).for_update(txn).into_partial_model::<Job>();
    let Some(job) = job.one(txn).await? else { return Ok(false) };
    let now = app.now();
    let next = if job.kind == Kind::Erase {
        user::erase_step(txn, tenant, &job).await?
    } else {
        channel::close_step(txn, tenant, &job, now).await?
    };
    match next {
        Next::At { place, due_at } => {
            let on = job::Entity::update_many().col_expr(Column::Place, Expr::val(place));
            on.col_expr(Column::DueAt, Expr::val(due_at)).filter(Column::Id.eq(id)).exec(txn).await?;
        }
        Next::Done => drop(job::Entity::delete_by_id(id).exec(txn).await?),
    }
    Ok(matches!(next, Next::At { due_at, .. } if due_at <= now))
}
