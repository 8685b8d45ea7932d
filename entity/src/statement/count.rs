//! Counting rows.

use sea_orm::sea_query::{Asterisk, Expr, Func};
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, QuerySelect, Select};

/// Counts the rows of a SELECT, without the sub-query of `PaginatorTrait::count`, which MySQL would materialize.
pub trait CountRows {
    /// The number of rows.
    fn count_rows(self, db: &impl ConnectionTrait) -> impl Future<Output = Result<i64, DbErr>> + Send;
}

impl<E: EntityTrait> CountRows for Select<E> {
    async fn count_rows(self, db: &impl ConnectionTrait) -> Result<i64, DbErr> {
        let count = self.select_only().expr(Func::count(Expr::col(Asterisk))).into_tuple().one(db).await?;
        Ok(count.unwrap_or_default())
    }
}
