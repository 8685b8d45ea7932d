//! Raw SQL about digests.

use entity::destination::DestinationKind;
use entity::ids::{Seq, UserId};
use entity::inbox_item::ItemState;
use entity::prelude::*;

use base::clock::Millis;
use domain::preference_filter::push_allowed_by_kind;
use domain::tenant::Tenant;
use model::hours::StoredHours;
use store::SqlBuilder;

/// An unread item, and how many unread items its user has.
#[derive(FromQueryResult)]
pub struct UnreadItem {
    pub user_id: UserId,
    pub seq: Seq,
    pub many: i64,
}

/// The newest unread items of users and their count, of the types that go into digests and that the user wants from
/// this kind of destination. The same items as `inbox(filter: { read: false })` shows of these types.
///
/// Ranges of `inbox_item_state` for each user and type, which cover the query and are counted from their beginning;
/// preferences and read marks are one probe each per user and type.
pub fn select_unread(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    kind: DestinationKind,
    users: &[UserId],
    most: i64,
    now: Millis,
) -> SqlBuilder {
    let (fresh, kept) = (ItemState::Fresh as i16, ItemState::KeptUnread as i16);
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT x.user_id, x.seq, x.many FROM (SELECT i.user_id, i.seq, COUNT(*) OVER (PARTITION BY i.user_id) AS many, ");
    sql.push("ROW_NUMBER() OVER (PARTITION BY i.user_id ORDER BY i.seq DESC) AS place FROM (SELECT u.id AS user_id, r.type_id, ");
    sql.push(
        "COALESCE((SELECT MAX(m.read_upto) FROM read_mark m WHERE m.user_id = u.id AND m.type_id = r.type_id), 0) AS ",
    );
    sql.push("read_upto FROM users u JOIN delivery_rule r ON r.tenant_id = u.tenant_id JOIN message_type mt ON mt.id = r.type_id ");
    sql.push("WHERE u.id").push_list(users).push(" AND u.tenant_id = ").bind(tenant.id);
    sql.push(&format!(" AND r.kind = {} AND r.digest AND ", kind as i16));
    push_allowed_by_kind(&mut sql, tenant, kind, "u.id", "r");
    sql.push(") w JOIN inbox_item i ON i.user_id = w.user_id AND i.type_id = w.type_id ");
    sql.push(&format!("WHERE i.state IN ({fresh}, {kept}) AND (i.state = {kept} OR i.seq > w.read_upto)"));
    sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(now).push(")) x WHERE x.place <= ").bind(most);
    sql.push(" ORDER BY x.user_id, x.seq DESC");
    sql
}

/// A user with an address that works.
#[derive(Debug, FromQueryResult)]
pub struct DigestReader {
    pub contact_id: i64,
    pub user_id: UserId,
    pub address: String,
    pub locale: Option<String>,
    #[sea_orm(nested)]
    pub hours: StoredHours,
}

/// The users of these addresses: probes of the keys of `contact` and `users`.
pub fn select_readers(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    kind: DestinationKind,
    contacts: &[i64],
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT c.id AS contact_id, c.user_id, c.address, u.locale, u.time_zone, u.quiet_from, u.quiet_to, u.digest_at, ");
    sql.push("u.digest_weekday FROM contact c JOIN users u ON u.id = c.user_id WHERE c.id").push_list(contacts);
    sql.push(" AND c.tenant_id = ").bind(tenant.id);
    sql.push(&format!(" AND c.kind = {} AND c.bad_since IS NULL", kind as i16));
    sql
}
