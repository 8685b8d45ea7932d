//! Raises ids and log positions beyond any that may have been given out.
//!
//! After a restore, or a failover that lost recent commits, the log ends earlier than before. It would grow again over
//! positions that clients know as cursors and ids. So each log and all generated ids continue beyond any number that
//! may have been given out. The database records the gap: a cursor in it belongs to the lost part.

use std::fmt::{self, Display, Formatter};

use entity::prelude::*;
use entity::server::{self, Column as Server};
use entity::tenant::{Column, Entity as Head};
use sea_orm::sea_query::ExprTrait;

use super::queries::record_gaps;
use base::clock::Millis;
use base::error::{Error, Result};
use store::Transaction;

/// The row of `server` with the lineage that the numbers belong to.
const NAME: &str = "lineage";

/// The lineage that the numbers of a database belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineageRecord {
    /// How often the numbers were raised.
    pub number: u64,
    /// The lineage's name.
    pub name: String,
}

impl Display for LineageRecord {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.name)
    }
}

/// A row that every database has.
const FIRST: &str = "name";

/// Reads the row. `None` if no node has compared lineages yet. Other nodes wait here until the transaction ends.
///
/// Fails with `Unavailable` while a dump is being restored and has not reached `server` yet: our row would conflict.
pub(super) async fn load_lineage(txn: &Transaction) -> Result<Option<LineageRecord>> {
    if server::Entity::find_by_id(FIRST).for_update(txn).one(txn).await?.is_none() {
        return Err(Error::Unavailable("the database is being restored".into()));
    }
    let row = server::Entity::find_by_id(NAME).one(txn).await?;
    Ok(row.map(|row| {
        let (number, name) = row.value.split_once(' ').unwrap_or(("", &row.value));
        LineageRecord { number: number.parse().unwrap_or_default(), name: name.to_owned() }
    }))
}

/// Writes the row.
pub(super) async fn save_lineage(txn: &Transaction, standing: &LineageRecord) -> Result<()> {
    let columns = [Server::Name, Server::Value];
    let merged = ExistingRows::Merged { key: &columns[..1], raised: &[], replaced: &columns[1..] };
    insert(txn, columns, vec![[NAME.into(), standing.to_string().into()]], merged).await?;
    Ok(())
}

/// Moves the logs of all tenants forward, records the gaps, and returns how many tenants there are.
pub(super) async fn advance_logs(txn: &Transaction, by: i64, now: Millis) -> Result<u64> {
    record_gaps(txn, by, now).await?;
    let further = |column: Column| Expr::col(column).add(by);
    let raise = Head::update_many()
        .col_expr(Column::LastSeq, further(Column::LastSeq))
        .col_expr(Column::LastNotificationId, further(Column::LastNotificationId));
    Ok(raise.exec(txn).await?.rows_affected)
}
