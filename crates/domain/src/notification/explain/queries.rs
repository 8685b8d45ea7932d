//! Reads the facts about a notification and a user, with the same SQL conditions as a sync (`inbox/sync`, `preference_filter`) and
//! as the lists of an inbox (`inbox/shelf`).

use entity::channel::ChannelKind;
use entity::ids::{Seq, UserId};
use entity::inbox_item::ItemState;
use entity::notification::NotificationKind;
use entity::preference::PreferenceScope;
use entity::prelude::FromQueryResult;
use sea_orm::ConnectionTrait;

use crate::inbox::ranges::{InboxSide, push_side};
use crate::inbox::sync;
use crate::preference_filter;
use crate::tenant::Tenant;
use base::clock::Millis;
use store::SqlBuilder;

/// A notification and a user. Flags are 1 or 0.
#[derive(Debug, FromQueryResult)]
pub struct ExplanationFacts {
    pub seq: Option<Seq>,
    pub kind: NotificationKind,
    pub publish_at: Option<Millis>,
    pub published_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    pub retracted_at: Option<Millis>,
    pub sender_id: Option<UserId>,
    pub receiver_id: Option<UserId>,
    /// JSON, as stored.
    pub audience: String,
    /// When the tenant first mentioned the user.
    pub known_since: Millis,
    /// The state of the user's item, if it is shown.
    pub state: Option<ItemState>,
    pub archived_at: Option<Millis>,
    pub is_mandatory: i32,
    pub has_action: i32,
    pub wants_type: i32,
    pub wants_action: i32,
    /// Whether the preference is the user's own.
    pub is_own_type: i32,
    pub is_own_action: i32,
    /// Whether the named users are stored, and whether the user is among them.
    pub keeps_named: i32,
    pub is_named: i32,
}

/// One row, or none if the notification or the user does not exist. Probes the keys of `notification`, `users`,
/// `message_type`, `inbox_item`, `recipient` and the preferences.
pub fn select_facts(db: &impl ConnectionTrait, tenant: &Tenant, (id, user): (i64, UserId), now: Millis) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT n.seq, n.kind, n.publish_at, n.published_at, n.expires_at, n.retracted_at, n.sender_id, n.receiver_id, ");
    sql.push("n.audience, u.created_at AS known_since, i.state, i.archived_at, ");
    push_flag(&mut sql, "is_mandatory", &|sql| {
        sql.push("mt.mandatory");
    });
    push_flag(&mut sql, "has_action", &|sql| {
        sql.push("n.action_id IS NOT NULL");
    });
    push_flag(&mut sql, "wants_type", &|sql| preference_filter::push_type_allowed(sql, tenant, "u.id", "n"));
    push_flag(&mut sql, "wants_action", &|sql| preference_filter::push_action_allowed(sql, tenant, "u.id", "n"));
    for (name, scope, subject) in
        [("is_own_type", PreferenceScope::Type, "n.type_id"), ("is_own_action", PreferenceScope::Action, "n.action_id")]
    {
        push_flag(&mut sql, name, &|sql| {
            let scope = scope as i16;
            sql.push(&format!("(SELECT f.user_id FROM preference f WHERE f.user_id = u.id AND f.scope = {scope} "));
            sql.push(&format!("AND f.subject_id = {subject}) IS NOT NULL"));
        });
    }
    for (name, condition) in [("keeps_named", ""), ("is_named", " AND r.user_id = u.id")] {
        push_flag(&mut sql, name, &|sql| {
            sql.push("(SELECT r.user_id FROM recipient r WHERE r.tenant_id = n.tenant_id AND r.notification_id = n.id");
            sql.push(condition).push(" LIMIT 1) IS NOT NULL");
        });
    }
    sql.push("u.id FROM notification n JOIN message_type mt ON mt.id = n.type_id ");
    sql.push("JOIN users u ON u.tenant_id = n.tenant_id AND u.id = ").bind(user);
    sql.push(" LEFT JOIN inbox_item i ON i.user_id = u.id AND i.seq = n.seq AND ");
    push_side(&mut sql, InboxSide::Both, now);
    sql.push(" WHERE n.tenant_id = ").bind(tenant.id).push(" AND n.id = ").bind(id);
    sql
}

/// A channel that a notification was published to and that the user listens to now. Flags are 1 or 0.
#[derive(Debug, FromQueryResult)]
pub struct HeardChannel {
    pub kind: ChannelKind,
    pub code: String,
    /// When the user subscribed; `None` for the channel of all users.
    pub since: Option<Millis>,
    /// Whether the user subscribed before the publication.
    pub in_time: i32,
    /// Whether the actor is another user.
    pub by_another: i32,
}

/// A range of `publication_seq`, with a row for each group or target of the notification, and a probe of
/// `subscription`'s key for each.
pub fn select_heard_channels(db: &impl ConnectionTrait, tenant: &Tenant, (seq, user): (Seq, UserId)) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT c.kind, c.code, o.created_at AS since, ");
    push_flag(&mut sql, "in_time", &|sql| sync::push_is_subscribed(sql, tenant));
    push_flag(&mut sql, "by_another", &|sql| sync::push_by_another(sql));
    sql.push("p.seq FROM publication p JOIN channel c ON c.id = p.channel_id JOIN users u ON u.id = ").bind(user);
    sql.push(" LEFT JOIN subscription o ON o.user_id = u.id AND o.channel_id = p.channel_id WHERE p.tenant_id = ");
    sql.bind(tenant.id).push(" AND p.seq = ").bind(seq).push(" AND (p.channel_id = ").bind(tenant.everyone);
    sql.push(" OR o.channel_id IS NOT NULL) ORDER BY p.channel_id");
    sql
}

/// Adds a condition as a column of 1 or 0, followed by a comma.
fn push_flag(sql: &mut SqlBuilder, name: &str, push: &dyn Fn(&mut SqlBuilder)) {
    sql.push("CASE WHEN ");
    push(sql);
    sql.push(&format!(" THEN 1 ELSE 0 END AS {name}, "));
}
