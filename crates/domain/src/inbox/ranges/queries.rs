//! SQL conditions for the ranges of an inbox.

use entity::ids::{TypeId, UserId};

use super::{InboxSide, MarkPart, StateRange, ranges_of_side};
use base::clock::Millis;
use store::SqlBuilder;

/// A user or type in a statement: a column of an outer table, or a constant.
///
/// MySQL and MariaDB use an index range only if its bounds are constants at planning time.
#[derive(Clone, Copy, Debug)]
pub enum SqlOperand<'a> {
    Column(&'a str),
    Constant(i64),
}

impl SqlOperand<'_> {
    pub fn push(self, sql: &mut SqlBuilder) {
        match self {
            Self::Column(column) => sql.push(column),
            Self::Constant(id) => sql.bind(id),
        };
    }
}

impl From<UserId> for SqlOperand<'_> {
    fn from(user: UserId) -> Self {
        Self::Constant(user.0)
    }
}

impl From<TypeId> for SqlOperand<'_> {
    fn from(kind: TypeId) -> Self {
        Self::Constant(kind.0)
    }
}

/// Adds the condition that `i` is in a range of a user and a type, and has not expired.
///
/// `inbox_item_state` covers it, including the expiry. The newest read mark is one probe of `read_mark`'s key.
pub fn push_range(
    sql: &mut SqlBuilder,
    user: SqlOperand<'_>,
    kind: SqlOperand<'_>,
    (state, part): StateRange,
    now: Millis,
) {
    sql.push("i.user_id = ");
    user.push(sql);
    sql.push(" AND i.type_id = ");
    kind.push(sql);
    sql.push(&format!(" AND i.state = {}", state as i16));
    if part != MarkPart::All {
        sql.push(if part == MarkPart::AboveMark { " AND i.seq > " } else { " AND i.seq <= " });
        sql.push("COALESCE((SELECT MAX(m.read_upto) FROM read_mark m WHERE m.user_id = ");
        user.push(sql);
        sql.push(" AND m.type_id = ");
        kind.push(sql);
        sql.push("), 0)");
    }
    sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(now).push(")");
}

/// Adds the condition that `i`, an item of any type, read or unread, is on this side and has not expired.
pub fn push_side(sql: &mut SqlBuilder, side: InboxSide, now: Millis) {
    let states = ranges_of_side(side, None).iter().map(|(state, _)| (*state as i16).to_string());
    sql.push(&format!("i.state IN ({})", states.collect::<Vec<_>>().join(", ")));
    sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(now).push(")");
}
