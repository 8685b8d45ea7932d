//! Counting rows.

use sea_orm::sea_query::{Asterisk, Expr, Func};
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, QuerySelect, Select};

/// Counts what a SELECT finds, without the sub-query that `PaginatorTrait::count` writes: MySQL would make a table of it.
pub trait Count {
    /// How many rows there are.
    fn count_rows(self, db: &impl ConnectionTrait) -> impl Future<Output = Result<i64, DbErr>> + Send;
}

impl<E: EntityTrait> Count for Select<E> {
    async fn count_rows(self, db: &impl ConnectionTrait) -> Result<i64, DbErr> {
        let count = self.select_only().expr(Func::count(Expr::col(Asterisk))).into_tuple().one(db).await?;
        Ok(count.unwrap_or_default())
    }
}
