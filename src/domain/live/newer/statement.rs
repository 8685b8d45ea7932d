//! The two statements of what is new.

use entity::ids::{Seq, TypeId, UserId};
use entity::prelude::FromQueryResult;

use crate::app::App;
use crate::database::Sql;
use crate::domain::inbox::item::{CONTENT_COLUMNS, STATE_COLUMNS, Shown, push_content_joins};
use crate::domain::tenant::Tenant;

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

/// The items of users within a span that have not expired: a range of `inbox_item`'s key for each user.
pub fn items(app: &App, users: &[UserId], span: Span<'_>) -> Sql {
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
    sql
}

/// What a notification shows, and by which catalogue.
#[derive(Debug, FromQueryResult)]
pub struct Row {
    pub content_seq: Seq,
    pub catalogue_version: i64,
    #[sea_orm(nested)]
    pub shown: Shown,
}

/// What notifications show: a probe of `notification_seq` for each, and of primary keys.
pub fn contents(app: &App, tenant: &Tenant, seqs: &[Seq]) -> Sql {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT n.seq AS content_seq, t.catalogue_version, ").push(CONTENT_COLUMNS);
    sql.push(" FROM notification n JOIN tenant t ON t.id = n.tenant_id");
    push_content_joins(&mut sql);
    sql.push(" WHERE n.tenant_id = ").bind(tenant.id).push(" AND n.seq").among(seqs);
    sql
}
