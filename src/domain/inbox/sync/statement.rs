//! Users' rows under lock, and the two walks from publications to items.

use entity::ids::{ChannelId, Seq, UserId};
use entity::numbers;
use entity::prelude::FromQueryResult;
use entity::statement::{Number, Numbers};
use sea_orm::{ConnectionTrait, DbErr};

use crate::clock::Millis;
use crate::database::Sql;
use crate::domain::inbox::standing::NEWEST;
use crate::domain::tenant::Tenant;
use crate::domain::wants;

/// Makes items of publications `p` for users `u`, of whose ids the condition is to follow.
const INSERT: &str = "INSERT INTO inbox_item (user_id, seq, type_id, state, expires_at) \
    SELECT u.id, p.seq, p.type_id, 0, p.expires_at \
    FROM publication p JOIN message_type mt ON mt.id = p.type_id JOIN users u ON u.id";

/// What becomes of users whose rows somebody holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Awaited,
    LeftOut,
}

numbers! {
    /// A user whose row is locked.
    #[derive(Clone, Copy, Debug)]
    pub struct Locked {
        pub user: UserId = "u.id",
        pub cursor: Seq = "u.cursor_seq",
        pub subscription_count: i64 = "u.subscription_count",
    }
}

/// What each row says of the log as it was then, after that.
const LOG: [&str; 3] = ["last_seq", "amended_seq", "catalogue_version"];

/// The log when users' rows were locked.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub end: Seq,
    /// Its newest entry that amends an earlier one.
    pub amended: Seq,
    /// What the catalogue was then.
    pub catalogue_version: i64,
}

impl Numbers for Head {
    const MANY: usize = LOG.len();

    fn of(numbers: &[Option<i64>]) -> Result<Self, DbErr> {
        let [end, amended, catalogue_version] = *numbers else {
            return Err(DbErr::Type("the log is three numbers".into()));
        };
        Ok(Self { end: Seq::of(end)?, amended: Seq::of(amended)?, catalogue_version: i64::of(catalogue_version)? })
    }
}

/// Locks users' rows, in the order of their ids: [`Locked`], and behind it [`Head`].
pub fn lock(db: &impl ConnectionTrait, tenant: &Tenant, users: &[UserId], held: Held) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("SELECT ").columns::<Locked>();
    for column in LOG {
        sql.push(&format!(", (SELECT t.{column} FROM tenant t WHERE t.id = ")).bind(tenant.id).push(")");
    }
    sql.push(" FROM users u WHERE u.id")
        .among(users)
        .push(" AND u.tenant_id + 0 = ")
        .bind(tenant.id)
        .push(" ORDER BY u.id");
    match held {
        Held::Awaited => sql.for_update(),
        Held::LeftOut => sql.for_update_of_free(),
    };
    sql
}

/// How far a user is behind.
#[derive(Debug, FromQueryResult)]
pub struct Gap {
    pub id: UserId,
    pub behind: i64,
    pub catalogue_version: i64,
}

/// How far users are behind the end of the log: probes of the key of `users`.
pub fn gaps(db: &impl ConnectionTrait, tenant: &Tenant, users: &[UserId]) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("SELECT u.id, t.last_seq - u.cursor_seq AS behind, t.catalogue_version FROM users u ");
    sql.push("JOIN tenant t ON t.id = u.tenant_id + 0 WHERE t.id = ").bind(tenant.id).push(" AND u.id").among(users);
    sql
}

/// From the log to the users: every publication since the earliest cursor (`publication_seq`), and for each the
/// subscriptions of the users (`subscription`'s key). Costs the gap times the users, whatever they are subscribed to.
pub fn walk_log(db: &impl ConnectionTrait, tenant: &Tenant, users: &[Locked], end: Seq, now: Millis) -> Sql {
    let start = users.iter().map(|of| of.cursor).min().unwrap_or(end);
    let ids: Vec<UserId> = users.iter().map(|of| of.user).collect();
    let mut sql = Sql::new(db);
    sql.push(INSERT).among(&ids);
    sql.push(" WHERE p.tenant_id = ").bind(tenant.id).push(" AND p.seq > ").bind(start);
    sql.push(" AND p.seq <= ").bind(end);
    sql.push(" AND p.seq > u.cursor_seq AND ");
    push_heard(&mut sql, tenant);
    push_conditions(&mut sql, tenant, now);
    sql
}

/// Adds that the user `u` hears what the publication `p` is published to, and did so before it was: a probe of `subscription`'s key.
pub fn push_heard(sql: &mut Sql, tenant: &Tenant) {
    sql.push("(p.channel_id = ").bind(tenant.everyone);
    // Not EXISTS, which PostgreSQL would turn into a hash of all that the user is subscribed to.
    sql.push(" OR (SELECT s.channel_id FROM subscription s WHERE s.user_id = u.id AND s.channel_id = p.channel_id");
    sql.push(" AND s.since_seq < p.seq) IS NOT NULL)");
}

/// A channel that has something new.
#[derive(Debug, FromQueryResult)]
pub struct Fresh {
    pub channel_id: ChannelId,
}

/// Those of a user's channels that have something new for them: a range of `subscription`'s key, and the end of a range of
/// `publication`'s for each.
pub fn fresh(db: &impl ConnectionTrait, of: Locked) -> Sql {
    let mut sql = Sql::new(db);
    sql.push("SELECT s.channel_id FROM subscription s WHERE s.user_id = ").bind(of.user);
    sql.push(" AND ").push(NEWEST).push(" > ").bind(of.cursor).push(" AND ").push(NEWEST).push(" > s.since_seq");
    sql
}

/// From channels of a user to their inbox, up to a place in the log: the range of each (`publication`'s key), with a probe of
/// `subscription`'s for each publication, and on PostgreSQL of `users`, which the other databases read once.
pub fn walk_channels(
    db: &impl ConnectionTrait,
    tenant: &Tenant,
    of: Locked,
    (channels, upto): (&[ChannelId], Seq),
    now: Millis,
) -> Sql {
    let mut sql = Sql::new(db);
    sql.push(INSERT).push(" = ").bind(of.user).push(" WHERE p.channel_id").among(channels);
    sql.push(" AND p.seq > ").bind(of.cursor).push(" AND p.seq <= ").bind(upto);
    sql.push(" AND (p.channel_id = ").bind(tenant.everyone);
    sql.push(" OR (SELECT s.since_seq FROM subscription s WHERE s.user_id = ").bind(of.user);
    sql.push(" AND s.channel_id = p.channel_id) < p.seq)");
    push_conditions(&mut sql, tenant, now);
    sql
}

/// What users do themselves, what has expired and what they do not want never comes in; what came by two channels
/// comes in once.
fn push_conditions(sql: &mut Sql, tenant: &Tenant, now: Millis) {
    sql.push(" AND ");
    push_by_another(sql);
    sql.push(" AND (p.expires_at IS NULL OR p.expires_at > ").bind(now).push(") AND ");
    wants::push_wants(sql, tenant, "u.id", "p");
    sql.or_ignore("inbox_item.seq");
}

/// Adds that what the publication `p` is about was not done by the user `u` themselves.
pub fn push_by_another(sql: &mut Sql) {
    sql.push("(p.actor_id IS NULL OR p.actor_id <> u.id)");
}
