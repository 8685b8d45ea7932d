//! Spans become tallies, item by item.

use entity::ids::{Seq, TenantId, TypeId, UserId};
use sea_orm::QueryResult;

use crate::clock::Millis;
use crate::database::Transaction;
use crate::domain::inbox::shelf::State;
use crate::domain::tenant::Tenant;
use crate::error::Result;
use crate::sql::Sql;

const COLUMNS: &str = "s.user_id, s.is_read, s.type_id, s.after_seq, s.upto_seq, s.created_at";

/// The most spans of one statement.
const SPANS: usize = 64;

/// A part of an inbox that arrived, or was read, at once.
struct Span {
    tenant: TenantId,
    user: UserId,
    is_read: bool,
    /// Of what was read; of what arrived, all types.
    kind: TypeId,
    after: Seq,
    upto: Seq,
    created_at: Millis,
}

/// Counts the spans of users item by item, where they have any.
pub async fn settle(txn: &Transaction, users: &[UserId]) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT u.tenant_id, ").push(COLUMNS).push(" FROM tally_span s JOIN users u ON u.id = s.user_id ");
    sql.push("WHERE s.user_id").among(users);
    let read = |row: &QueryResult| Span::read(row, row.try_get("", "tenant_id")?);
    let spans = sql.all(txn).await?.iter().map(read).collect::<Result<Vec<_>>>()?;
    if spans.is_empty() {
        return Ok(());
    }
    add_all(txn, spans).await?;
    let mut sql = Sql::new(txn);
    sql.push("DELETE FROM tally_span WHERE user_id").among(users);
    sql.run(txn).await?;
    Ok(())
}

/// Counts the items up to a place of somebody who is no user any more, before these are deleted; the spans stay for the others.
pub async fn settle_up_to(txn: &Transaction, tenant: &Tenant, user: UserId, upto: Seq) -> Result<()> {
    let mut sql = Sql::new(txn);
    sql.push("SELECT ").push(COLUMNS).push(" FROM tally_span s WHERE s.user_id = ").bind(user);
    sql.push(" AND s.after_seq < ").bind(upto);
    let read = |row: &QueryResult| Span::read(row, tenant.id);
    let mut spans = sql.all(txn).await?.iter().map(read).collect::<Result<Vec<_>>>()?;
    for span in &mut spans {
        span.upto = span.upto.min(upto);
    }
    add_all(txn, spans).await
}

async fn add_all(txn: &Transaction, spans: Vec<Span>) -> Result<()> {
    let (read, arrived): (Vec<Span>, Vec<Span>) = spans.into_iter().partition(|span| span.is_read);
    for mut spans in [arrived.as_slice(), read.as_slice()] {
        while !spans.is_empty() {
            // As many as a power of two, so that there are few different statements.
            let (some, rest) = spans.split_at(1 << spans.len().min(SPANS).ilog2());
            add(txn, some).await?;
            spans = rest;
        }
    }
    Ok(())
}

/// Counts the items of spans of one kind. Each is a branch, a range of `inbox_item`'s key or of `inbox_item_state`: joined
/// with the table of spans, the planners would take all that a user has.
async fn add(txn: &Transaction, spans: &[Span]) -> Result<()> {
    let is_read = spans.iter().any(|span| span.is_read);
    let mut sql = Sql::new(txn);
    sql.push("INSERT INTO tally (tenant_id, seq, delivered, was_read) SELECT x.tenant_id, x.seq, ");
    sql.push(if is_read { "0, count(*)" } else { "count(*), 0" }).push(" FROM (");
    for (place, span) in spans.iter().enumerate() {
        sql.push(if place > 0 { " UNION ALL " } else { "" });
        span.push_items(&mut sql);
    }
    sql.push(") x GROUP BY x.tenant_id, x.seq");
    sql.run(txn).await?;
    Ok(())
}

impl Span {
    fn read(row: &QueryResult, tenant: TenantId) -> Result<Self> {
        Ok(Self {
            tenant,
            user: row.try_get("", "user_id")?,
            is_read: row.try_get("", "is_read")?,
            kind: row.try_get("", "type_id")?,
            after: row.try_get("", "after_seq")?,
            upto: row.try_get("", "upto_seq")?,
            created_at: row.try_get("", "created_at")?,
        })
    }

    fn push_items(&self, sql: &mut Sql) {
        sql.push("SELECT ").bind(self.tenant).push(" AS tenant_id, i.seq FROM inbox_item i WHERE i.user_id = ");
        sql.bind(self.user).push(" AND i.seq > ").bind(self.after).push(" AND i.seq <= ").bind(self.upto);
        if self.is_read {
            sql.push(" AND i.type_id = ").bind(self.kind).push(&format!(" AND i.state = {}", State::Fresh as i16));
            sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(self.created_at).push(")");
        } else {
            super::push_published(sql, |sql| {
                sql.bind(self.tenant);
            });
        }
    }
}
