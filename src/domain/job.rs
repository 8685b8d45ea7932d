//! Jobs: work of several transactions, whose first one writes it down. It is brought to its end whatever becomes of the
//! request that began it, and of the node.
//!
//! A step is one transaction of a bounded size, which locks the job's row, does a part of the work and writes down how far
//! it came. So it does not matter who takes it: the request does as long as it is there, and so does, every few seconds,
//! each node; where they meet, they take turns.

use entity::ids::TenantId;
use entity::job::{self, ActiveModel, Column};
use entity::prelude::*;
use sea_orm::sea_query::ExprTrait;

use super::tenant::Tenant;
use crate::app::App;
use crate::clock::Millis;
use crate::database::Transaction;
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
    pub kind: Kind,
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

/// A job that is due.
#[derive(Clone, Copy, Debug, DerivePartialModel)]
#[sea_orm(entity = "job::Entity")]
pub struct Due {
    pub id: i64,
    pub tenant_id: TenantId,
}

/// Some of the jobs that are due, in the order of their numbers, after one of them.
pub async fn due(app: &App, after: i64) -> Result<Vec<Due>> {
    let now = app.now();
    let due = Column::DueAt.lte(now).or(Column::DueAt.gt(now + FARTHEST));
    let jobs = job::Entity::find().filter(Column::Id.gt(after)).filter(due).order_by_asc(Column::Id);
    Ok(jobs.limit(JOBS).into_partial_model().all(&app.db.read).await?)
}

/// Locks a job, of which a part is to be done in this transaction; nothing where it is done.
pub async fn locked(txn: &Transaction, id: i64) -> Result<Option<Job>> {
    Ok(job::Entity::find_by_id(id).for_update(txn).into_partial_model().one(txn).await?)
}

/// Writes down what is left of a job after a part of it; whether it can go on at once.
pub async fn left(txn: &Transaction, id: i64, next: Next, now: Millis) -> Result<bool> {
    match next {
        Next::At { place, due_at } => {
            let on = job::Entity::update_many().col_expr(Column::Place, Expr::val(place));
            on.col_expr(Column::DueAt, Expr::val(due_at)).filter(Column::Id.eq(id)).exec(txn).await?;
        }
        Next::Done => {
            job::Entity::delete_by_id(id).exec(txn).await?;
        }
    }
    Ok(matches!(next, Next::At { due_at, .. } if due_at <= now))
}
