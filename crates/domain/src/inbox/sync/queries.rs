//! Locks users' rows, and turns publications into inbox items by one of two walks.

use entity::ids::{ChannelId, Seq, UserId};
use entity::numbers;
use entity::prelude::FromQueryResult;
use entity::statement::{FromNumber, FromNumbers};
use sea_orm::{ConnectionTrait, DbErr};

use crate::inbox::freshness::NEWEST;
use crate::preference_filter;
use crate::tenant::Tenant;
use base::clock::Millis;
use store::SqlBuilder;

/// Inserts items of publications `p` for users `u`. The condition on `u.id` must follow.
const INSERT: &str = "INSERT INTO inbox_item (user_id, seq, type_id, state, expires_at) \
    SELECT u.id, p.seq, p.type_id, 0, p.expires_at \
    FROM publication p JOIN message_type mt ON mt.id = p.type_id JOIN users u ON u.id";

/// What to do about rows that another transaction has locked: wait for them, or leave them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    Awaited,
    LeftOut,
}

numbers! {
    /// A user with a locked row.
    #[derive(Clone, Copy, Debug)]
    pub struct LockedUser {
        pub user: UserId = "u.id",
        pub cursor: Seq = "u.cursor_seq",
        pub subscription_count: i64 = "u.subscription_count",
    }
}

/// Log columns that each row repeats after the columns of [`LockedUser`].
const LOG: [&str; 3] = ["last_seq", "amended_seq", "catalogue_version"];

/// The log at the time the users' rows were locked.
#[derive(Clone, Copy, Debug)]
pub struct LogState {
    pub end: Seq,
    /// The newest log entry that amends an earlier one.
    pub amended: Seq,
    pub catalogue_version: i64,
}

impl FromNumbers for LogState {
    const MANY: usize = LOG.len();

    fn from_numbers(numbers: &[Option<i64>]) -> Result<Self, DbErr> {
        let [end, amended, catalogue_version] = *numbers else {
            return Err(DbErr::Type("the log is three numbers".into()));
        };
        Ok(Self {
            end: Seq::from_number(end)?,
            amended: Seq::from_number(amended)?,
            catalogue_version: i64::from_number(catalogue_version)?,
        })
    }
}

/// Locks users' rows in id order. Returns [`LockedUser`], followed by [`LogState`].
pub fn select_for_update(db: &impl ConnectionTrait, tenant: &Tenant, users: &[UserId], held: LockWait) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT ").push_columns::<LockedUser>();
    for column in LOG {
        sql.push(&format!(", (SELECT t.{column} FROM tenant t WHERE t.id = ")).bind(tenant.id).push(")");
    }
    sql.push(" FROM users u WHERE u.id")
        .push_list(users)
        .push(" AND u.tenant_id + 0 = ")
        .bind(tenant.id)
        .push(" ORDER BY u.id");
    match held {
        LockWait::Awaited => sql.for_update(),
        LockWait::LeftOut => sql.for_update_skip_locked(),
    };
    sql
}

/// How far a user is behind.
#[derive(Debug, FromQueryResult)]
pub struct SyncGap {
    pub id: UserId,
    pub behind: i64,
    pub catalogue_version: i64,
}

/// How far users are behind the end of the log: probes of `users`' key.
pub fn select_gaps(db: &impl ConnectionTrait, tenant: &Tenant, users: &[UserId]) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT u.id, t.last_seq - u.cursor_seq AS behind, t.catalogue_version FROM users u ");
    sql.push("JOIN tenant t ON t.id = u.tenant_id + 0 WHERE t.id = ")
        .bind(tenant.id)
        .push(" AND u.id")
        .push_list(users);
    sql
}

/// From the log to the users: reads every publication since the earliest cursor (`publication_seq`) and, for each, the
/// users' subscriptions (`subscription`'s key). Costs gap × users, regardless of how many channels they subscribe to.
pub fn walk_log(db: &impl ConnectionTrait, tenant: &Tenant, users: &[LockedUser], end: Seq, now: Millis) -> SqlBuilder {
    let start = users.iter().map(|of| of.cursor).min().unwrap_or(end);
    let ids: Vec<UserId> = users.iter().map(|of| of.user).collect();
    let mut sql = SqlBuilder::new(db);
    sql.push(INSERT).push_list(&ids);
    sql.push(" WHERE p.tenant_id = ").bind(tenant.id).push(" AND p.seq > ").bind(start);
    sql.push(" AND p.seq <= ").bind(end);
    sql.push(" AND p.seq > u.cursor_seq AND ");
    push_is_subscribed(&mut sql, tenant);
    push_conditions(&mut sql, tenant, now);
    sql
}

/// Adds that user `u` subscribed to the channel before `p` was published to it: a probe of `subscription`'s key.
pub fn push_is_subscribed(sql: &mut SqlBuilder, tenant: &Tenant) {
    sql.push("(p.channel_id = ").bind(tenant.everyone);
    // Not `EXISTS`, because PostgreSQL would hash all of the user's subscriptions.
    sql.push(" OR (SELECT s.channel_id FROM subscription s WHERE s.user_id = u.id AND s.channel_id = p.channel_id");
    sql.push(" AND s.since_seq < p.seq) IS NOT NULL)");
}

/// A channel with new publications.
#[derive(Debug, FromQueryResult)]
pub struct UnsyncedChannel {
    pub channel_id: ChannelId,
}

/// The user's channels with new publications for them: a range of `subscription`'s key and, for each channel, a probe
/// of the end of its range in `publication`'s key.
pub fn select_unsynced_channels(db: &impl ConnectionTrait, of: LockedUser) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push("SELECT s.channel_id FROM subscription s WHERE s.user_id = ").bind(of.user);
    sql.push(" AND ").push(NEWEST).push(" > ").bind(of.cursor).push(" AND ").push(NEWEST).push(" > s.since_seq");
    sql
}

/// From the user's channels to the inbox, up to a log position: the range of each channel (`publication`'s key), with a
/// probe of `subscription`'s key for each publication. PostgreSQL also probes `users` each time; the others read it
/// once.
pub fn walk_channels(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    of: LockedUser,
    (channels, upto): (&[ChannelId], Seq),
    now: Millis,
) -> SqlBuilder {
    let mut sql = SqlBuilder::new(db);
    sql.push(INSERT).push(" = ").bind(of.user).push(" WHERE p.channel_id").push_list(channels);
    sql.push(" AND p.seq > ").bind(of.cursor).push(" AND p.seq <= ").bind(upto);
    sql.push(" AND (p.channel_id = ").bind(tenant.everyone);
    sql.push(" OR (SELECT s.since_seq FROM subscription s WHERE s.user_id = ").bind(of.user);
    sql.push(" AND s.channel_id = p.channel_id) < p.seq)");
    push_conditions(&mut sql, tenant, now);
    sql
}

/// Skips publications about the user's own actions, expired ones, and ones that their preferences exclude. A
/// notification that was published to two channels makes one item.
fn push_conditions(sql: &mut SqlBuilder, tenant: &Tenant, now: Millis) {
    sql.push(" AND ");
    push_by_another(sql);
    sql.push(" AND (p.expires_at IS NULL OR p.expires_at > ").bind(now).push(") AND ");
    preference_filter::push_allowed(sql, tenant, "u.id", "p");
    sql.or_ignore("inbox_item.seq");
}

/// Adds that the user `u` is not the actor of publication `p`.
pub fn push_by_another(sql: &mut SqlBuilder) {
    sql.push("(p.actor_id IS NULL OR p.actor_id <> u.id)");
}
