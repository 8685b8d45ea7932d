//! The columns of an item and of what it shows, and how they are read.

use entity::ids::{Seq, TypeId, UserId};
use entity::inbox_item::State;
use entity::notification::Kind;
use entity::prelude::FromQueryResult;

use crate::app::App;
use crate::clock::Millis;
use crate::database::Sql;
use crate::domain::tenant::Tenant;

/// An item with what it shows. Nothing is read where there is no item, or no notification any more: one that is past the
/// retention window is as good as gone.
#[derive(Debug, FromQueryResult)]
pub struct Row {
    #[sea_orm(nested)]
    pub own: Own,
    #[sea_orm(nested)]
    pub shown: Shown,
}

/// A user's state of an item.
#[derive(Debug, FromQueryResult)]
pub struct Own {
    #[sea_orm(from_alias = "item_user_id")]
    pub user: UserId,
    #[sea_orm(from_alias = "item_seq")]
    pub seq: Seq,
    #[sea_orm(from_alias = "item_state")]
    pub state: State,
    /// When it was marked by itself.
    #[sea_orm(from_alias = "item_read_at")]
    pub read_at: Option<Millis>,
    /// When the earliest mark over it was made.
    #[sea_orm(from_alias = "item_mark_read_at")]
    pub mark_read_at: Option<Millis>,
    #[sea_orm(from_alias = "item_archived_at")]
    pub archived_at: Option<Millis>,
    #[sea_orm(from_alias = "item_expires_at")]
    pub expires_at: Option<Millis>,
}

/// What is shown of a notification.
#[derive(Debug, FromQueryResult)]
pub struct Shown {
    pub item_notification: i64,
    pub item_kind: Kind,
    pub item_content_type_id: TypeId,
    pub item_title: Option<String>,
    pub item_body: Option<String>,
    pub item_link: Option<String>,
    pub item_params: Option<String>,
    pub item_data: Option<String>,
    pub item_published_at: Millis,
    pub item_updated_at: Option<Millis>,
    pub item_target_type: Option<String>,
    pub item_target_id: Option<String>,
    pub item_action: Option<String>,
    pub s_id: Option<UserId>,
    pub s_external_id: Option<String>,
    pub s_name: Option<String>,
    pub s_avatar_url: Option<String>,
    pub s_locale: Option<String>,
}

/// The columns of [`Own`], of the item `i`.
pub const STATE_COLUMNS: &str = "i.user_id AS item_user_id, i.seq AS item_seq, i.type_id AS item_type_id, \
    i.state AS item_state, i.read_at AS item_read_at, i.archived_at AS item_archived_at, \
    i.expires_at AS item_expires_at, (SELECT m.read_at FROM read_mark m WHERE m.user_id = i.user_id AND \
    m.type_id = i.type_id AND m.read_upto >= i.seq ORDER BY m.read_upto LIMIT 1) AS item_mark_read_at";

/// The columns of [`Shown`], of the notification `n`, its action `a` and its sender `s`.
pub const CONTENT_COLUMNS: &str = "n.id AS item_notification, n.kind AS item_kind, n.type_id AS item_content_type_id, \
    n.title AS item_title, n.body AS item_body, n.link AS item_link, n.params AS item_params, n.data AS item_data, \
    n.published_at AS item_published_at, n.updated_at AS item_updated_at, n.target_type AS item_target_type, \
    n.target_id AS item_target_id, a.code AS item_action, s.id AS s_id, s.external_id AS s_external_id, \
    s.name AS s_name, s.avatar_url AS s_avatar_url, s.locale AS s_locale";

/// Adds the columns of [`Row`]; see [`push_joins`] for the tables.
pub fn push_columns(sql: &mut Sql) {
    sql.push(STATE_COLUMNS).push(", ").push(CONTENT_COLUMNS);
}

/// Adds the sender `s` and the action `a` to the notification `n`: two probes of primary keys.
pub fn push_content_joins(sql: &mut Sql) {
    sql.push(" LEFT JOIN users s ON s.id = n.sender_id LEFT JOIN action a ON a.id = n.action_id");
}

/// Adds the notification `n`, its sender `s` and its action `a` to the item `i`: three probes of unique keys.
pub fn push_joins(sql: &mut Sql, tenant: &Tenant) {
    sql.push(" LEFT JOIN notification n ON n.tenant_id = ").bind(tenant.id);
    sql.push(" AND n.seq = i.seq");
    push_content_joins(sql);
}

/// Items of a user, but for those whose notifications say that they have gone: probes of primary keys.
pub fn some(app: &App, tenant: &Tenant, user: UserId, seqs: &[Seq]) -> Sql {
    let mut sql = Sql::new(&app.db.read);
    sql.push("SELECT ");
    push_columns(&mut sql);
    sql.push(" FROM users u JOIN inbox_item i ON i.user_id = u.id");
    push_joins(&mut sql, tenant);
    sql.push(" WHERE u.tenant_id = ").bind(tenant.id).push(" AND u.id = ").bind(user).push(" AND i.seq").among(seqs);
    sql.push(" AND n.retracted_at IS NULL AND (n.expires_at IS NULL OR n.expires_at > ").bind(app.now()).push(")");
    sql
}
