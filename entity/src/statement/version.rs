//! Version numbers that detect whether a cached row is outdated.

use sea_orm::ColumnTrait;
use sea_orm::sea_query::{CaseStatement, Expr, ExprTrait};

/// The next version of a column, unique even after a restore from an older backup. It is the current time in
/// milliseconds since 1970, or the previous version plus one if that is not smaller.
pub fn next_version(column: impl ColumnTrait, now: i64) -> Expr {
    let last = Expr::col(column.as_column_ref());
    CaseStatement::new().case(last.clone().gte(now), last.add(1)).finally(now).into()
}
