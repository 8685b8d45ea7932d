//! Numbers by which what is remembered of a row is told from what it is by now.

use sea_orm::ColumnTrait;
use sea_orm::sea_query::{CaseStatement, Expr, ExprTrait};

/// The next number of a column: one that was never given before, not even where the database is restored from a time before it was and goes on from there. It
/// is the instant of now, in milliseconds since 1970, or the one after the last where that is as late.
pub fn next_version(column: impl ColumnTrait, now: i64) -> Expr {
    let last = Expr::col(column.as_column_ref());
    CaseStatement::new().case(last.clone().gte(now), last.add(1)).finally(now).into()
}
