//! The columns of an item and its content.

use entity::ids::{Seq, TypeId, UserId};
use entity::inbox_item::ItemState;
use entity::notification::NotificationKind;
use entity::{columns, numbers};

use crate::probe;
use crate::tenant::Tenant;
use base::clock::Millis;
use model::notification_cache::ContentRevision;
use store::{SqlBuilder, Store};

numbers! {
    /// The user's own state of an item `i`.
    #[derive(Debug)]
    pub struct UserItemRow {
        pub user: UserId = "i.user_id",
        pub seq: Seq = "i.seq AS item_seq",
        pub state: ItemState = "i.state AS item_state",
        /// When the item itself was marked.
        pub read_at: Option<Millis> = "i.read_at AS item_read_at",
        /// The time of the earliest read mark that covers the item.
        pub mark_read_at: Option<Millis> = "(SELECT m.read_at FROM read_mark m WHERE m.user_id = i.user_id AND \
            m.type_id = i.type_id AND m.read_upto >= i.seq ORDER BY m.read_upto LIMIT 1) AS item_mark_read_at",
        pub archived_at: Option<Millis> = "i.archived_at AS item_archived_at",
        pub expires_at: Option<Millis> = "i.expires_at AS item_expires_at",
    }
}

columns! {
    /// The displayed columns of a notification `n`, its action `a` and its sender `s`.
    #[derive(Debug)]
    pub struct ContentRow {
        pub kind: NotificationKind = "n.kind AS item_kind",
        pub type_id: TypeId = "n.type_id AS item_type_id",
        pub title: Option<String> = "n.title AS item_title",
        pub body: Option<String> = "n.body AS item_body",
        pub link: Option<String> = "n.link AS item_link",
        pub params: Option<String> = "n.params AS item_params",
        pub data: Option<String> = "n.data AS item_data",
        pub target_type: Option<String> = "n.target_type AS item_target_type",
        pub target_id: Option<String> = "n.target_id AS item_target_id",
        pub action: Option<String> = "a.code AS item_action",
        pub sender: Option<String> = "s.external_id AS s_external_id",
        pub sender_name: Option<String> = "s.name AS s_name",
        pub sender_avatar_url: Option<String> = "s.avatar_url",
        pub sender_locale: Option<String> = "s.locale",
    }
}

/// The content of a notification, with its revision.
pub type ContentWithRevision = (ContentRevision, ContentRow);

/// An item with its content. The content is missing if the notification was deleted after the retention window.
pub type ItemWithContent = (UserItemRow, ContentWithRevision);

/// Adds the sender `s` and the action `a` to the notification `n`: two probes of primary keys.
pub fn push_content_joins(sql: &mut SqlBuilder) {
    sql.push(" LEFT JOIN users s ON s.id = n.sender_id LEFT JOIN action a ON a.id = n.action_id");
}

/// Adds the notification `n`, its sender `s` and its action `a` to the item `i`: three probes of unique keys.
pub fn push_joins(sql: &mut SqlBuilder, tenant: &Tenant) {
    probe::push_join_at(sql, " LEFT JOIN", tenant, "i.seq");
    push_content_joins(sql);
}

/// The user's items with these seqs, without retracted or expired notifications: probes of primary keys.
pub fn select_items(store: &Store, tenant: &Tenant, user: UserId, seqs: &[Seq]) -> SqlBuilder {
    let mut sql = SqlBuilder::new(&store.db.read);
    sql.push("SELECT ").push_columns::<ItemWithContent>();
    sql.push(" FROM users u JOIN inbox_item i ON i.user_id = u.id");
    push_joins(&mut sql, tenant);
    sql.push(" WHERE u.tenant_id + 0 = ")
        .bind(tenant.id)
        .push(" AND u.id = ")
        .bind(user)
        .push(" AND i.seq")
        .push_list(seqs);
    sql.push(" AND n.retracted_at IS NULL AND (n.expires_at IS NULL OR n.expires_at > ").bind(store.now()).push(")");
    sql
}
