//! Which items count as what. Overview, list and marks all choose their items here, so that a count is always the
//! length of the list.
//!
//! An inbox is an index over (user, type, state, seq, expiry). Each question about it is a few ranges of that index,
//! a [`Range`] for each state that answers it.

use entity::ids::{TypeId, UserId};
pub use entity::inbox_item::State;

use crate::clock::Millis;
use crate::sql::Sql;

/// Which items of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    All,
    AboveMark,
    UpToMark,
}

/// One range of the index, within a user and a type.
pub type Range = (State, Part);

/// Both sides of the inbox that a question may be about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// What is not archived.
    #[default]
    Inbox,
    Archive,
}

/// The ranges that hold the items of a side, all of them or only the read or unread ones.
pub fn ranges(side: Side, read: Option<bool>) -> &'static [Range] {
    use Part::{AboveMark, All, UpToMark};
    use State::{ArchivedRead, ArchivedUnread, Fresh, KeptUnread, Read};
    match (side, read) {
        (Side::Inbox, None) => &[(Fresh, All), (Read, All), (KeptUnread, All)],
        (Side::Inbox, Some(true)) => &[(Fresh, UpToMark), (Read, All)],
        (Side::Inbox, Some(false)) => &[(Fresh, AboveMark), (KeptUnread, All)],
        (Side::Archive, None) => &[(ArchivedRead, All), (ArchivedUnread, All)],
        (Side::Archive, Some(true)) => &[(ArchivedRead, All)],
        (Side::Archive, Some(false)) => &[(ArchivedUnread, All)],
    }
}

/// A user or type in a statement: a column of an outer table, or a constant.
///
/// MySQL and MariaDB use a range of an index only where its bounds are constants when they plan.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    Column(&'a str),
    Constant(i64),
}

impl Place<'_> {
    /// Adds it to a statement.
    pub fn push(self, sql: &mut Sql) {
        match self {
            Self::Column(column) => sql.push(column),
            Self::Constant(id) => sql.bind(id),
        };
    }
}

impl From<UserId> for Place<'_> {
    fn from(user: UserId) -> Self {
        Self::Constant(user.0)
    }
}

impl From<TypeId> for Place<'_> {
    fn from(kind: TypeId) -> Self {
        Self::Constant(kind.0)
    }
}

/// Adds the condition that `i` is in a range of a user and a type, and has not expired.
///
/// Carried by `inbox_item_state`, from which expiry is read too; the newest mark is one probe of `read_mark`'s key.
pub fn push_range(sql: &mut Sql, user: Place<'_>, kind: Place<'_>, (state, part): Range, now: Millis) {
    sql.push("i.user_id = ");
    user.push(sql);
    sql.push(" AND i.type_id = ");
    kind.push(sql);
    sql.push(&format!(" AND i.state = {}", state as i16));
    if part != Part::All {
        sql.push(if part == Part::AboveMark { " AND i.seq > " } else { " AND i.seq <= " });
        sql.push("COALESCE((SELECT MAX(m.read_upto) FROM read_mark m WHERE m.user_id = ");
        user.push(sql);
        sql.push(" AND m.type_id = ");
        kind.push(sql);
        sql.push("), 0)");
    }
    sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(now).push(")");
}
