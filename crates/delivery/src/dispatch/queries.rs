//! Raw SQL about users' addresses.

use std::sync::Arc;

use entity::delivery_rule::SendCondition;
use entity::destination::DestinationKind;
use entity::ids::{Seq, TypeId, UserId};
use entity::inbox_item::ItemState;
use entity::prelude::*;

use base::clock::Millis;
use domain::preference_filter::push_allowed_by_kind;
use domain::tenant::Tenant;
use model::catalogue::DeliveryRule;
use model::hours::StoredHours;
use model::notification::Notification;
use model::reader::ReaderLocale;
use store::SqlBuilder;

/// A user with an address.
#[derive(FromQueryResult)]
pub(super) struct AddressedUser {
    pub user_id: UserId,
}

/// The next users, by id, with an address, that a publication may have reached. Their inbox decides whether it did.
///
/// Everyone: a scan of `contact_tenant`. Named users: a range of `recipient`'s key. Groups and subscribers: a scan of
/// `subscription_channel_user` for the channels, and a probe of `contact_user` for each.
pub(super) fn select_addressed_users(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    kind: DestinationKind,
    (of, seq): (&Notification, Seq),
    after: UserId,
    most: u64,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT DISTINCT c.user_id FROM ");
    if of.audience.everyone {
        sql.push("contact c WHERE ");
    } else if let Some(receiver) = of.receiver {
        sql.push("contact c WHERE c.user_id = ").bind(receiver).push(" AND ");
    } else if of.audience.users > 0 {
        sql.push("recipient r JOIN contact c ON c.user_id = r.user_id WHERE r.tenant_id = ").bind(tenant.id);
        sql.push(" AND r.notification_id = ").bind(of.id).push(" AND ");
    } else {
        sql.push("publication p JOIN subscription s ON s.channel_id = p.channel_id AND s.since_seq < p.seq ");
        sql.push("JOIN contact c ON c.user_id = s.user_id WHERE p.tenant_id = ").bind(tenant.id);
        sql.push(" AND p.seq = ").bind(seq).push(" AND ");
    }
    sql.push("c.tenant_id = ").bind(tenant.id);
    push_reachable(&mut sql, kind);
    sql.push(" AND c.user_id > ").bind(after);
    sql.push(" ORDER BY c.user_id LIMIT ").bind(most);
    sql
}

/// Filters addresses of a kind that may get deliveries. Browsers may as long as they exist, even if they fail.
fn push_reachable(sql: &mut SqlBuilder, kind: DestinationKind) {
    sql.push(&format!(" AND c.kind = {}", kind as i16));
    if kind != DestinationKind::WebPush {
        sql.push(" AND c.bad_since IS NULL");
    }
}

/// An item, and an address of its user.
#[derive(Clone, Debug, FromQueryResult)]
pub struct AddressedItem {
    pub contact_id: i64,
    pub user_id: UserId,
    pub address: String,
    /// For browsers only, as is `push_keys`.
    pub endpoint: Option<String>,
    pub push_keys: Option<String>,
    pub locale: Option<String>,
    #[sea_orm(nested)]
    pub hours: StoredHours,
    pub seq: Seq,
    pub type_id: TypeId,
    pub state: ItemState,
    pub expires_at: Option<Millis>,
    /// 1 if the item is above the newest read mark of its type.
    pub is_above: i32,
}

impl AddressedItem {
    /// Whether the rule still asks to send the item.
    pub fn is_wanted(&self, rule: &DeliveryRule) -> bool {
        match rule.condition {
            SendCondition::IfUnread => {
                self.state == ItemState::KeptUnread || self.state == ItemState::Fresh && self.is_above == 1
            }
            SendCondition::Always => !self.state.is_archived(),
        }
    }

    /// The reader of letters and messages.
    pub fn reader(&self) -> Arc<ReaderLocale> {
        Arc::new(ReaderLocale { locale: self.locale.clone(), time_zone: self.hours.time_zone.clone() })
    }

    /// When the user's quiet hours end, or `None` outside of them.
    pub fn quiet_until(&self, now: Millis) -> Option<Millis> {
        self.hours.parse().quiet_until(now)
    }
}

/// Which addresses to read.
#[derive(Clone, Copy)]
pub(super) enum AddressSelection<'a> {
    Users(&'a [UserId]),
    Contacts(&'a [i64]),
}

/// The items of users who have a working address and want items there: probes of the keys of `inbox_item`, `read_mark`,
/// `message_type` and both preference tables.
pub(super) fn select_items(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    kind: DestinationKind,
    of: AddressSelection<'_>,
    seqs: &[Seq],
    now: Millis,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT c.id AS contact_id, c.user_id, c.address, c.endpoint, c.push_keys, u.locale, u.time_zone, u.quiet_from, ");
    sql.push("u.quiet_to, u.digest_at, u.digest_weekday, i.seq, i.type_id, i.state, i.expires_at, CASE WHEN i.seq > COALESCE((SELECT MAX(m.read_upto) FROM ");
    sql.push("read_mark m WHERE m.user_id = i.user_id AND m.type_id = i.type_id), 0) THEN 1 ELSE 0 END AS is_above ");
    sql.push("FROM contact c JOIN users u ON u.id = c.user_id JOIN inbox_item i ON i.user_id = c.user_id ");
    sql.push("JOIN message_type mt ON mt.id = i.type_id WHERE ");
    match of {
        AddressSelection::Users(users) => sql.push("c.user_id").push_list(users),
        AddressSelection::Contacts(ids) => sql.push("c.id").push_list(ids),
    };
    sql.push(" AND i.seq").push_list(seqs).push(" AND c.tenant_id = ").bind(tenant.id);
    push_reachable(&mut sql, kind);
    sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(now).push(") AND ");
    push_allowed_by_kind(&mut sql, tenant, kind, "c.user_id", "i");
    sql
}
