//! The two statements that read new items.

use entity::columns;
use entity::ids::{Seq, TypeId, UserId};

use domain::inbox::item::{ContentWithRevision, UserItemRow, push_content_joins};
use domain::probe;
use domain::tenant::Tenant;
use store::{SqlBuilder, Store};

/// Which items to read.
#[derive(Clone, Copy, Debug)]
pub struct NewItemsRange<'a> {
    pub after: Seq,
    pub upto: Seq,
    /// Of these types, or of all if `None`.
    pub types: Option<&'a [TypeId]>,
    /// The oldest items, up to this many. `None` reads all.
    pub limit: Option<usize>,
}

/// The unexpired items of users within a span: a range of `inbox_item`'s key for each user.
pub fn select_items(store: &Store, users: &[UserId], span: NewItemsRange<'_>) -> SqlBuilder {
    let mut sql = SqlBuilder::new(&store.db.read);
    sql.push("SELECT ").push_columns::<UserItemRow>().push(" FROM inbox_item i WHERE i.user_id").push_list(users);
    sql.push(" AND i.seq > ").bind(span.after).push(" AND i.seq <= ").bind(span.upto);
    sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(store.now()).push(")");
    if let Some(types) = span.types {
        sql.push(" AND i.type_id").push_list(types);
    }
    sql.push(" ORDER BY i.seq");
    if let Some(limit) = span.limit {
        sql.push(" LIMIT ").bind(i64::try_from(limit).unwrap_or(i64::MAX));
    }
    sql
}

columns! {
    /// The position of a notification, and the versions of the catalogue and texts it is shown with.
    #[derive(Debug)]
    pub struct ContentVersion {
        pub seq: Seq = "n.seq",
        pub catalogue_version: i64 = "t.catalogue_version",
        pub texts: i64 = "t.text_version",
    }
}

/// The contents of notifications: a probe of `notification_seq` for each, and of primary keys.
pub fn select_contents(store: &Store, tenant: &Tenant, seqs: &[Seq]) -> SqlBuilder {
    let mut sql = SqlBuilder::new(&store.db.read);
    sql.push("SELECT ").push_columns::<(ContentVersion, ContentWithRevision)>();
    sql.push(" FROM ");
    probe::push_by_seqs(&mut sql, tenant, seqs);
    sql.push(" JOIN tenant t ON t.id = n.tenant_id");
    push_content_joins(&mut sql);
    sql
}
