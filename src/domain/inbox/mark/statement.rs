//! What there is to be marked: ranges of `inbox_item_state`.

use entity::ids::{Seq, TypeId, UserId};
use entity::prelude::FromQueryResult;
use sea_orm::ConnectionTrait;

use super::step::Step;
use crate::clock::Millis;
use crate::database::Sql;
use crate::domain::inbox::page::push_target;
use crate::domain::inbox::shelf::{Part, State, push_range};
use crate::domain::tenant::Tenant;
use crate::model::channel::Target;

/// Which items of a type, or of all.
pub enum Which<'a> {
    Items(&'a [Seq]),
    UpTo(Seq, Option<&'a Target>),
}

/// What is unread of a type.
#[derive(Debug, FromQueryResult)]
pub struct Unread {
    /// Above the newest mark.
    pub fresh: i64,
    /// Whatever the mark says.
    pub kept: i64,
    /// Where that mark is.
    pub mark: Seq,
}

/// Counts what is unread of a type up to a place in the log: two ranges, and a probe of `read_mark`'s key.
pub fn unread(db: &impl ConnectionTrait, (user, kind): (UserId, TypeId), up_to: Seq, now: Millis) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("SELECT ");
    for (name, range) in [("fresh", (State::Fresh, Part::AboveMark)), ("kept", (State::KeptUnread, Part::All))] {
        sql.push("(SELECT count(*) FROM inbox_item i WHERE ");
        push_range(&mut sql, user.into(), kind.into(), range, now);
        sql.push(" AND i.seq <= ").bind(up_to).push(&format!(") AS {name}, "));
    }
    sql.push("COALESCE((SELECT MAX(m.read_upto) FROM read_mark m WHERE m.user_id = ").bind(user);
    sql.push(" AND m.type_id = ").bind(kind).push("), 0) AS mark");
    sql
}

/// An item that a step changes.
#[derive(Debug, FromQueryResult)]
pub struct Concerned {
    pub seq: Seq,
}

/// The items that a step changes: a range, with a probe of `notification_seq` for each where a target is named.
pub fn concerned(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    (user, kind): (UserId, TypeId),
    (step, which): (&Step, &Which<'_>),
    now: Millis,
) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("SELECT i.seq FROM inbox_item i");
    if let Which::UpTo(_, Some(target)) = which {
        sql.push(" JOIN notification n ON n.tenant_id = ").bind(tenant.id).push(" AND n.seq = i.seq");
        push_target(&mut sql, "n", target);
    }
    sql.push(" WHERE ");
    push_range(&mut sql, user.into(), kind.into(), (step.from, step.part), now);
    match which {
        Which::Items(seqs) => sql.push(" AND i.seq").among(seqs),
        Which::UpTo(up_to, _) => sql.push(" AND i.seq <= ").bind(*up_to),
    };
    sql
}
