//! Jobs: work that takes several transactions. The first transaction records the job, so it is completed even if the
//! request or the node that began it goes away.
//!
//! A step is one transaction of bounded size. It locks the job's row, does a part of the work and records its progress,
//! so any caller may run it: the request that began the job does while it lasts, and each node runs due jobs every few
//! seconds. Where they meet, the row lock makes them take turns.

use entity::ids::TenantId;
pub use entity::job::JobKind;
use entity::job::{self, ActiveModel, Column};
use entity::prelude::*;
use sea_orm::sea_query::ExprTrait;

use super::tenant::Tenant;
use base::clock::Millis;
use base::error::Result;
use store::{Store, Transaction};

/// The most due jobs that one query returns.
const JOBS: u64 = 100;

/// The longest delay of a job, in milliseconds. A later due time was set by a wrong clock: the job counts as due.
const FARTHEST: Millis = 3_600_000;

/// A job whose row is locked.
#[derive(Debug, DerivePartialModel)]
#[sea_orm(entity = "job::Entity")]
pub struct LockedJob {
    pub kind: JobKind,
    /// The user or the channel.
    #[sea_orm(from_col = "subject_id")]
    pub subject: i64,
    /// Its progress, from 0.
    pub place: i64,
}

/// The state of a job after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobProgress {
    /// Continue at `place`, but not before `due_at`.
    At {
        place: i64,
        due_at: Millis,
    },
    Done,
}

/// Records a job, in the transaction that does the first part of it.
pub async fn create_job(
    txn: &Transaction,
    tenant: &Tenant,
    (kind, subject): (JobKind, i64),
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

/// The unfinished jobs of this kind and name, at most 100.
pub async fn find_by_name(store: &Store, tenant: &Tenant, kind: JobKind, name: &str) -> Result<Vec<i64>> {
    let named = job::Entity::of_tenant(tenant.id).filter(Column::Kind.eq(kind)).filter(Column::Name.eq(name));
    let named = named.order_by_asc(Column::Id).limit(JOBS).select_only().column(Column::Id);
    Ok(named.into_tuple().all(&store.db.read).await?)
}

/// A job that is due.
#[derive(Clone, Copy, Debug, DerivePartialModel)]
#[sea_orm(entity = "job::Entity")]
pub struct DueJob {
    pub id: i64,
    pub tenant_id: TenantId,
}

/// Up to 100 due jobs with numbers above `after`, in the order of their numbers.
pub async fn find_due(store: &Store, after: i64) -> Result<Vec<DueJob>> {
    let now = store.now();
    let due = Column::DueAt.lte(now).or(Column::DueAt.gt(now + FARTHEST));
    let jobs = job::Entity::find().filter(Column::Id.gt(after)).filter(due).order_by_asc(Column::Id);
    Ok(jobs.limit(JOBS).into_partial_model().all(&store.db.read).await?)
}

/// Locks a job for a step. `None` if the job is done.
pub async fn lock_job(txn: &Transaction, id: i64) -> Result<Option<LockedJob>> {
    Ok(job::Entity::find_by_id(id).for_update(txn).into_partial_model().one(txn).await?)
}

/// Records the state of a job after a step. Returns whether it can continue at once.
pub async fn save_progress(txn: &Transaction, id: i64, next: JobProgress, now: Millis) -> Result<bool> {
    match next {
        JobProgress::At { place, due_at } => {
            let on = job::Entity::update_many().col_expr(Column::Place, Expr::val(place));
            on.col_expr(Column::DueAt, Expr::val(due_at)).filter(Column::Id.eq(id)).exec(txn).await?;
        }
        JobProgress::Done => {
            job::Entity::delete_by_id(id).exec(txn).await?;
        }
    }
    Ok(matches!(next, JobProgress::At { due_at, .. } if due_at <= now))
}
