//! Raw SQL for counters.

use entity::delivery::DeliveryEvent;
use entity::destination::DestinationKind;
use entity::ids::{ChannelId, Seq, TenantId, UserId};
use entity::inbox_item::ItemState;
use entity::prelude::*;
use entity::statement::pad_list;
use entity::tally_span;

use crate::tenant::Tenant;
use base::clock::Millis;
use store::SqlBuilder;

/// Inserts a tally for each log entry: the number of users who received it and have their cursor before it.
pub fn insert_arrival_tallies(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    users: &[UserId],
    (after, upto): (Seq, Seq),
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("INSERT INTO tally (tenant_id, seq, delivered, was_read) SELECT u.tenant_id, i.seq, count(*), 0 ");
    // Ranges of `inbox_item`'s key, with constants for MySQL.
    sql.push("FROM inbox_item i JOIN users u ON u.id = i.user_id WHERE i.user_id").push_list(users);
    sql.push(" AND i.seq > ").bind(after).push(" AND i.seq <= ").bind(upto).push(" AND i.seq > u.cursor_seq");
    push_published(&mut sql, |sql| {
        sql.push("u.tenant_id");
    });
    sql.push(" AND u.tenant_id + 0 = ").bind(tenant.id).push(" GROUP BY u.tenant_id, i.seq");
    sql
}

/// Adds an INSERT of a tally for each item of a table `m` that its user read (`by` is 1) or marked unread (-1).
pub fn push_insert_tallies(sql: &mut SqlBuilder, tenant: &Tenant, by: i64, now: Millis) {
    sql.push("INSERT INTO tally (tenant_id, seq, delivered, was_read, reader_id, happened_at) SELECT ").bind(tenant.id);
    sql.push(", m.seq, 0, ").bind(by).push(", m.user_id, ").bind(now).push(" FROM m");
}

/// Adds an INSERT of a span for each type in a table `r` that has fresh items, from its read mark up to `upto`.
pub fn push_insert_spans(sql: &mut SqlBuilder, user: UserId, upto: Seq, now: Millis) {
    sql.push("INSERT INTO tally_span (user_id, is_read, type_id, after_seq, upto_seq, created_at) SELECT ").bind(user);
    sql.push(", TRUE, r.type_id, r.mark, ").bind(upto).push(", ").bind(now);
    sql.push(" FROM r WHERE r.fresh > 0 ON CONFLICT DO NOTHING");
}

/// Inserts a span from the cursor up to `upto` for each user with a cursor before `upto`: probes of the key of `users`.
pub fn insert_arrival_spans(db: &impl ConnectionTrait, users: &[UserId], upto: Seq, now: Millis) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("INSERT INTO tally_span (user_id, is_read, type_id, after_seq, upto_seq, created_at) ");
    sql.push("SELECT u.id, FALSE, 0, u.cursor_seq, ").bind(upto).push(", ").bind(now);
    sql.push(" FROM users u WHERE u.id").push_list(users);
    sql.push(" AND u.cursor_seq < ").bind(upto).or_ignore("tally_span.upto_seq");
    sql
}

/// A part of an inbox that arrived, or was read, at once.
#[derive(FromQueryResult)]
pub struct CounterSpan {
    pub tenant_id: TenantId,
    /// 1 if it was read and webhooks need the readers.
    pub is_told: i32,
    #[sea_orm(nested)]
    pub part: tally_span::Model,
}

/// The spans of users: ranges of `tally_span`'s key, a probe of `users` for each, and a range of `lane_tenant` for
/// those that were read.
pub fn select_spans(db: &impl ConnectionTrait, users: &[UserId]) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT s.user_id, s.is_read, s.type_id, s.after_seq, s.upto_seq, s.created_at, u.tenant_id, ");
    sql.push("CASE WHEN s.is_read AND EXISTS (SELECT 1 FROM lane e WHERE e.tenant_id = u.tenant_id");
    sql.push(&format!(
        " AND e.kind = {} AND (e.events & {}) <> 0",
        DestinationKind::Webhook as i16,
        DeliveryEvent::Read.bit()
    ));
    sql.push(") THEN 1 ELSE 0 END AS is_told FROM tally_span s JOIN users u ON u.id = s.user_id WHERE s.user_id");
    sql.push_list(users);
    sql
}

/// Inserts tallies of the items of spans of one kind, by reader if webhooks need that. Each span is a branch: a range
/// of `inbox_item`'s key or of `inbox_item_state`. With a join to a table of spans, planners would read whole inboxes.
pub fn insert_item_tallies(db: &impl ConnectionTrait, spans: &[CounterSpan]) -> SqlBuilder {
    let is_read = spans.iter().any(|span| span.part.is_read);
    let mut sql = SqlBuilder::new(db);
    sql.push(
        "INSERT INTO tally (tenant_id, seq, delivered, was_read, reader_id, happened_at) SELECT x.tenant_id, x.seq, ",
    );
    sql.push(if is_read { "0, count(*)" } else { "count(*), 0" }).push(", x.reader_id, x.happened_at FROM (");
    for (place, span) in spans.iter().enumerate() {
        sql.push(if place > 0 { " UNION ALL " } else { "" });
        push_span_items(&mut sql, span);
    }
    sql.push(") x GROUP BY x.tenant_id, x.seq, x.reader_id, x.happened_at");
    sql
}

fn push_span_items(sql: &mut SqlBuilder, CounterSpan { tenant_id, is_told, part }: &CounterSpan) {
    let (reader, at) = if *is_told == 1 { (part.user_id, part.created_at) } else { (UserId(0), 0) };
    sql.push("SELECT ").bind(*tenant_id).push(" AS tenant_id, i.seq, ").bind(reader).push(" AS reader_id, ").bind(at);
    sql.push(" AS happened_at FROM inbox_item i WHERE i.user_id = ");
    sql.bind(part.user_id).push(" AND i.seq > ").bind(part.after_seq).push(" AND i.seq <= ").bind(part.upto_seq);
    if part.is_read {
        sql.push(" AND i.type_id = ").bind(part.type_id).push(&format!(" AND i.state = {}", ItemState::Fresh as i16));
        sql.push(" AND (i.expires_at IS NULL OR i.expires_at > ").bind(part.created_at).push(")");
    } else {
        push_published(sql, |sql| {
            sql.bind(*tenant_id);
        });
    }
}

/// Adds a condition that leaves out items without a publication. They were sent to a named user, and were counted then.
fn push_published(sql: &mut SqlBuilder, tenant: impl Fn(&mut SqlBuilder)) {
    sql.push(" AND (SELECT p.seq FROM publication p WHERE p.tenant_id = ");
    tenant(sql);
    sql.push(" AND p.seq = i.seq LIMIT 1) IS NOT NULL");
}

/// The audience of a log entry.
#[derive(FromQueryResult)]
pub struct AudienceCount {
    pub seq: Seq,
    pub size: i64,
}

/// Audience sizes by channel, regardless of preferences, including users who have unsubscribed since. A range of the
/// log, and for each channel its subscriptions and departures.
pub fn count_by_channel(db: &impl ConnectionTrait, tenant: &Tenant, (after, upto): (Seq, Seq)) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT x.seq, count(DISTINCT x.user_id) AS size FROM (");
    for (listeners, until) in [("subscription", ""), ("departure", " AND s.upto_seq >= p.seq")] {
        sql.push(if until.is_empty() { "" } else { " UNION ALL " });
        sql.push("SELECT p.seq, s.user_id FROM publication p JOIN ").push(listeners);
        sql.push(" s ON s.channel_id = p.channel_id AND s.since_seq < p.seq").push(until);
        sql.push(" WHERE p.tenant_id = ").bind(tenant.id).push(" AND p.seq > ").bind(after);
        sql.push(" AND p.seq <= ").bind(upto).push(" AND (p.actor_id IS NULL OR p.actor_id <> s.user_id)");
    }
    sql.push(") x GROUP BY x.seq");
    sql
}

/// Inserts departures for users of channels with publications that are not counted yet: a probe of `subscription`'s key
/// and one of `publication`'s for each.
pub fn insert_departures(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    users: &[UserId],
    channels: Option<&[ChannelId]>,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("INSERT INTO departure (channel_id, user_id, since_seq, upto_seq, tenant_id) ");
    sql.push(
        "SELECT s.channel_id, s.user_id, s.since_seq, t.last_seq, t.id FROM tenant t JOIN subscription s ON s.user_id",
    );
    sql.push_list(users);
    if let Some(channels) = channels {
        sql.push(" AND s.channel_id").push_list(channels);
    }
    sql.push(" WHERE t.id = ").bind(tenant.id).push(" AND s.since_seq < t.last_seq AND ");
    sql.push("EXISTS (SELECT 1 FROM publication p WHERE p.channel_id = s.channel_id AND p.seq > t.counted_seq)");
    sql.or_ignore("departure.upto_seq");
    sql
}

/// The same for the channel of everyone. The user belonged to it after `since` in the log.
pub fn insert_everyone_departure(db: &impl ConnectionTrait, tenant: &Tenant, user: UserId, since: i64) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("INSERT INTO departure (channel_id, user_id, since_seq, upto_seq, tenant_id) SELECT ")
        .bind(tenant.everyone);
    sql.push(", ")
        .bind(user)
        .push(", ")
        .bind(since)
        .push(", t.last_seq, t.id FROM tenant t WHERE t.id = ")
        .bind(tenant.id);
    sql.push(" AND EXISTS (SELECT 1 FROM publication p WHERE p.channel_id = ").bind(tenant.everyone);
    sql.push(" AND p.seq > t.counted_seq AND p.seq > ").bind(since).push(")").or_ignore("departure.upto_seq");
    sql
}

/// Deletes departures that are fully counted. The table holds about a minute's worth.
pub fn delete_counted_departures(db: &impl ConnectionTrait) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push(
        "DELETE FROM departure WHERE upto_seq <= (SELECT t.counted_seq FROM tenant t WHERE t.id = departure.tenant_id)",
    );
    sql
}

/// An announcement to everyone.
#[derive(FromQueryResult)]
pub struct EveryoneAnnouncement {
    pub seq: Seq,
    pub published_at: Millis,
}

/// The announcements to everyone in a part of the log, in order of publication: a range of `publication`'s key, and a
/// probe of `notification_seq` for each.
pub fn select_everyone_announcements(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    (after, upto): (Seq, Seq),
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT n.seq, n.published_at FROM publication p JOIN notification n ON n.tenant_id = ");
    sql.bind(tenant.id).push(" AND n.seq = p.seq WHERE p.channel_id = ").bind(tenant.everyone).push(" AND p.seq > ");
    sql.bind(after).push(" AND p.seq <= ").bind(upto).push(" ORDER BY n.published_at, n.seq");
    sql
}

/// How many users the tenant gained between one announcement and the next.
#[derive(FromQueryResult)]
pub struct NewcomerCount {
    /// The index of the next announcement.
    pub nth: i32,
    pub many: i64,
}

/// Counts the users created between each of these ascending times and the one before, in one pass over all users.
pub fn count_newcomers(db: &impl ConnectionTrait, tenant: &Tenant, instants: &[Millis]) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT x.nth, count(*) AS many FROM (SELECT CASE");
    for (nth, instant) in pad_list(instants).into_iter().enumerate() {
        sql.push(" WHEN u.created_at <= ").bind(instant).push(&format!(" THEN {nth}"));
    }
    sql.push(" END AS nth FROM users u WHERE u.tenant_id = ").bind(tenant.id);
    sql.push(" AND u.created_at <= ").bind(instants.last().copied()).push(") x GROUP BY x.nth");
    sql
}
