//! What is new in inboxes that have been synced: in two statements, for any number of users.

use std::collections::HashMap;
use std::sync::Arc;

use entity::ids::{Seq, TypeId, UserId};

use crate::app::App;
use crate::domain::catalogue;
use crate::domain::inbox::item::{self, CONTENT_COLUMNS, Content, Item, STATE_COLUMNS};
use crate::domain::tenant::Tenant;
use crate::domain::user::Profile;
use crate::error::Result;
use crate::sql::{LIST, Sql};

/// Which items.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    pub after: Seq,
    pub upto: Seq,
    /// Of these types, or of all.
    pub types: Option<&'a [TypeId]>,
    /// The oldest so many; nothing means all.
    pub limit: Option<usize>,
}

/// What is in a span.
#[derive(Debug)]
pub struct Newer {
    /// Oldest first.
    pub items: Vec<Item>,
    /// Where a span with a limit was full: the place after which there may be more.
    pub more_after: Option<Seq>,
}

/// The items of users within a span of the log that have not expired.
///
/// A range of `inbox_item`'s key a user, and then what they show, once for all who got the same.
pub async fn newer(app: &App, tenant: &Tenant, users: &[UserId], span: Span<'_>) -> Result<Newer> {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ").push(STATE_COLUMNS).push(" FROM inbox_item i WHERE i.user_id").among(users);
    sql.push(" AND i.seq > ").bind(span.after).push(" AND i.seq <= ").bind(span.upto);
    sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(app.now()).push(")");
    if let Some(types) = span.types {
        sql.push(" AND i.type_id").among(types);
    }
    sql.push(" ORDER BY i.seq");
    if let Some(limit) = span.limit {
        sql.push(" LIMIT ").bind(i64::try_from(limit).unwrap_or(i64::MAX));
    }
    let rows = sql.all(&app.db.read).await?;
    let mut seqs = rows.iter().map(|row| row.try_get::<Seq>("", "item_seq")).collect::<Result<Vec<_>, _>>()?;
    // By rows: what has gone meanwhile filled the span all the same.
    let more_after = seqs.last().copied().filter(|_| span.limit.is_some_and(|limit| rows.len() >= limit));
    seqs.dedup();
    let contents = contents(app, tenant, &seqs).await?;
    let mut items = Vec::with_capacity(rows.len());
    for row in &rows {
        // Whatever has gone between the two statements is not new any more.
        if let Some(content) = contents.get(&row.try_get::<Seq>("", "item_seq")?) {
            items.push(Item::over(row, content.clone())?);
        }
    }
    Ok(Newer { items, more_after })
}

async fn contents(app: &App, tenant: &Tenant, seqs: &[Seq]) -> Result<HashMap<Seq, Arc<Content>>> {
    let mut contents = HashMap::with_capacity(seqs.len());
    for seqs in seqs.chunks(LIST) {
        let mut sql = Sql::new(&app.db.read);
        sql.push("SELECT n.seq AS content_seq, t.catalogue_version, ").push(CONTENT_COLUMNS).push(", ");
        sql.push(&Profile::columns("s")).push(" FROM notification n JOIN tenant t ON t.id = n.tenant_id");
        item::push_content_joins(&mut sql);
        sql.push(" WHERE n.tenant_id = ").bind(tenant.id).push(" AND n.seq").among(seqs);
        let rows = sql.all(&app.db.read).await?;
        let Some(row) = rows.first() else { continue };
        let catalogue = catalogue::at(app, tenant, row.try_get("", "catalogue_version")?).await?;
        for row in &rows {
            contents.insert(row.try_get("", "content_seq")?, Arc::new(Content::read(row, &catalogue)?));
        }
    }
    Ok(contents)
}
