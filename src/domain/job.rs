//! Jobs: work of several transactions, whose first one writes it down. It is brought to its end whatever becomes of the
//! request that began it, and of the node.
//!
//! A step is one transaction of a bounded size, which locks the job's row, does a part of the work and writes down how far
//! it came. So it does not matter who takes it: the request does as long as it is there, and so does, every few seconds,
//! each node; where they meet, they take turns.

use entity::ids::TenantId;
pub use entity::job::Kind;
use sea_orm::QueryResult;

use super::tenant::{self, Tenant};
use super::{channel, user};
use crate::app::App;
use crate::clock::Millis;
use crate::database::{Transaction, transaction};
use crate::error::Result;
use crate::sql::Sql;

/// Jobs that are looked for at once.
const JOBS: i64 = 100;

/// The longest that a job may be put off, in milliseconds. A time that is farther off was set by a clock that went wrong,
/// and does not count.
const FARTHEST: Millis = 3_600_000;

/// A job whose row is locked.
#[derive(Debug)]
pub struct Job {
    kind: Kind,
    /// The user or the channel.
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
    let mut sql = Sql::new(txn);
    sql.push("INSERT INTO job (tenant_id, kind, subject_id, name, created_at) VALUES (").bind(tenant.id);
    sql.push(", ").bind(kind as i16).push(", ").bind(subject).push(", ").bind(name.map(str::to_owned));
    sql.push(", ").bind(now).push(")");
    sql.run(txn).await?;
    Ok(())
}

/// The jobs of a kind that go by this name and are not done.
pub async fn named(app: &App, tenant: &Tenant, kind: Kind, name: &str) -> Result<Vec<i64>> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT j.id FROM job j WHERE j.tenant_id = ").bind(tenant.id);
    sql.push(" AND j.kind = ").bind(kind as i16).push(" AND j.name = ").bind(name);
    sql.push(" ORDER BY j.id LIMIT ").bind(JOBS);
    sql.all(&app.db.read).await?.iter().map(|row| Ok(row.try_get("", "id")?)).collect()
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
        let mut sql = Sql::new(&app.db.read);
        sql.push("SELECT j.id, j.tenant_id FROM job j WHERE j.id > ").bind(after).push(" AND (j.due_at <= ").bind(now);
        sql.push(" OR j.due_at > ").bind(now + FARTHEST).push(") ORDER BY j.id LIMIT ").bind(JOBS);
        let rows = sql.all(&app.db.read).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            after = row.try_get("", "id")?;
            let tenant: TenantId = row.try_get("", "tenant_id")?;
            if let Err(error) = async { finish(app, &*tenant::by_id(app, tenant).await?, after).await }.await {
                tracing::warn!(job = after, cause = error.told(), "a job has to wait");
            }
        }
    }
}

/// Does a part of a job; false where nothing is left to do for now.
async fn step(txn: &Transaction, app: &App, tenant: &Tenant, id: i64) -> Result<bool> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT j.kind, j.subject_id, j.place FROM job j WHERE j.id = ").bind(id).for_update();
    let Some(row) = sql.one(txn).await? else { return Ok(false) };
    let job = Job::read(&row)?;
    let now = app.now();
    let next = if job.kind == Kind::Erase {
        user::erase_step(txn, tenant, &job).await?
    } else {
        channel::close_step(txn, tenant, &job, now).await?
    };
    let mut sql = Sql::new(txn);
    match next {
        Next::At { place, due_at } => {
            sql.push("UPDATE job SET place = ").bind(place).push(", due_at = ").bind(due_at);
        }
        Next::Done => {
            sql.push("DELETE FROM job");
        }
    }
    sql.push(" WHERE id = ").bind(id);
    sql.run(txn).await?;
    Ok(matches!(next, Next::At { due_at, .. } if due_at <= now))
}

impl Job {
    fn read(row: &QueryResult) -> Result<Self> {
        Ok(Self {
            kind: row.try_get("", "kind")?,
            subject: row.try_get("", "subject_id")?,
            place: row.try_get("", "place")?,
        })
    }
}
